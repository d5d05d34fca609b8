//! Another GPU, by compute capability: the catalogue says which ones report it.

use warpscope_probes::catalogue::{Arch, Catalogue};
use warpscope_probes::rules::Cost;

use super::Attempt;
use crate::engine::decision::DecidedBy;
use crate::engine::matching::Plan;
use crate::engine::memory::gib;
use crate::engine::target::Target;
use crate::engine::verdict::{Fix, Outcome};

/// Compute capabilities that are listed with their products.
const NAMED: usize = 3;

/// The lowest compute capabilities on which it runs best, in this machine.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let target = attempt.answer.target;
    let too_big = matches!(attempt.answer.decision.by, DecidedBy::Size);
    let plan = Plan::new(attempt.answer.base, attempt.answer.question);
    let sold = Catalogue::load().archs().iter().filter(|arch| !arch.chips.is_empty());
    let others = sold.filter(|arch| too_big || Some(arch.sm) != target.sm);
    let tried = others.filter_map(|arch| {
        let other = Target {
            driver: target.driver.clone(),
            cuda: target.cuda.clone(),
            ..Target::of_sm(arch.products.clone(), arch.sm)
        };
        Some((arch, attempt.elsewhere(&plan, &other)?))
    });
    let mut running: Vec<(&Arch, Outcome)> = tried.collect();
    let best = running.iter().map(|one| one.1).min_by_key(|outcome| outcome.severity())?;
    running.retain(|one| one.1 == best);
    let memory = match attempt.answer.too_big.as_ref().filter(|_| too_big) {
        Some(lacks) => format!(", with more than {}", gib(lacks.floor?)),
        None => String::new(),
    };
    let describe = |arch: &Arch| format!("{} ({})", arch.sm, arch.products);
    let first: Vec<String> = running.iter().take(NAMED).map(|one| describe(one.0)).collect();
    let rest: Vec<String> = running.iter().skip(NAMED).map(|one| one.0.sm.to_string()).collect();
    let also = if rest.is_empty() { String::new() } else { format!("; also {}", rest.join(", ")) };
    Some(Fix {
        cost: Cost::Hardware,
        title: format!("another GPU, such as {}{memory}", describe(running.first()?.0)),
        text: format!("{} on {}{also}{memory}", best.words(), first.join(", ")),
        then: Some(best),
    })
}
