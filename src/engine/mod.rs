//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod evaluate;
mod matrix;
mod question;
mod target;
mod verdict;
mod walk;
mod words;

pub use evaluate::evaluate;
pub use matrix::{Matrix, Row, matrix, rows};
pub use question::Question;
pub use target::Target;
pub use verdict::{Evidence, Level, OUTCOMES, Outcome, Step, StepKind, Verdict};
