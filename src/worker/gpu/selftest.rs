use std::io;
use std::path::Path;

use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{
    Case, CaseOutcome, DeviceFacts, GpuKernel, MachineError, Route, run_case_keeping,
};

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

/// What can hang comes last: first one tile, more stages than there are, more tiles than blocks; then the same of clusters.
fn by_size(kernel: &GpuKernel, facts: &DeviceFacts) -> Vec<Case> {
    let mut cases = (kernel.cases)(facts);
    cases.sort_by_cached_key(|case| (is_clustered(case), case.bytes()));
    cases
}

/// Blocks of a cluster stand at the end of an entry: `gemm_bf16_128x256c2`.
fn is_clustered(case: &Case) -> bool {
    let blocks =
        |entry: &str| entry.rsplit_once('c').is_some_and(|(_, end)| matches!(end, "2" | "4"));
    case.launches().iter().any(|launch| blocks(launch.entry))
}

fn one(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    mut evidence: Option<Evidence<'_>>,
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    for case in by_size(kernel, on.machine.facts()) {
        match attempt(on, &case, evidence.as_mut(), emit)? {
            Ok(outcome) => {
                emit(WorkerEvent::Case(CaseReport::of(kernel, case.name, outcome)))?;
            }
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

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;

    use super::super::fake::facts;
    use super::*;

    /// By the names, which state size and variant.
    #[test]
    fn one_tile_comes_first_and_clusters_last() {
        let optin = 227 << 10;
        let facts = DeviceFacts { sm: Sm::new(9, 0), shared_per_block_optin: optin, ..facts(true) };
        let kernel = kernels().find(|kernel| kernel.id == "gemm.bf16").expect("is there");
        let cases = by_size(kernel, &facts);
        let names: Vec<&str> = cases.iter().map(|case| &case.name[..]).collect();
        let clustered = |name: &&str| name.ends_with("c2") || name.ends_with("c4");
        let first = names.iter().position(clustered).expect("Hopper has clusters");
        assert!(names[first..].iter().all(clustered), "{names:?}");
        assert!(names[0].starts_with("1×") && names[first].starts_with("1×"), "{names:?}");
        let of = |size: &str| names.iter().position(|name| name.starts_with(size)).expect("is one");
        assert!(of("5×8×640") < of("67×72×256") && of("67×72×256") < of("2090×264×8"));
    }
}
