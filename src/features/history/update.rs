//! What is read of recorded runs, and when.

use super::{Compared, History, State};
use crate::features::Effect;
use crate::runs::compare::Comparison;
use crate::runs::live::LiveRun;
use crate::store::trends::Trend;

/// What became of reading.
#[derive(Debug)]
pub enum Msg {
    /// What the store of runs holds, or why it cannot be read.
    Read(Result<Vec<Trend>, String>),
    /// Two runs beside each other, the older first, or why they cannot be compared.
    Compared((i64, i64), Result<Comparison, String>),
    /// Runs that are being recorded, as they are now.
    Live(Vec<LiveRun>),
}

/// What the outside is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Read the store of runs.
    Read,
    /// Compare two runs of it, by hash, the older first.
    Compare(i64, i64),
    /// Look for runs that are being recorded.
    Follow,
}

impl History {
    /// Takes what was read.
    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        match msg {
            Msg::Read(read) => self.take(read),
            // Others than the runs that are waited for are of no interest any more.
            Msg::Compared(runs, result) if self.compared == Compared::Waiting(runs.0, runs.1) => {
                self.compared = match result {
                    Ok(comparison) => Compared::Done(Box::new(comparison)),
                    Err(why) => Compared::Failed(why),
                };
            }
            Msg::Compared(..) => {}
            Msg::Live(live) => (self.live, self.following) = (live, false),
        }
        Vec::new()
    }

    /// Reads the store whenever the tab is come to: another program may have added to it.
    pub(super) fn visit(&mut self, in_view: bool) -> Vec<Effect> {
        let was = std::mem::replace(&mut self.in_view, in_view);
        let due = in_view && (!was || self.state == State::NotRead);
        if !due || self.state == State::Reading {
            return Vec::new();
        }
        self.state = State::Reading;
        vec![Cmd::Read.into()]
    }

    /// Looks for recordings while somebody sees them, and once at a time.
    pub(super) fn follow_recordings(&mut self) -> Vec<Effect> {
        if !self.in_view || std::mem::replace(&mut self.following, true) {
            return Vec::new();
        }
        vec![Cmd::Follow.into()]
    }

    /// The cursor stays on its kernel; runs that are gone lose their marks.
    fn take(&mut self, read: Result<Vec<Trend>, String>) {
        let named = |trend: &Trend| (trend.name(), trend.circumstances());
        let before = self.selected_trend().map(named);
        match read {
            Ok(trends) => {
                self.trends = trends;
                self.state = State::Read;
            }
            Err(why) => self.state = State::Failed(why),
        }
        let mut marked = std::mem::take(&mut self.marked);
        marked.retain(|hash| self.run(*hash).is_some());
        self.marked = marked;
        let same = |row: &usize| before == Some(named(&self.trends[*row]));
        self.cursor.at = self.rows().iter().position(same).unwrap_or(0);
    }
}
