//! State and its one update function (pure), and the runtime around them.
//!
//! [`update::update`] knows no clock, file or device: what happens comes in as [`Msg`], what should happen
//! goes out as [`Cmd`].

pub mod action;
pub(crate) mod chrome;
pub mod draw;
pub mod keymap;
pub(crate) mod look;
pub mod panels;
pub(crate) mod popup;
pub mod popups;
mod recording;
pub mod runtime;
pub(crate) mod sheet;
pub mod update;
pub mod view;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use warpscope_probes::process::Process;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::{Frame, Gpu};

pub use crate::features::msg::{Cmd, Hit, Msg, Recorded, Shown};

use self::keymap::Keymap;
use self::view::{Cursor, View};
use crate::engine::Verdict;
use crate::features::bench::device::Device;
use crate::features::bench::{Bench, FIRST_SELECTED, PATHS};
use crate::features::compat::inspect::Looked;
use crate::features::compat::{Compat, Line};
use crate::features::history::History;
use crate::features::what_if::WhatIf;
use crate::io::source::Position;
use crate::store::Store;

/// What the user has set for this run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seconds between frames.
    pub interval: Duration,
    /// Never send a signal to a process.
    pub readonly: bool,
    /// Look at what is installed on this machine.
    pub inspect: bool,
    /// Name of the theme in use, or its file.
    pub theme: OsString,
}

/// The whole state of the dashboard.
#[derive(Debug)]
pub struct App {
    /// The newest frame taken, what-if GPUs included.
    pub frame: Frame,
    /// Histories.
    pub store: Store,
    /// GPUs of the catalogue in view.
    pub what_if: WhatIf,
    /// Verdicts on them.
    pub compat: Compat,
    /// Which processes were asked what they use.
    pub looked: Looked,
    /// What the benchmark children said.
    pub bench: Bench,
    /// Recorded runs.
    pub history: History,
    /// Where the user is.
    pub view: View,
    /// Which key does what.
    pub keymap: Keymap,
    /// What the user has set.
    pub settings: Settings,
    /// Where the recording stands; `None` on a live source.
    pub replay: Option<Position>,
}

impl App {
    /// The state before anything has happened.
    pub fn new(settings: Settings, keymap: Keymap, what_if: WhatIf, rules: Arc<RuleBase>) -> Self {
        Self {
            frame: Frame::default(),
            store: Store::default(),
            what_if,
            compat: Compat::new(rules),
            looked: Looked::default(),
            bench: Bench::default(),
            history: History::default(),
            view: View { bench: Cursor { at: FIRST_SELECTED }, ..View::default() },
            keymap,
            settings,
            replay: None,
        }
    }

    /// The lines of the Compat tab.
    pub fn compat_lines(&self) -> Vec<Line> {
        self.compat.lines(&self.view.compat)
    }

    /// The line the cursor of the Compat tab is on.
    pub fn selected_line(&self) -> Option<Line> {
        self.compat_lines().into_iter().nth(self.view.compat.row.at)
    }

    /// The verdict the cursor of the Compat tab is on.
    pub fn selected_verdict(&self) -> Option<Arc<Verdict>> {
        match self.selected_line()? {
            Line::Row(row) => self.compat.verdict(row, self.view.compat.column.at),
            Line::Head { .. } => None,
        }
    }

    /// The process the cursor of the Processes tab is on.
    pub fn selected_process(&self) -> Option<&Process> {
        let view = &self.view.processes;
        let row = view.rows(&self.frame).get(view.cursor.at).copied()?;
        self.frame.processes.get(row.at)
    }

    /// The GPUs the Bench tab has a line for, in its order; the line behind the last is the CPU's.
    pub fn bench_gpus(&self) -> impl Iterator<Item = &Gpu> {
        self.frame.gpus.iter().filter(|gpu| self.bench.devices.get(&gpu.key).is_some())
    }

    /// The GPU selected on the Bench tab, with what is known of its benchmark; none: the CPU is.
    pub fn bench_gpu(&self) -> Option<(&Gpu, &Device)> {
        let gpu = self.bench_gpus().nth(self.view.bench_gpu.at)?;
        Some((gpu, self.bench.devices.get(&gpu.key)?))
    }

    /// How many lines there are below what is selected on the Bench tab.
    pub fn bench_lines(&self) -> usize {
        self.bench_gpu().map_or(PATHS.len(), |(_, bench)| bench.lines().len())
    }

    /// The GPU the cursor of the Overview is on.
    pub fn selected_gpu(&self) -> Option<&Gpu> {
        self.frame.gpus.get(self.view.overview.at)
    }
}
