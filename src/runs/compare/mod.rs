//! Whether something got faster: pure statistics over raw samples.
//!
//! A comparison answers same, faster, slower, or that it cannot tell. Between processes, each counts once, by its median: see [`Processes`].
//! Within one process, where candidates take turns, medians carry the effect and ranks the gate: means and standard deviations were rejected, one
//! preempted launch moves them, and kernel times are neither normal nor of one mode. Cycles are the second opinion of both.

mod blocks;
mod bootstrap;
mod changes;
mod discoveries;
mod groups;
mod judge;
mod looks;
mod processes;
mod random;
mod ranks;
mod reservoir;
mod samples;

pub use blocks::{Design, Spread};
pub use bootstrap::{Interval, bca, ratio_of_medians};
pub use changes::{Change, Settings, changes};
pub use discoveries::false_discoveries;
pub use groups::{Alone, Comparison, Groups, Row, Side, Terms, compare_groups};
pub use judge::{Call, Effect, Judgement, Limits, Pair, Sides, judge, judge_all, judge_each};
pub use looks::looks;
pub use processes::{Processes, judge_processes};
pub use random::SplitMix;
pub use ranks::{RankSum, rank_sum};
pub use reservoir::DRAWN;
pub use samples::{Quartiles, Series};

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod power_tests;
