//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod evaluate;
mod matrix;
mod premises;
mod question;
mod target;
mod verdict;
mod walk;
mod words;

pub use evaluate::{cell, evaluate};
pub use matrix::{Matrix, Row, matrix, rows};
pub use premises::{Given, Origin, Premises};
pub use question::Question;
pub use target::Target;
pub use verdict::{
    Cell, Evidence, Finding, Fix, Level, OUTCOMES, Outcome, Settles, Step, StepKind, Verdict,
};
