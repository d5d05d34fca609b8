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
) -> Option<(Demand, Plan)> {
    let mut found: Option<(Demand, Plan)> = None;
    for parallel in splits(group.len() as u64, framework) {
        let tried = Demand { parallel, ..demand.clone() };
        let used = if framework.family.is_tensor_parallel() {
            group.get(..parallel.gpus() as usize).unwrap_or(group)
        } else {
            group
        };
        let Some(plan) = plan(shape, used, framework, &tried) else { continue };
        let better = found.as_ref().is_none_or(|(_, old)| rank(&plan) < rank(old));
        if better {
            found = Some((tried, plan));
        }
        if found.as_ref().is_some_and(|(_, plan)| plan.fits == Fits::Fits) {
            break;
        }
    }
    found
}

/// A refusal says less about memory than a plan that does not fit.
fn rank(plan: &Plan) -> ((Fits, bool), bool) {
    (plan.rank(), plan.refusal.is_some())
}

/// Splits worth trying, best first: all GPUs share each layer; stages of such; then fewer GPUs.
fn splits(gpus: u64, framework: &Framework) -> Vec<Parallel> {
    if !framework.family.is_tensor_parallel() {
        return vec![Parallel::default()];
    }
    let mut splits = Vec::new();
    for used in (1..=gpus).rev() {
        for tp in (1..=used).rev().filter(|tp| used % tp == 0) {
            if tp == used || framework.family.is_pipelined() {
                splits.push(Parallel { tp, pp: used / tp, ..Parallel::default() });
            }
        }
    }
    splits
}
