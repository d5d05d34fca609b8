//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod age;
mod answer;
mod assumptions;
mod decision;
mod evaluate;
mod explanation;
mod findings;
mod fix;
pub mod installed;
mod live;
mod matching;
mod matrix;
mod memory;
mod published;
mod question;
mod target;
mod verdict;
mod versions;
mod words;

pub use assumptions::{AssumedVersion, Assumptions};
pub use evaluate::{cell, evaluate};
pub use live::{contradicted_rules, live_findings};
pub use matrix::{Matrix, Row, matrix, rows};
pub use question::{Origin, Question, distinct};
pub use target::Target;
pub use verdict::{
    Cell, Evidence, Finding, Fix, Level, OUTCOMES, Outcome, Scope, Step, StepKind, Verdict,
};
pub use versions::versions_of;
