//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod age;
mod evaluate;
mod findings;
mod fix;
pub mod installed;
mod live;
mod matrix;
mod memory;
mod premises;
mod question;
mod ruling;
mod story;
mod target;
mod verdict;
mod versions;
mod walk;
mod words;

pub use evaluate::{cell, evaluate};
pub use live::{contradicted, found_live};
pub use matrix::{Matrix, Row, matrix, rows};
pub use premises::{Given, Origin, Premises};
pub use question::{Question, distinct};
pub use target::Target;
pub use verdict::{
    Cell, Evidence, Finding, Fix, Level, OUTCOMES, Outcome, Settles, Step, StepKind, Verdict,
};
pub use versions::versions_of;
