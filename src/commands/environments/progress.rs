//! How far a look has come, told where somebody watches.

use std::time::{Duration, Instant};

use warpscope_probes::inspect::Advance;

use crate::commands::output::StatusLine;

/// Shortest time between two lines of progress.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// One line on standard error that says how far it has come, where somebody looks.
pub(crate) struct Teller {
    told: Option<Instant>,
    line: StatusLine,
}

impl Teller {
    pub(crate) fn new() -> Self {
        Self { told: None, line: StatusLine::new() }
    }

    pub(crate) fn tell(&mut self, advance: &Advance) {
        if !self.line.is_shown() || self.told.is_some_and(|at| at.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
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
        if self.told.is_some() {
            self.line.clear();
        }
    }
}
