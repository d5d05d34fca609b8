//! Looks at what is installed, on a thread of its own and behind everybody else's work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use warpscope_kernels::cpu::set_nice;
use warpscope_probes::inspect::binary::{Cache, scan_file};
use warpscope_probes::inspect::env::{Places, Progress, Sweep, yield_disk};
use warpscope_probes::inspect::{EnvironmentScan, ScanProgress};

use super::mailbox::MailboxSender;
use super::{aside, today};
use crate::features::compat::Msg;

/// Niceness of what may wait for everybody else.
const LAST: i32 = 19;

/// Shortest time between two reports of how far it has come.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// What to look at.
pub(crate) struct Look {
    pids: Vec<u32>,
    only_processes: bool,
    /// How long it waits before it begins.
    after: Duration,
}

impl Look {
    /// The whole machine, with what these processes use.
    pub(crate) fn everything(pids: Vec<u32>, after: Duration) -> Self {
        Self { pids, only_processes: false, after }
    }

    /// What these processes use.
    pub(crate) fn processes(pids: Vec<u32>) -> Self {
        Self { pids, only_processes: true, after: Duration::ZERO }
    }
}

/// The look in progress, if there is one. Dropping it stops that soon.
#[derive(Default)]
pub(crate) struct Inspector {
    cancel: Option<Arc<AtomicBool>>,
}

impl Inspector {
    /// Starts anew once its time has come; a look in progress is given up.
    pub(crate) fn start(&mut self, wanted: Look, post: MailboxSender) -> io::Result<()> {
        self.stop();
        let cancel = Arc::new(AtomicBool::new(false));
        self.cancel = Some(Arc::clone(&cancel));
        aside("inspect", move || {
            thread::sleep(wanted.after);
            // Without the right to step back it runs as any other reader.
            let _ = (yield_disk(), set_nice(LAST));
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            let done = if wanted.only_processes { Msg::Processes } else { Msg::EnvironmentScan };
            let survey = look(wanted, &post, &cancel);
            if !cancel.load(Ordering::Relaxed) {
                post.tell(done(Arc::new(survey), today()));
            }
        })
    }

    /// Gives up the look in progress.
    pub(crate) fn stop(&mut self) {
        if let Some(cancel) = self.cancel.take() {
            cancel.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Inspector {
    fn drop(&mut self) {
        self.stop();
    }
}

fn look(wanted: Look, post: &MailboxSender, cancel: &AtomicBool) -> EnvironmentScan {
    let Look { pids, only_processes, .. } = wanted;
    let sweep = Sweep { places: Places::here(Vec::new()), pids, only_named: only_processes };
    let inventory = sweep.run(&mut Progress::new(cancel, |_| {}));
    let cache = Cache::folder_of_user().map(Cache::open);
    let mut scan =
        |path: &Path| cache.as_ref().map_or_else(|| scan_file(path), |cache| cache.scan(path));
    let mut told: Option<Instant> = None;
    EnvironmentScan::of(inventory, &mut scan, cancel, &mut |advance: &ScanProgress| {
        if !only_processes && told.is_none_or(|at| at.elapsed() >= REPORT_EVERY) {
            told = Some(Instant::now());
            post.tell(Msg::Inspecting(advance.clone()));
        }
    })
}
