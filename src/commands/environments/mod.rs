//! The scan of the environments on this machine: which packages are installed, and the device code in their binaries.

mod progress;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{Cache, Scan, ScanError, scan_file};
use warpscope_probes::inspect::env::{Inventory, Places, Progress, Sweep};

use progress::ProgressPrinter;

/// Everything installed on this machine.
pub(crate) fn scan_environments() -> EnvironmentScan {
    let cancel = AtomicBool::new(false);
    let sweep = Sweep { places: Places::here(Vec::new()), pids: Vec::new(), only_named: false };
    scan(sweep.run(&mut Progress::new(&cancel, |_| {})), &cancel)
}

/// Reads the binaries of what was found and prints its progress.
pub(crate) fn scan(inventory: Inventory, cancel: &AtomicBool) -> EnvironmentScan {
    let cache = Cache::folder_of_user().map(Cache::open);
    let mut read = |path: &Path| -> Result<Scan, ScanError> {
        cache.as_ref().map_or_else(|| scan_file(path), |cache| cache.scan(path))
    };
    let mut progress = ProgressPrinter::new();
    let survey =
        EnvironmentScan::of(inventory, &mut read, cancel, &mut |advance| progress.show(advance));
    progress.clear();
    survey
}
