//! Whether the variants of a kernel compute what they should: what is wrong is not worth timing.

use warpscope_kernels::gpu::{DeviceFacts, GpuKernel, MachineError, Variant, run_case};

use super::job::{On, note};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{CaseReport, LeftOut, WorkerEvent};

/// A conformance case that did not hold.
pub(super) struct Fault {
    /// Its name.
    case: String,
    why: String,
}

/// Runs the cases of a kernel, which are those of all its variants; nothing where it cannot run at all.
pub(super) fn prove(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    facts: &DeviceFacts,
    emit: &mut Emit<'_>,
) -> Result<Option<Vec<Fault>>, Trouble> {
    let mut faults = Vec::new();
    for case in (kernel.cases)(facts) {
        match run_case(on.machine, &case) {
            Ok(outcome) => {
                let why = outcome.wrong.clone();
                emit(WorkerEvent::Case(CaseReport::of(kernel, case.name.clone(), outcome)))?;
                faults.extend(why.map(|why| Fault { case: case.name, why }));
            }
            Err(error) => {
                let no_image = matches!(error, MachineError::NoImage { .. });
                let why = error.to_string();
                note(on, emit, format!("variants of {}, {}", kernel.id, case.name), error)?;
                if no_image {
                    return Ok(None);
                }
                faults.push(Fault { case: case.name, why });
            }
        }
    }
    Ok(Some(faults))
}

/// The first case against a variant; one that names none of them speaks against all.
pub(super) fn fault_of(faults: &[Fault], variants: &[Variant], name: &str) -> Option<LeftOut> {
    let speaks_of = |fault: &Fault, name: &str| {
        let mut words = fault.case.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.any(|word| word == name)
    };
    let of_nobody = |fault: &Fault| !variants.iter().any(|one| speaks_of(fault, one.name));
    let mut against = faults.iter().filter(|fault| speaks_of(fault, name) || of_nobody(fault));
    let Fault { case, why } = against.next()?;
    Some(LeftOut { why: format!("{case}: {why}"), wrong: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_speaks_against_the_variant_it_names_and_else_against_all() {
        let variants = ["64x64", "64x64r"].map(|name| Variant { name, what: "" });
        let why = |case: &str, name: &str| {
            let fault = Fault { case: case.to_owned(), why: "no".to_owned() };
            fault_of(&[fault], &variants, name).map(|left_out| left_out.why)
        };
        for (case, name, against) in [
            ("17×33×72 64x64", "64x64", true),
            ("17×33×72 64x64", "64x64r", false),
            ("64x64r: 64×64×64", "64x64r", true),
            ("64x64r: 64×64×64", "64x64", false),
            ("64×64×64 overflow", "64x64", true),
            ("64×64×64 overflow", "64x64r", true),
        ] {
            let want = against.then(|| format!("{case}: no"));
            assert_eq!(why(case, name), want, "{case} {name}");
        }
    }
}
