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
mod question;
mod target;
mod verdict;
mod versions;
mod words;

pub use assumptions::{Given, Premises};
pub use evaluate::{cell, evaluate};
pub use live::{contradicted, found_live};
pub use matrix::{Matrix, Row, matrix, rows};
pub use question::{Origin, Question, distinct};
pub use target::Target;
pub use verdict::{
    Cell, Evidence, Finding, Fix, Level, OUTCOMES, Outcome, Settles, Step, StepKind, Verdict,
};
pub use versions::versions_of;
