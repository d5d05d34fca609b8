use std::io;
use std::path::Path;

use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{Case, CaseOutcome, GpuKernel, MachineError, Route, run_case_keeping};

use super::evidence::{Evidence, compared};
use super::job::{On, note};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{CaseReport, Globs, WorkerEvent};

/// How often a wrong case is run again: what is always wrong alike is no race.
const AGAIN: usize = 2;

/// Runs the conformance cases of kernels, and says what became of each. What explains a wrong one is kept in a folder, where one is named.
pub(super) fn run(
    on: &mut On<'_>,
    globs: &Globs,
    folder: Option<&Path>,
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    for kernel in kernels().filter(|kernel| globs.matches(kernel.id)) {
        if !matches!((kernel.route)(on.machine.facts()), Route::Absent { .. }) {
            let evidence = folder.map(|folder| Evidence::new(folder, kernel.id));
            one(on, kernel, evidence, emit)?;
        }
    }
    Ok(())
}

/// Smaller cases first: one tile, more stages than there are, a cluster, more tiles than blocks.
fn by_size(kernel: &GpuKernel, on: &On<'_>) -> Vec<Case> {
    let mut cases = (kernel.cases)(on.machine.facts());
    cases.sort_by_key(Case::bytes);
    cases
}

fn one(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    mut evidence: Option<Evidence<'_>>,
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    for case in by_size(kernel, on) {
        match attempt(on, &case, evidence.as_mut(), emit)? {
            Ok(outcome) => emit(WorkerEvent::Case(CaseReport {
                kernel: kernel.id.to_owned(),
                case: case.name,
                error: outcome.error,
                wrong: outcome.wrong,
            }))?,
            Err(error) => {
                // Without an image no other case can do better.
                let rest_fails = matches!(error, MachineError::NoImage { .. });
                note(on, emit, format!("self-test of {}, {}", kernel.id, case.name), error)?;
                if rest_fails {
                    break;
                }
            }
        }
    }
    let ended = evidence.map_or(Ok(()), |evidence| evidence.end());
    kept(on, emit, ended)
}

/// Runs a case, and keeps evidence where it is wrong and evidence is wanted.
fn attempt(
    on: &mut On<'_>,
    case: &Case,
    evidence: Option<&mut Evidence<'_>>,
    emit: &mut Emit<'_>,
) -> Result<Result<CaseOutcome, MachineError>, Trouble> {
    let begun = evidence.as_ref().map_or(Ok(()), |evidence| evidence.begin(case));
    kept(on, emit, begun)?;
    let mut bodies = Vec::new();
    let outcome = run_case_keeping(on.machine, case, &mut |found| bodies = found.to_vec());
    let wanted = evidence.filter(|evidence| !bodies.is_empty() && !evidence.is_full());
    let (Ok(outcome), Some(evidence)) = (&outcome, wanted) else { return Ok(outcome) };
    let again = (0..AGAIN).map(|_| {
        let mut same = None;
        let again = run_case_keeping(on.machine, case, &mut |found| same = Some(found == bodies));
        compared(&again, same)
    });
    let again = again.collect();
    let written = evidence.keep(case, outcome, &bodies, again);
    kept(on, emit, written)?;
    Ok(Ok(outcome.clone()))
}

/// Says so where evidence could not be written; the test goes on.
fn kept(on: &On<'_>, emit: &mut Emit<'_>, written: io::Result<()>) -> Result<(), Trouble> {
    let Err(error) = written else { return Ok(()) };
    let why = error.to_string();
    note(on, emit, "evidence of a wrong case".to_owned(), MachineError::Refused { why })
}
