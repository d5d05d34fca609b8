//! What runs where: verdicts on every GPU in view, and how the tab shows them.

pub mod columns;
mod free;
pub mod inspect;
mod keys;
mod lines;
pub mod model;
mod panel;
mod picker;
pub mod planned;
mod popup;
pub mod probing;
pub mod served;
mod tab;
#[cfg(test)]
mod tests;
mod update;
mod verdicts;
mod versions;
pub mod view;

use std::sync::Arc;

use warpscope_probes::Frame;
use warpscope_probes::inspect::ScanProgress;
use warpscope_probes::rules::RuleBase;

use self::inspect::Looked;
pub use self::lines::{Group, Line, place_of};
pub use self::popup::Popup;
use self::probing::Probed;
use self::served::Served;
pub use self::update::{Cmd, Msg};
pub use self::verdicts::Verdicts;
use self::view::{CompatView, Only};
use crate::engine::Verdict;

/// Verdicts on every GPU in view, how they are shown, and what is being found out for them.
#[derive(Debug, Default)]
pub struct Compat {
    /// The verdicts.
    pub verdicts: Verdicts,
    /// How the tab is set.
    pub view: CompatView,
    /// How far a look at what is installed has come.
    pub looking: Option<ScanProgress>,
    /// Which processes were asked what they use.
    looked: Looked,
    /// Which GPUs were asked about, and which one is being probed.
    pub probed: Probed,
    /// What models were seen to take.
    pub served: Served,
    /// What lies over the tab.
    pub popup: Option<Popup>,
    /// Frames for which the rules are still kept.
    kept: u8,
}

impl Compat {
    /// Nothing is asked yet of these rules.
    pub fn new(base: Arc<RuleBase>) -> Self {
        Self { verdicts: Verdicts::new(base), ..Self::default() }
    }

    /// The lines of the tab.
    pub fn lines(&self) -> Vec<Line> {
        self.verdicts.lines(&self.view)
    }

    /// The line the cursor is on.
    pub fn selected_line(&self) -> Option<Line> {
        self.lines().into_iter().nth(self.view.row.at)
    }

    /// The verdict the cursor is on.
    pub fn selected_verdict(&self) -> Option<Arc<Verdict>> {
        match self.selected_line()? {
            Line::Row(row) => self.verdicts.verdict(row, self.view.column.at),
            Line::Head { .. } => None,
        }
    }

    /// Brings the verdicts in line with the GPUs of a frame; the cursor goes where its line goes.
    fn renew(&mut self, frame: &Frame) {
        let Some(news) = self.verdicts.look(frame) else { return };
        // An answer that is being read does not turn around because memory comes and goes.
        let is_read = matches!(self.popup, Some(Popup::Why(_) | Popup::Versions(_)));
        if !(news.is_only_memory && is_read) {
            self.keep_selection(|tab| tab.verdicts.take(news));
        }
    }

    /// Shows what has these words, with the cursor on the row of this name, else on the first.
    pub(crate) fn find(&mut self, text: String) {
        let rows = self.verdicts.all_rows();
        let row = rows.iter().position(|row| row.name() == text);
        self.view.filter.text = text;
        self.view.only = Only::All;
        let place =
            self.lines().iter().position(|line| row.is_some_and(|row| *line == Line::Row(row)));
        match place {
            Some(place) => self.view.row.at = place,
            None => self.select_first(),
        }
    }

    /// Puts the cursor on the first row.
    fn select_first(&mut self) {
        let lines = self.lines();
        let first = lines.iter().position(|line| matches!(line, Line::Row(_)));
        self.view.row.at = first.unwrap_or(0);
    }

    /// Goes to another column, in the order of which the rows may stand.
    fn select_column(&mut self, column: usize) {
        self.keep_selection(|tab| tab.view.column.at = column);
    }

    /// Changes which lines there are, and keeps the cursor on the one it was on; if that is gone, on the first row.
    pub(crate) fn keep_selection<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.selected_line();
        let result = change(self);
        let lines = self.lines();
        let place = before.and_then(|line| place_of(&lines, self.verdicts.groups(), &line));
        match place {
            Some(place) => self.view.row.at = place,
            None => self.select_first(),
        }
        result
    }
}
