//! The Overview: the host, and a card per GPU; compact rows where cards do not fit; processes below.

mod card;
mod details;
mod graphs;
mod host;
mod kinds;
mod lines;
mod model;
mod rows;
mod tab;
mod users;
mod view;

use warpscope_probes::{Frame, Gpu};

use crate::config::args;
use crate::features::keys::keys;
use crate::features::{Cursor, Effect, Key, SearchPage, Shared};
use crate::store::MEANS;

/// Steps of a graph that a key moves by: a sixtieth of the span.
const READING_STEP: isize = (MEANS / 60).cast_signed();

/// What is selected, and what lies over the tab.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Selected GPU.
    pub cursor: Cursor,
    /// Steps back from now at which graphs are read.
    pub reading: Option<usize>,
    /// First process in view.
    pub first_process: usize,
    /// Everything about one GPU.
    pub details: Option<Details>,
}

/// Everything about one GPU, as a page over the tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// [`warpscope_probes::Gpu::key`].
    pub key: String,
    /// What is in view of it.
    pub page: SearchPage,
}

impl Details {
    /// Everything about the GPU with this key.
    pub fn new(key: &str) -> Self {
        Self { key: key.to_owned(), page: SearchPage::default() }
    }
}

impl Overview {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "longer_span", ["t"], "span", "Graphs over the next longer time, up to 24 hours; then a minute again.", |_, _| vec![Effect::StepOption(&args::GRAPH_SPAN.spec, None, 1)];
        "read_back", [","], "", "Read the graphs further back, in a recording too.", |tab, _| tab.read(-1);
        "read_forward", ["."], "", "Read the graphs closer to now, in a recording too.", |tab, _| tab.read(1);
        "processes_down", ["}"], "", "Scroll the processes down.", |tab, shared| tab.scroll(1, shared);
        "processes_up", ["{"], "", "Scroll the processes up.", |tab, shared| tab.scroll(-1, shared);
    };

    /// Moves the cursor of the graphs; it goes away behind the newest value.
    fn read(&mut self, step: isize) -> Vec<Effect> {
        let back = match (self.reading, step) {
            (None, 0..) => None,
            (None, _) => Some(0),
            (Some(at), _) => at.checked_add_signed(-step * READING_STEP),
        };
        self.reading = back.map(|at| at.min(MEANS - 1));
        Vec::new()
    }

    fn scroll(&mut self, step: isize, shared: &Shared) -> Vec<Effect> {
        let last = shared.frame.processes.len().saturating_sub(1);
        self.first_process = self.first_process.saturating_add_signed(step).min(last);
        Vec::new()
    }

    /// The GPU the cursor is on.
    pub fn selected<'a>(&self, frame: &'a Frame) -> Option<&'a Gpu> {
        frame.gpus.get(self.cursor.at)
    }
}
