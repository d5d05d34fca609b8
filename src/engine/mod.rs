//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod age;
mod answer;
mod assumptions;
pub(crate) mod builds;
mod built_for;
mod candidates;
mod composition;
mod confidence;
mod decision;
mod defaults;
mod device;
mod driver;
mod evaluate;
pub mod explain;
mod explanation;
mod findings;
mod fix;
mod gguf;
pub(crate) mod importance;
pub mod installed;
mod live;
mod matching;
mod matrix;
mod memory;
mod packed;
pub mod plan;
mod published;
mod question;
mod target;
mod unversioned;
mod verdict;
mod versions;
pub mod vocabulary;
mod words;

pub use assumptions::{AssumedVersion, Assumptions};
pub(crate) use driver::DRIVER;
pub use evaluate::{evaluate, evaluate_without_fixes};
pub use fix::start_command;
pub use gguf::GgufCopy;
pub use live::{contradicted_rules, live_findings};
pub use matrix::{Matrix, Row, at_version, matrix, rows};
pub(crate) use published::at_release;
pub use question::{Origin, Question, distinct};
pub use target::Target;
pub use verdict::{
    Cell, Confidence, DISPUTED, Evidence, Finding, Fix, Level, MEDIUM, OUTCOMES, Outcome, Scope,
    StageAnswer, Step, StepKind, Verdict,
};
pub use versions::versions_of;
