//! The History tab: kernels over recorded runs, two of the runs beside each other, and runs that are being recorded.

mod again;
mod keys;
pub mod panel;
mod popup;
mod run;
mod tab;
#[cfg(test)]
mod tests;
mod update;

use crate::features::{Cursor, Input};
use crate::runs::compare::Comparison;
use crate::runs::live::LiveRun;
use crate::store::trends::{RecordedRun, Trend};

pub use popup::Popup;
pub use update::{Cmd, Msg};

/// How far reading the store has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nobody has asked for it.
    #[default]
    NotRead,
    /// It is being read; what was read before stays in view.
    Reading,
    /// As it was when the tab was opened.
    Read,
    /// Why it cannot be read.
    Failed(String),
}

/// Two runs beside each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Compared {
    /// Nobody has asked.
    #[default]
    Not,
    /// Their samples are being read: [`RecordedRun::hash`] of both, the older first.
    Waiting(i64, i64),
    /// What it comes to.
    Done(Box<Comparison>),
    /// Why they cannot be compared.
    Failed(String),
}

/// What the tab shows, and how it is set.
#[derive(Debug, Default)]
pub struct History {
    /// How far reading has come.
    pub state: State,
    /// Every kernel over its runs.
    pub trends: Vec<Trend>,
    /// The two marked runs beside each other.
    pub compared: Compared,
    /// Selected kernel.
    pub cursor: Cursor,
    /// Filter.
    pub filter: Input,
    /// Order of the kernels.
    pub order: Order,
    /// [`RecordedRun::hash`] of the run the cursor is on; the newest while there is none.
    pub run: Option<i64>,
    /// Runs that are marked, two at most, in the order they were.
    pub marked: Vec<i64>,
    /// Whether weak changes are shown.
    pub weak: bool,
    /// What lies over the tab.
    pub popup: Option<Popup>,
    /// Runs that are being recorded; where there is none, the one that ended last.
    pub live: Vec<LiveRun>,
    /// Whether the tab is in view.
    in_view: bool,
    /// Whether somebody looks for recordings.
    following: bool,
}

impl History {
    /// A run by its hash.
    pub fn run(&self, hash: i64) -> Option<&RecordedRun> {
        let mut run_medians = self.trends.iter().flat_map(|trend| &trend.run_medians);
        run_medians.find(|moment| moment.run.hash == hash).map(|moment| &*moment.run)
    }

    /// Positions in [`History::trends`], filtered and in order.
    pub fn rows(&self) -> Vec<usize> {
        let trends = &self.trends;
        let matches = |at: &usize| {
            let trend = &trends[*at];
            self.filter.matches(&format!("{} {}", trend.name(), trend.circumstances()))
        };
        let mut rows: Vec<usize> = (0..trends.len()).filter(matches).collect();
        let last = |at: usize| trends[at].change_points(self.weak).last();
        match self.order {
            Order::Name => {}
            Order::Changed => {
                let when = |at: usize| {
                    last(at).map(|shift| trends[at].run_medians[shift.at].run.identity.at_ms)
                };
                rows.sort_by_key(|at| std::cmp::Reverse(when(*at)));
            }
            Order::Size => {
                let size = |at: usize| last(at).map_or(0.0, |shift| shift.change.ln_1p().abs());
                rows.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
            }
        }
        rows
    }

    /// The run the cursor is on, among those of a kernel.
    pub fn moment(&self, trend: &Trend) -> usize {
        let named = self
            .run
            .and_then(|run| trend.run_medians.iter().position(|moment| moment.run.hash == run));
        named.unwrap_or(trend.run_medians.len().saturating_sub(1))
    }

    /// The kernel the cursor is on.
    pub fn selected_trend(&self) -> Option<&Trend> {
        self.trends.get(self.rows().get(self.cursor.at).copied()?)
    }

    /// The run the cursor is on.
    pub fn selected_run(&self) -> Option<&RecordedRun> {
        let trend = self.selected_trend()?;
        trend.run_medians.get(self.moment(trend)).map(|moment| &*moment.run)
    }
}

/// Order of the kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By name.
    #[default]
    Name,
    /// What changed last comes first.
    Changed,
    /// What changed most comes first.
    Size,
}

/// Every order with its words, in the order the sort key walks through them.
pub const ORDERS: &[(Order, &str)] = &[
    (Order::Name, "by name"),
    (Order::Changed, "latest change first"),
    (Order::Size, "largest change first"),
];
