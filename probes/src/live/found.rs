//! What a probe found, and what a failure says of what was tried.

use warpscope_kernels::cuda::advice;
use warpscope_kernels::gpu::MachineError;

use super::Answer;

/// What a probe found, before it is known where and when.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) answer: Answer,
    pub(super) detail: String,
    pub(super) facts: Vec<(String, String)>,
    pub(super) ran: String,
}

impl Found {
    /// An answer with its sentence.
    pub(super) fn new(answer: Answer, detail: impl Into<String>) -> Self {
        Self { answer, detail: detail.into(), facts: Vec::new(), ran: String::new() }
    }

    pub(super) fn works(detail: impl Into<String>) -> Self {
        Self::new(Answer::Works, detail)
    }

    pub(super) fn wrong(detail: impl Into<String>) -> Self {
        Self::new(Answer::WrongOutput, detail)
    }

    pub(super) fn fails(detail: impl Into<String>) -> Self {
        Self::new(Answer::Fails, detail)
    }

    /// What could not be tried, and why not.
    pub(super) fn unknown(why: impl Into<String>) -> Self {
        Self::new(Answer::Unknown, why)
    }

    /// What ran.
    pub(super) fn by(self, ran: impl Into<String>) -> Self {
        Self { ran: ran.into(), ..self }
    }

    /// One more figure.
    pub(super) fn fact(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// What a failure of the device says of what was being tried.
    pub(super) fn failure(what: &str, error: &MachineError) -> Self {
        let answer = if is_about_it(error) { Answer::Fails } else { Answer::Unknown };
        let advice = advice(error).map(|advice| format!(": {advice}")).unwrap_or_default();
        Self::new(answer, format!("{what}: {error}{advice}"))
    }
}

/// Statuses that are about the code that was loaded or ran. Every other says something of the device, the driver or who else is there,
/// and nothing of what was tried: memory that ran out, an error of its memory, a device that fell off the bus.
const ABOUT_CODE: &[u32] = &[200, 209, 218, 300, 500, 700, 701, 710, 714, 715, 716, 717, 718, 719];

fn is_about_it(error: &MachineError) -> bool {
    match error {
        MachineError::Driver { code, .. } => ABOUT_CODE.contains(code),
        MachineError::Fault { .. } => true,
        MachineError::NoImage { .. }
        | MachineError::OutOfMemory { .. }
        | MachineError::OverCap { .. }
        | MachineError::Missing { .. }
        | MachineError::Refused { .. }
        | MachineError::Stopped => false,
    }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::cuda::{Effect, STATUSES, status};

    use super::*;

    fn failure(code: u32) -> Found {
        let name = status(code).map_or_else(String::new, |known| known.name.to_owned());
        let call = "cuLaunchKernel".to_owned();
        Found::failure("the bf16 product", &MachineError::Driver { call, code, name })
    }

    #[test]
    fn every_status_has_a_sentence_and_few_are_evidence() {
        for known in STATUSES {
            let found = failure(known.code);
            assert!(found.detail.contains(known.name), "{}", found.detail);
            assert!(found.detail.contains(known.advice), "{}", found.detail);
            assert_eq!(found.answer == Answer::Fails, ABOUT_CODE.contains(&known.code));
        }
        assert_eq!(
            failure(31_337).answer,
            Answer::Unknown,
            "a number nobody knows decides nothing"
        );
    }

    /// What fails for reasons of the machine is not said of the instruction.
    #[test]
    fn the_state_of_the_machine_is_no_evidence() {
        for code in [2, 46, 100, 214, 220, 221, 222, 223, 226, 702, 802, 803, 999] {
            assert_eq!(failure(code).answer, Answer::Unknown, "{code}");
        }
        for error in [
            MachineError::OutOfMemory { asked: 1 },
            MachineError::Missing { what: "cuGraphLaunch".into() },
            MachineError::Stopped,
        ] {
            assert_eq!(Found::failure("it", &error).answer, Answer::Unknown, "{error}");
        }
    }

    #[test]
    fn what_is_evidence_is_known_by_its_effect() {
        for code in ABOUT_CODE {
            let effect = status(*code).map(|known| known.effect);
            assert!(effect.is_some(), "{code}");
            assert_ne!(
                (*code, effect),
                (214, Some(Effect::Ends)),
                "memory errors are the device's"
            );
        }
    }
}
