//! Whether something got faster: pure statistics over raw samples.
//!
//! A comparison answers same, faster, slower, or that it cannot tell. Means and standard deviations were rejected: one preempted launch moves
//! them, and kernel times are neither normal nor of one mode. Medians carry the effect, ranks the gate, cycles the second opinion.

mod bootstrap;
mod changes;
mod groups;
mod holm;
mod judge;
mod random;
mod ranks;
mod reservoir;
mod samples;

pub use bootstrap::{Interval, bca, ratio_of_medians};
pub use changes::{Change, Settings, changes};
pub use groups::{Alone, Comparison, Groups, Row, Side, compare, compare_groups};
pub use holm::holm;
pub use judge::{Call, Effect, Judgement, Limits, Pair, Sides, judge, judge_all, judge_each};
pub use random::SplitMix;
pub use ranks::{RankSum, rank_sum};
pub use reservoir::DRAWN;
pub use samples::{Quartiles, Series};

#[cfg(test)]
mod oracle_tests;
#[cfg(test)]
mod power_tests;
