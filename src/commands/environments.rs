//! The scan of the environments on this machine: which packages are installed, and the device code in their binaries.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use warpscope_probes::inspect::binary::{Cache, Scan, ScanError, scan_file};
use warpscope_probes::inspect::env::{Inventory, Places, Progress, Sweep};
use warpscope_probes::inspect::{EnvironmentScan, ScanProgress};

use crate::commands::output::StatusLine;

/// Shortest time between two lines of progress.
const INTERVAL: Duration = Duration::from_millis(200);

/// Everything installed on this machine.
pub(crate) fn scan_environments() -> EnvironmentScan {
    let cancel = AtomicBool::new(false);
    scan(inventory(&mut Progress::new(&cancel, |_| {})), &cancel)
}

/// The environments of this machine, wherever they are kept by custom.
pub(crate) fn inventory(progress: &mut Progress<'_>) -> Inventory {
    let sweep = Sweep { places: Places::here(Vec::new()), pids: Vec::new(), only_named: false };
    sweep.run(progress)
}

/// Reads the binaries of what was found, with progress on a terminal.
pub(crate) fn scan(inventory: Inventory, cancel: &AtomicBool) -> EnvironmentScan {
    let cache = Cache::folder_of_user().map(Cache::open);
    let mut read = |path: &Path| -> Result<Scan, ScanError> {
        cache.as_ref().map_or_else(|| scan_file(path), |cache| cache.scan(path))
    };
    let line = StatusLine::new();
    let mut shown: Option<Instant> = None;
    let survey = EnvironmentScan::of(inventory, &mut read, cancel, &mut |advance| {
        if line.is_shown() && shown.is_none_or(|at| at.elapsed() >= INTERVAL) {
            shown = Some(Instant::now());
            line.show(&words(advance));
        }
    });
    if shown.is_some() {
        line.clear();
    }
    survey
}

fn words(advance: &ScanProgress) -> String {
    let ScanProgress { files, files_total, bytes, bytes_total, left, .. } = advance;
    let (bytes, bytes_total) = (bytes / 1_000_000, bytes_total / 1_000_000);
    let left = left.unwrap_or_default().as_secs();
    format!("{files} of {files_total} files, {bytes} of {bytes_total} MB, {left} s left")
}
