//! Why a candidate has no time.

use serde::{Deserialize, Serialize};

/// What was wrong, in the words of kernel_tuner's T4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It was killed at its time limit.
    Timeout,
    /// It did not build.
    Compile,
    /// It failed, or printed nothing that can be used.
    Runtime,
    /// Its result is wrong.
    Correctness,
    /// It does not exist for this number format or machine.
    Constraints,
}

impl Fault {
    /// The word of T4.
    pub fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Compile => "compile",
            Self::Runtime => "runtime",
            Self::Correctness => "correctness",
            Self::Constraints => "constraints",
        }
    }
}

/// Why a candidate has no time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invalid {
    /// What was wrong.
    pub fault: Fault,
    /// The same in a sentence.
    pub why: String,
}
