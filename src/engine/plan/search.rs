//! The split over a group that a framework accepts and that serves best.

use warpscope_probes::model::Shape;

use super::demand::{Demand, Parallel};
use super::device::Device;
use super::framework::Framework;
use super::placement::{Plan, plan};
use super::pool::Fits;

/// The first split that fits, fewest stages first; else one that is tight, else what is nearest. All GPUs are used where they can be.
pub fn best(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
) -> Option<Split> {
    let mut found: Option<Split> = None;
    for (gpus, parallel) in splits(group.len(), framework, demand) {
        let used = group.get(..gpus).unwrap_or(group);
        let demand = framework.met(Demand { parallel, ..demand.clone() }, used);
        let Some(plan) = plan(shape, used, framework, &demand) else { continue };
        let better = found.as_ref().is_none_or(|old| rank(&plan) < rank(&old.plan));
        if better {
            found = Some(Split { demand, gpus, plan });
        }
        if found.as_ref().is_some_and(|one| one.plan.rank() == (Fits::Fits, false)) {
            break;
        }
    }
    found
}

/// A split with what it takes.
pub struct Split {
    /// The split and what was asked.
    pub demand: Demand,
    /// The first so many GPUs of the group are used.
    pub gpus: usize,
    /// What it takes.
    pub plan: Plan,
}

/// A refusal says less about memory than a plan that does not fit.
fn rank(plan: &Plan) -> ((Fits, bool), bool) {
    (plan.rank(), plan.refusal.is_some())
}

/// Splits worth trying with the number of GPUs they use, best first: all GPUs share each layer; stages of such; then fewer GPUs.
fn splits(gpus: usize, framework: &Framework, demand: &Demand) -> Vec<(usize, Parallel)> {
    let whole_layers = !framework.family.is_tensor_parallel();
    let mut splits = Vec::new();
    for used in (1..=gpus).rev() {
        if whole_layers {
            splits.push((used, Parallel::default()));
            continue;
        }
        for tp in (1..=used).rev().filter(|tp| used % tp == 0) {
            if tp == used || framework.is_pipelined(demand.release) {
                let (tp, pp) = (tp as u64, (used / tp) as u64);
                splits.push((used, Parallel { tp, pp, ..Parallel::default() }));
            }
        }
    }
    splits
}
