//! Where the user is: tab, cursors, filters, what lies over them.

use crate::features::compat::model::State;
pub use crate::features::compat::view::CompatView;
use crate::features::history::HistoryView;
use crate::features::msg::Recorded;
use crate::features::processes::ProcessView;

/// A screen of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tab {
    /// A card per GPU.
    #[default]
    Overview,
    /// What runs where.
    Compat,
    /// The micro decoder at work.
    Bench,
    /// Processes on the GPUs.
    Processes,
    /// Kernels over recorded runs.
    History,
}

/// Every tab with its stable id and title, in the order of their keys.
pub const TABS: &[(Tab, &str, &str)] = &[
    (Tab::Overview, "overview", "Overview"),
    (Tab::Compat, "compat", "Compat"),
    (Tab::Bench, "bench", "Bench"),
    (Tab::Processes, "processes", "Processes"),
    (Tab::History, "history", "History"),
];

impl Tab {
    fn position(self) -> usize {
        TABS.iter().position(|row| row.0 == self).expect("every tab is listed")
    }

    /// The tab `step` further, around the end.
    pub fn step(self, step: isize) -> Self {
        let count = TABS.len().cast_signed();
        let at = (self.position().cast_signed() + step).rem_euclid(count);
        TABS[at.unsigned_abs()].0
    }

    /// The tab with this id.
    pub fn from_id(id: &str) -> Option<Self> {
        TABS.iter().find(|row| row.1 == id).map(|row| row.0)
    }
}

/// A selected row, and the first row in view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Selected row.
    pub at: usize,
}

impl Cursor {
    /// Moves by `step`, within `count` rows.
    pub fn step(&mut self, step: isize, count: usize) {
        self.at = self.at.saturating_add_signed(step).min(count.saturating_sub(1));
    }

    /// The first row to draw so that the selected one is in view.
    pub fn first(self, visible: usize, count: usize) -> usize {
        let half = visible / 2;
        self.at.saturating_sub(half).min(count.saturating_sub(visible))
    }
}

/// Text being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// What was typed so far.
    pub text: String,
}

impl Input {
    /// Longest text that is taken.
    pub const LIMIT: usize = 80;

    /// Appends a character; control characters and what is over the limit are left out.
    pub fn push(&mut self, character: char) {
        self.push_within(character, Self::LIMIT);
    }

    /// The same with another limit.
    pub fn push_within(&mut self, character: char, limit: usize) {
        if !character.is_control() && self.text.chars().count() < limit {
            self.text.push(character);
        }
    }

    /// Whether every word typed occurs in `haystack`, case aside.
    pub fn matches(&self, haystack: &str) -> bool {
        let haystack = haystack.to_lowercase();
        self.text.split_whitespace().all(|word| haystack.contains(&word.to_lowercase()))
    }
}

/// What lies over the tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Keys.
    Help {
        /// First line in view.
        scroll: usize,
    },
    /// Everything about one GPU.
    Gpu {
        /// [`warpscope_probes::Gpu::key`].
        key: String,
        /// First line in view.
        scroll: usize,
    },
    /// Why a verdict is what it is.
    Why {
        /// First line in view.
        scroll: usize,
        /// Selected fix.
        fix: usize,
        /// Whether it was just selected, and has to be in view.
        follow: bool,
    },
    /// What was not found.
    Notices {
        /// First line in view.
        scroll: usize,
    },
    /// The model every row is asked about.
    Model {
        /// Path being typed.
        input: Input,
        /// What is said below it.
        state: State,
    },
    /// The catalogue.
    Picker {
        /// What is searched.
        input: Input,
        /// Selected row.
        cursor: Cursor,
    },
    /// Everything about one process on one GPU.
    Process {
        /// Process id.
        pid: u32,
        /// [`warpscope_probes::Gpu::key`] of the GPU.
        gpu: String,
        /// First line in view.
        scroll: usize,
    },
    /// Everything about one recorded run.
    Run {
        /// [`crate::store::kernels::Past::hash`].
        run: i64,
        /// First line in view.
        scroll: usize,
    },
    /// The two marked runs beside each other.
    Compared {
        /// First line in view.
        scroll: usize,
    },
    /// Which signal, and whether really.
    Signal {
        /// Process id.
        pid: u32,
        /// Name, for the question.
        name: String,
        /// Start time, so that a reused pid is not hit.
        started_at: Option<u64>,
        /// Selected row of [`crate::features::processes::SIGNALS`].
        cursor: Cursor,
        /// Whether the user has chosen and is asked again.
        confirm: bool,
    },
}

/// Where the user is.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Tab in view.
    pub tab: Tab,
    /// What lies over it.
    pub popup: Option<Popup>,
    /// Whether a filter is being typed.
    pub typing: bool,
    /// Whether new frames are left out.
    pub frozen: bool,
    /// Selected GPU.
    pub overview: Cursor,
    /// The Compat tab.
    pub compat: CompatView,
    /// Selected path of the Bench tab.
    pub bench: Cursor,
    /// Selected GPU of the Bench tab; behind the last one, the CPU.
    pub bench_gpu: Cursor,
    /// The Processes tab.
    pub processes: ProcessView,
    /// The recording being written.
    pub recorded: Option<Recorded>,
    /// The History tab.
    pub history: HistoryView,
    /// One line that answers the last key, and how many frames it stays.
    pub toast: Option<(String, u8)>,
    /// Rows of the body, for page keys.
    pub page: usize,
}

impl View {
    /// Answers the user in one line.
    pub fn say(&mut self, text: impl Into<String>) {
        self.toast = Some((text.into(), 4));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_go_around() {
        assert_eq!(Tab::Overview.step(-1), Tab::History);
        assert_eq!(Tab::History.step(1), Tab::Overview);
        for (tab, id, _) in TABS {
            assert_eq!(Tab::from_id(id), Some(*tab));
        }
    }

    #[test]
    fn the_selected_row_is_always_in_view() {
        for count in 0..40_usize {
            for visible in 1..12 {
                for at in 0..count {
                    let first = Cursor { at }.first(visible, count);
                    assert!(first <= at && at < first + visible, "{at} of {count} in {visible}");
                }
            }
        }
    }

    #[test]
    fn a_filter_wants_every_word() {
        let input = Input { text: "LLM awq".into() };
        assert!(input.matches("vLLM · AWQ"));
        assert!(!input.matches("vLLM · gptq"));
        let mut long = Input::default();
        "x\x1by".repeat(90).chars().for_each(|c| long.push(c));
        assert_eq!(long.text.len(), Input::LIMIT);
        assert!(!long.text.contains('\x1b'));
    }
}
