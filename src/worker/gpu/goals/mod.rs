//! Goals as a job of the child: something of ours and what it is held against, in turns A B B A, so that clocks that fall and heat that rises are
//! on both sides. The ratio is formed in each block of four and its median is the figure; two long measurements one after the other were
//! rejected, for boards drift by more than what is to be seen.

mod arm;
mod checked;
mod difference;
mod turns;
mod vendor;

use std::path::PathBuf;

use warpscope_kernels::gpu::MachineError;

use super::job::On;
use crate::worker::child::{Emit, Trouble};
use crate::worker::goals::{Against, GOALS, Goal, Own, judged};
use crate::worker::protocol::{Command, GoalReport, WorkerEvent};

use arm::{Asked, Taken};

/// Measures a goal, and says what came of it. All memory is given back.
pub(super) fn run(
    on: &mut On<'_>,
    id: &str,
    cublas: &[PathBuf],
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    let failed = |error| {
        let job = Command::Goal { id: id.to_owned(), cublas: Vec::new() };
        Trouble::of(&job, error)
    };
    let goal = GOALS.iter().find(|goal| goal.id == id);
    let unknown = || MachineError::refused(format!("there is no goal {id}"));
    let goal = goal.ok_or_else(unknown).map_err(failed)?;
    let mut taken = Taken::default();
    let report = measure(on, goal, cublas, &mut taken);
    let freed = taken.free(on.machine);
    let report = report.and_then(|report| freed.map(|()| report)).map_err(failed)?;
    let judged = judged(&report, on.machine.facts().sm);
    emit(WorkerEvent::Goal(Box::new(report)))?;
    Ok(emit(WorkerEvent::Judged(Box::new(judged)))?)
}

fn measure(
    on: &mut On<'_>,
    goal: &Goal,
    cublas: &[PathBuf],
    taken: &mut Taken,
) -> Result<GoalReport, MachineError> {
    let simulated = on.machine.facts().simulated;
    let mut report = GoalReport { goal: goal.id.to_owned(), ..GoalReport::default() };
    let (mut own, shape) = match goal.own {
        Own::Kernel { id, shape, small, resident } => {
            let shape = if simulated { small } else { shape };
            let bytes = goal.against == Against::Read;
            let arm = arm::kernel(on, taken, &Asked { id, shape, resident, bytes })?;
            report.difference = checked::check(on, id, shape, &arm.slots)?;
            (arm, shape)
        }
        Own::Decoder(_) if simulated => {
            "not run: the model would take a fake device hours".clone_into(&mut report.cache);
            return Ok(report);
        }
        Own::Decoder(dtype) => {
            let (arm, apart) = arm::decoder(on, taken, dtype)?;
            report.difference = apart;
            (arm, Default::default())
        }
    };
    let mut against = match goal.against {
        Against::Nothing => None,
        Against::Read => Some(arm::kernel(on, taken, &arm::read(on, own.report.amount))?),
        Against::Kernel(id, large) => {
            let shape = if simulated {
                warpscope_kernels::gpu::Shape { k: 64, n: 64, m: 64, ..large }
            } else {
                large
            };
            Some(arm::kernel(on, taken, &Asked { id, shape, resident: false, bytes: false })?)
        }
        Against::Vendor(by) => {
            let (arm, difference) = vendor::arm(on, taken, &own, shape, by, cublas)?;
            report.difference = Some(difference);
            Some(arm)
        }
    };
    report.products = own.products;
    report.limiter = Some(own.limiter);
    report.cache.clone_from(&own.cache);
    if let (Against::Vendor(..), Some(arm)) = (goal.against, &against)
        && !arm.cache.is_empty()
    {
        report.cache += &format!("; {}", arm.cache);
    }
    turns::take(on, &mut own, against.as_mut(), &mut report)?;
    report.own = own.report;
    report.against = against.map(|arm| arm.report);
    Ok(report)
}
