//! Who else is on the device, looked at between the launches.
//!
//! A thread of its own looks, for a look takes milliseconds on some drivers; what it finds sets the flag that every launch looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use warpscope_probes::nvml::{Look, Watch};

/// Time between two looks while something runs.
const EVERY: Duration = Duration::from_millis(20);
/// Share of the multiprocessors up to which somebody counts as not there, percent.
const IDLE_PCT: u32 = 1;

/// Something that can be asked who is on the device.
pub trait ContentionProbe: Send {
    /// Asks anew.
    fn look(&mut self) -> Look;
}

impl ContentionProbe for Watch {
    fn look(&mut self) -> Look {
        Self::look(self)
    }
}

/// Why a device is not to be used now: somebody who is not known is on it.
pub(super) fn foreign_process(look: &Look, known: &[u32]) -> Option<String> {
    let foreign = |pid: &u32| !known.contains(pid);
    if let Some(pid) = look.computing.iter().flatten().copied().find(foreign) {
        return Some(format!("busy: process {pid} computes on it"));
    }
    let using = look.using.iter().flatten().find(|(pid, pct)| foreign(pid) && *pct > IDLE_PCT);
    using.map(|(pid, pct)| format!("busy: process {pid} uses {pct}% of it"))
}

/// Processes that are this one: by its number, or, where the driver counts in another namespace, the only one that came
/// while the context was made.
pub(super) fn own(pid: u32, before: &Look, after: &Look) -> Vec<u32> {
    let was_there = |pid: &u32| before.computing.iter().flatten().any(|old| old == pid);
    let now: Vec<u32> = after.computing.iter().flatten().copied().collect();
    let new: Vec<u32> = now.iter().copied().filter(|pid| !was_there(pid)).collect();
    match new[..] {
        [other] if !now.contains(&pid) => vec![pid, other],
        _ => vec![pid],
    }
}

/// Why a device is not to be used any longer: more memory is gone than this process may have taken. Where processes are hidden, as in a
/// container, nothing else shows that somebody came.
fn hidden_process(look: &Look, floor: Option<u64>) -> Option<String> {
    let missing = floor?.checked_sub(look.free_bytes?).filter(|bytes| *bytes > 0)?;
    let mib = missing.div_ceil(1 << 20);
    Some(format!("busy: a process that is not shown took memory, at least {mib} MiB"))
}

/// What is looked for while something runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Heed {
    /// Whether a foreign process stops it; otherwise only the clock is read.
    pub(super) foreign: bool,
    /// Free memory below which somebody else took some.
    pub(super) floor: Option<u64>,
}

#[derive(Default)]
struct State {
    /// Whether something runs.
    on: bool,
    heed: Heed,
    ended: bool,
    known: Vec<u32>,
    found: Option<String>,
    sm_mhz: Option<u32>,
}

struct Shared {
    probe: Mutex<Box<dyn ContentionProbe>>,
    state: Mutex<State>,
    changed: Condvar,
    stop: Arc<AtomicBool>,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Looks until the owner is gone.
    fn run(&self) {
        loop {
            let waiting = |state: &mut State| !state.on && !state.ended;
            let state = self.changed.wait_while(lock(&self.state), waiting);
            if state.unwrap_or_else(PoisonError::into_inner).ended {
                return;
            }
            let look = lock(&self.probe).look();
            let mut state = lock(&self.state);
            state.sm_mhz = look.sm_mhz;
            let why = foreign_process(&look, &state.known)
                .or_else(|| hidden_process(&look, state.heed.floor))
                .filter(|_| state.on && state.heed.foreign);
            if let Some(why) = why {
                state.on = false;
                state.found = Some(why);
                self.stop.store(true, Ordering::Relaxed);
            }
            let going_on = |state: &mut State| state.on && !state.ended;
            let _time_or_end = self.changed.wait_timeout_while(state, EVERY, going_on);
        }
    }
}

/// The hand on the thread that looks. It ends with the hand.
pub(super) struct ContentionMonitor {
    shared: Arc<Shared>,
}

impl ContentionMonitor {
    /// Starts the thread. What it finds sets the flag.
    pub(super) fn new(probe: Box<dyn ContentionProbe>, stop: Arc<AtomicBool>) -> Self {
        let shared = Arc::new(Shared {
            probe: Mutex::new(probe),
            state: Mutex::default(),
            changed: Condvar::new(),
            stop,
        });
        let thread = Arc::clone(&shared);
        thread::spawn(move || thread.run());
        Self { shared }
    }

    /// Looks now.
    pub(super) fn look(&self) -> Look {
        lock(&self.shared.probe).look()
    }

    /// Says who is not a foreign process.
    pub(super) fn know(&self, known: Vec<u32>) {
        lock(&self.shared.state).known = known;
    }

    /// Looks from now on.
    pub(super) fn begin(&self, heed: Heed) {
        let mut state = lock(&self.shared.state);
        state.on = true;
        state.heed = heed;
        state.found = None;
        self.shared.changed.notify_all();
    }

    /// Looks no more, and says who came.
    pub(super) fn end(&self) -> Option<String> {
        let mut state = lock(&self.shared.state);
        state.on = false;
        self.shared.changed.notify_all();
        state.found.take()
    }

    /// Clock of the multiprocessors at the last look, MHz.
    pub(super) fn sm_mhz(&self) -> Option<f64> {
        lock(&self.shared.state).sm_mhz.map(f64::from)
    }
}

impl Drop for ContentionMonitor {
    fn drop(&mut self) {
        lock(&self.shared.state).ended = true;
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(computing: &[u32], using: &[(u32, u32)]) -> Look {
        let (computing, using) = (Some(computing.to_vec()), Some(using.to_vec()));
        Look { computing, using, ..Look::default() }
    }

    #[test]
    fn a_foreign_process_computes_or_uses_more_than_a_hundredth() {
        for (look, want) in [
            (look(&[], &[]), None),
            (look(&[7], &[(7, 90)]), None),
            (look(&[7, 8], &[]), Some("busy: process 8 computes on it")),
            (look(&[7], &[(7, 90), (9, 2)]), Some("busy: process 9 uses 2% of it")),
            (look(&[7], &[(9, 1)]), None),
            (Look::default(), None),
        ] {
            assert_eq!(foreign_process(&look, &[7]).as_deref(), want, "{look:?}");
        }
    }

    #[test]
    fn in_a_container_this_process_is_who_came_with_the_context() {
        for (before, after, want) in [
            (&[][..], &[7][..], &[7][..]),
            (&[], &[4321], &[7, 4321]),
            (&[5], &[5, 4321], &[7, 4321]),
            (&[], &[], &[7]),
            (&[], &[4321, 4322], &[7]),
            (&[], &[7, 8], &[7]),
        ] {
            assert_eq!(own(7, &look(before, &[]), &look(after, &[])), want, "{before:?} {after:?}");
        }
    }

    /// The floor is what was free less what the job may take.
    #[test]
    fn who_is_hidden_is_known_by_the_memory_that_is_gone() {
        let free = |mib: u64| Look { free_bytes: Some(mib << 20), ..Look::default() };
        for (look, floor, want) in [
            (free(7000), Some(6800), None),
            (free(6800), Some(6800), None),
            (free(6000), Some(6800), Some(800)),
            (free(6000), None, None),
            (Look::default(), Some(6800), None),
        ] {
            let want = want.map(|mib: u64| {
                format!("busy: a process that is not shown took memory, at least {mib} MiB")
            });
            assert_eq!(hidden_process(&look, floor.map(|mib: u64| mib << 20)), want);
        }
    }

    struct Comes(u32);

    impl ContentionProbe for Comes {
        fn look(&mut self) -> Look {
            self.0 = self.0.saturating_sub(1);
            let sm_mhz = Some(1410);
            Look { sm_mhz, ..look(if self.0 == 0 { &[8] } else { &[] }, &[]) }
        }
    }

    #[test]
    fn who_comes_stops_what_runs() {
        let stop = Arc::new(AtomicBool::new(false));
        let monitor = ContentionMonitor::new(Box::new(Comes(3)), Arc::clone(&stop));
        assert_eq!(monitor.look().computing, Some(vec![]));
        monitor.begin(Heed { foreign: true, floor: None });
        while !stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        assert_eq!(monitor.end().as_deref(), Some("busy: process 8 computes on it"));
        assert_eq!((monitor.sm_mhz(), monitor.end()), (Some(1410.0), None));
    }
}
