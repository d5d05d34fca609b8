//! How far a look has come, shown where somebody watches.

use std::time::{Duration, Instant};

use warpscope_probes::inspect::ScanProgress;

use crate::commands::output::StatusLine;

/// Shortest time between two lines of progress.
const INTERVAL: Duration = Duration::from_millis(200);

/// One line on standard error, if that is a terminal.
pub(crate) struct ProgressPrinter {
    shown: Option<Instant>,
    line: StatusLine,
}

impl ProgressPrinter {
    pub(crate) fn new() -> Self {
        Self { shown: None, line: StatusLine::new() }
    }

    pub(crate) fn show(&mut self, advance: &ScanProgress) {
        if !self.line.is_shown() || self.shown.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown = Some(Instant::now());
        let mega = |bytes: u64| bytes / 1_000_000;
        let left = advance.left.unwrap_or_default();
        self.line.show(&format!(
            "{} of {} files, {} of {} MB, {} s left",
            advance.files,
            advance.files_total,
            mega(advance.bytes),
            mega(advance.bytes_total),
            left.as_secs()
        ));
    }

    pub(crate) fn clear(&self) {
        if self.shown.is_some() {
            self.line.clear();
        }
    }
}
