//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod verdict;

pub use verdict::{Evidence, Level, OUTCOMES, Outcome, Verdict};
