//! Another GPU, by compute capability: the catalogue says which ones report it.

use warpscope_probes::catalogue::{Arch, Catalogue};
use warpscope_probes::rules::Cost;

use super::Trial;
use crate::engine::memory::gib;
use crate::engine::ruling::{By, severity};
use crate::engine::target::Target;
use crate::engine::verdict::{Fix, Outcome};

/// So many compute capabilities are told with their products.
const TOLD: usize = 3;

/// The lowest compute capabilities on which it runs best, in this machine.
pub(super) fn of(trial: &Trial<'_>) -> Option<Fix> {
    let target = trial.answer.target;
    let too_big = matches!(trial.answer.ruling.by, By::Size(_));
    let sold = Catalogue::load().archs().iter().filter(|arch| !arch.chips.is_empty());
    let others = sold.filter(|arch| too_big || Some(arch.sm) != target.sm);
    let tried = others.filter_map(|arch| {
        let other = Target {
            driver: target.driver.clone(),
            cuda: target.cuda.clone(),
            ..Target::of_sm(arch.products.clone(), arch.sm)
        };
        Some((arch, trial.elsewhere(&other)?))
    });
    let mut running: Vec<(&Arch, Outcome)> = tried.collect();
    let best = running.iter().map(|one| one.1).min_by_key(|outcome| severity(*outcome))?;
    running.retain(|one| one.1 == best);
    let memory = trial.answer.question.weight_bytes.filter(|_| too_big);
    let memory = memory.map_or(String::new(), |bytes| format!(", with more than {}", gib(bytes)));
    let told = |arch: &Arch| format!("{} ({})", arch.sm, arch.products);
    let first: Vec<String> = running.iter().take(TOLD).map(|one| told(one.0)).collect();
    let rest: Vec<String> = running.iter().skip(TOLD).map(|one| one.0.sm.to_string()).collect();
    let also = if rest.is_empty() { String::new() } else { format!("; also {}", rest.join(", ")) };
    Some(Fix {
        cost: Cost::Hardware,
        title: format!("another GPU, from {}{memory}", told(running.first()?.0)),
        text: format!("# {} on {}{also}{memory}", best.words(), first.join(", ")),
        then: Some(best),
    })
}
