//! How far a look has come, told where somebody watches.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use warpscope_probes::inspect::Advance;

use crate::sink::text::clean;

/// Shortest time between two lines of progress.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// One line on standard error that says how far it has come, where somebody looks.
pub(super) struct Teller {
    told: Option<Instant>,
    shown: bool,
}

impl Teller {
    pub(super) fn new() -> Self {
        Self { told: None, shown: std::io::stderr().is_terminal() }
    }

    pub(super) fn tell(&mut self, advance: &Advance) {
        if !self.shown || self.told.is_some_and(|at| at.elapsed() < TELL_EVERY) {
            return;
        }
        self.told = Some(Instant::now());
        let mega = |bytes: u64| bytes / 1_000_000;
        let left = advance.left.unwrap_or_default();
        let line = format!(
            "{} of {} files, {} of {} MB, {} s left",
            advance.files,
            advance.files_total,
            mega(advance.bytes),
            mega(advance.bytes_total),
            left.as_secs()
        );
        // Nobody is told twice that nobody looks.
        self.shown = write!(std::io::stderr(), "\r\u{1b}[K{}", clean(&line, true)).is_ok();
    }

    pub(super) fn clear(&self) {
        if self.told.is_some() {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}
