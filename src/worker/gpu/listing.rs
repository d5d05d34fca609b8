//! What can be asked for on a device, for a program that asks one thing after another.

use warpscope_kernels::gpu::DeviceFacts;
use warpscope_kernels::gpu::family::kernels;
use warpscope_probes::live::probes;

use crate::worker::goals::{GOALS, Goal, Own};
use crate::worker::precision::precisions;
use crate::worker::protocol::{ListedGoal, ListedKernel, Listing};

/// Everything there is, with what this device makes of it.
pub(super) fn here(facts: &DeviceFacts) -> Listing {
    let kernel = |kernel: &'static warpscope_kernels::gpu::GpuKernel| ListedKernel {
        id: kernel.id.to_owned(),
        family: kernel.family.to_owned(),
        route: (kernel.route)(facts),
    };
    let goal = |goal: &Goal| {
        let timed = match goal.own {
            Own::Kernel { id, shape, .. } => Some((id.to_owned(), shape)),
            Own::Decoder(_) => None,
        };
        ListedGoal {
            id: goal.id.to_owned(),
            shape: timed.as_ref().map(|timed| timed.1),
            kernel: timed.map(|timed| timed.0),
        }
    };
    Listing {
        kernels: kernels().map(kernel).collect(),
        goals: GOALS.iter().map(goal).collect(),
        probes: probes().map(|probe| probe.id.to_owned()).collect(),
        paths: precisions().map(|path| path.id.to_owned()).collect(),
    }
}
