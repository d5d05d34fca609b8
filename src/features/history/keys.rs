//! What the keys of the History tab do.

use super::{Cmd, Compared, History, ORDERS, Popup};
use crate::features::keys::keys;
use crate::features::orders::{next, words};
use crate::features::{Effect, Key, Scroll, Shared, say};
use crate::store::trends::regime_word;

impl History {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "filter_history", ["/"], "filter", "Show only kernels that contain the typed words.", |_, _| vec![Effect::TypeFilter];
        "mark_run", ["m"], "mark", "Mark or unmark the run under the cursor.", Self::mark;
        "compare_runs", ["c"], "compare", "Compare the two marked runs.", Self::compare;
        "sort_history", ["s", "f6"], "sort", "By name, latest change first, or largest change first.", Self::sort;
        "weak_changes", ["W"], "", "Also show changes that are small or may be chance.", Self::toggle_weak;
    };

    /// Keeps the cursor on the kernel it was on.
    fn sort(&mut self, _shared: &Shared) -> Vec<Effect> {
        let before = self.rows().get(self.cursor.at).copied();
        self.order = next(ORDERS, self.order);
        self.cursor.at = self.rows().iter().position(|row| Some(*row) == before).unwrap_or(0);
        say(format!("Sorted: {}.", words(ORDERS, &self.order)))
    }

    fn toggle_weak(&mut self, _shared: &Shared) -> Vec<Effect> {
        let before = self.rows().get(self.cursor.at).copied();
        self.weak = !self.weak;
        self.cursor.at = self.rows().iter().position(|row| Some(*row) == before).unwrap_or(0);
        say(match self.weak {
            true => "Also showing changes that are small or may be chance.",
            false => "Showing significant changes only.",
        })
    }

    /// Marks the run under the cursor, or takes its mark away; of three the oldest mark goes.
    fn mark(&mut self, _shared: &Shared) -> Vec<Effect> {
        let Some(hash) = self.selected_run().map(|run| run.hash) else { return Vec::new() };
        match self.marked.iter().position(|other| *other == hash) {
            Some(at) => drop(self.marked.remove(at)),
            None => {
                self.marked.push(hash);
                if self.marked.len() > 2 {
                    self.marked.remove(0);
                }
            }
        }
        if self.marked.len() == 1 {
            return say("One run is marked; mark a second one to compare them.");
        }
        Vec::new()
    }

    /// Asks for the samples of both marked runs, if they can be compared at all.
    fn compare(&mut self, _shared: &Shared) -> Vec<Effect> {
        let runs = self.marked.iter().filter_map(|hash| self.run(*hash));
        let mut runs: Vec<_> = runs.map(|run| (run.identity.at_ms, run.hash, run)).collect();
        runs.sort_by_key(|run| (run.0, run.1));
        let [(_, before, a), (_, after, b)] = runs.as_slice() else {
            return say("Mark two runs first; left and right move over the runs.");
        };
        let (before, after) = (*before, *after);
        let (a, b) = (&a.identity, &b.identity);
        self.compared = if a.regime != b.regime {
            let (a, b) = (regime_word(a.regime), regime_word(b.regime));
            Compared::Failed(format!(
                "One run is {a}, the other {b}: their times cannot be compared."
            ))
        } else if a.cold != b.cold {
            Compared::Failed(
                "Operands came from memory in one run and not in the other: their times cannot be compared."
                    .to_owned(),
            )
        } else {
            Compared::Waiting(before, after)
        };
        self.popup = Some(Popup::Compared(Scroll::default()));
        match self.compared {
            Compared::Waiting(..) => vec![Cmd::Compare(before, after).into()],
            _ => Vec::new(),
        }
    }
}
