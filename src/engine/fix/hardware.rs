//! Another GPU, by compute capability: the catalogue says which ones report it.

use warpscope_kernels::Sm;
use warpscope_probes::catalogue::{Arch, Catalogue, Part};
use warpscope_probes::rules::Cost;

use super::Attempt;
use crate::engine::candidates::Plan;
use crate::engine::decision::DecidedBy;
use crate::engine::memory::gib;
use crate::engine::target::Target;
use crate::engine::verdict::{Fix, Outcome};

/// Compute capabilities that are listed with their products.
const NAMED: usize = 3;
/// Most products that are named of one compute capability.
const PRODUCTS: usize = 2;

/// A few products of a compute capability with more than so many bytes of memory.
fn holding(sm: Sm, floor: u64) -> Vec<&'static str> {
    let is_large = |part: &&Part| part.sm == sm && part.visible_bytes() > floor;
    let parts = Catalogue::load().parts().iter().filter(is_large);
    parts.map(|part| part.market_name.as_str()).take(PRODUCTS).collect()
}

/// The lowest compute capabilities on which it runs best, in this machine.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let target = attempt.answer.target;
    let too_big = matches!(attempt.answer.decision.by, DecidedBy::Size);
    let plan = Plan::new(attempt.answer.base, attempt.answer.question);
    let floor = match too_big {
        true => Some(attempt.answer.memory.lack()?.floor?),
        false => None,
    };
    let sold = Catalogue::load().archs().iter().filter(|arch| !arch.chips.is_empty());
    let large = |arch: &&Arch| floor.is_none_or(|floor| !holding(arch.sm, floor).is_empty());
    let others = sold.filter(large).filter(|arch| too_big || Some(arch.sm) != target.sm);
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
    let memory = floor.map_or(String::new(), |floor| format!(", with more than {}", gib(floor)));
    let describe = |arch: &Arch| match floor.map(|floor| holding(arch.sm, floor)) {
        Some(products) => format!("{} ({})", arch.sm, products.join(", ")),
        None => format!("{} ({})", arch.sm, arch.products),
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_products_that_are_large_enough_are_named() {
        let large = |major, minor| holding(Sm::new(major, minor), 131 << 30);
        assert_eq!(large(7, 0), Vec::<&str>::new(), "V100 has 32 GB");
        let hopper = large(9, 0);
        let has = |name: &&str| ["H200", "141GB", "144GB"].iter().any(|one| name.contains(one));
        assert!(hopper.iter().all(has), "{hopper:?}");
        assert!(!large(9, 0).is_empty() && !large(10, 0).is_empty());
    }
}
