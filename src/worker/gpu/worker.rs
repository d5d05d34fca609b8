//! A GPU as a worker's device: acquired when a job needs it, given back when told to or when a foreign process comes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use warpscope_kernels::gpu::{DeviceFacts, MachineError};

use super::contention::{ContentionMonitor, ContentionProbe, Heed, foreign_process, own};
use super::job::On;
use super::meter::Metered;
use super::session::DeviceSession;
use super::{autotune, decode, goals, listing, probing, range, selftest, timing};
use crate::worker::child::{Device, Emit, Stop, Trouble};
use crate::worker::protocol::{
    Acquire, BENCH_SCHEMA, Command, DeviceHere, Hello, Holding, WorkerEvent,
};

/// A device that was opened.
pub struct Opened {
    /// Its UUID.
    pub uuid: String,
    /// The device.
    pub session: Box<dyn DeviceSession>,
}

/// How a worker comes by its device.
pub trait Opener {
    /// What the device is called in the first line.
    fn name(&self) -> String;

    /// The devices there are.
    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError>;

    /// Acquires the device. What it runs checks the flag.
    fn open(&self, how: &Acquire, stop: &Arc<AtomicBool>) -> Result<Opened, MachineError>;

    /// What sees foreign processes on it, where they can be seen.
    fn contention(&self) -> Option<Box<dyn ContentionProbe>>;

    /// How long a device may look busy before a job gives way: who died a moment ago is listed for a while.
    fn busy_for(&self) -> Duration {
        Duration::from_secs(3)
    }
}

/// Time between two looks at a device that looks busy.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Memory a job may take beside its arena: images and what their kernels spill to; libraries with all of theirs.
const BESIDE_ARENA: u64 = 128 << 20;
const WITH_LIBRARIES: u64 = 1 << 30;

/// A device that is held.
struct Held {
    uuid: String,
    session: Box<dyn DeviceSession>,
    /// The device, with the variants chosen for it.
    facts: DeviceFacts,
    context_bytes: Option<u64>,
    /// What was free beside the context and nothing else of this process.
    free_bytes: Option<u64>,
    /// Images at the last time they were told.
    images: usize,
    monitor: Option<ContentionMonitor>,
    /// Whether a long measurement has warmed it up.
    warm: bool,
    /// Highest clock of any sample so far, MHz.
    best_mhz: Option<f64>,
}

/// A GPU of this machine.
pub struct GpuDevice<'a> {
    opener: &'a dyn Opener,
    stop: Stop,
    how: Acquire,
    held: Option<Held>,
    /// How long kernels were waited for, and how much of that was told.
    busy: Duration,
    told: Duration,
}

impl<'a> GpuDevice<'a> {
    /// Not acquired yet.
    pub fn new(opener: &'a dyn Opener, stop: Stop) -> Self {
        Self {
            opener,
            stop,
            how: Acquire::default(),
            held: None,
            busy: Duration::ZERO,
            told: Duration::ZERO,
        }
    }

    /// Notes how the device is to be acquired; one that is held is given back where that forbids more than before.
    fn change(&mut self, how: &Acquire) {
        if how.mode != self.how.mode || how.beside_others != self.how.beside_others {
            self.held = None;
        }
        if let Some(held) = &mut self.held {
            if let Some(bytes) = how.arena_bytes {
                held.session.set_cap(bytes);
            }
            held.facts.tuned.clone_from(&how.tuned);
        }
        self.how = how.clone();
    }

    /// Acquires the device, unless it is held or a foreign process is on it.
    fn acquire(&mut self, job: &Command) -> Result<&mut Held, Trouble> {
        let held = match self.held.take() {
            Some(held) => held,
            None => self.open(job)?,
        };
        Ok(self.held.insert(held))
    }

    fn open(&self, job: &Command) -> Result<Held, Trouble> {
        let probe = self.opener.contention();
        let monitor =
            probe.map(|probe| ContentionMonitor::new(probe, Arc::clone(self.stop.flag())));
        let look = || monitor.as_ref().map(ContentionMonitor::look).unwrap_or_default();
        let (begin, pid) = (Instant::now(), std::process::id());
        let mut before = look();
        while let Some(why) = foreign_process(&before, &[pid]).filter(|_| !self.how.beside_others) {
            if begin.elapsed() >= self.opener.busy_for() || self.stop.is_raised() {
                return Err(Trouble::Contention(why));
            }
            self.stop.wait(LOOK_AGAIN);
            before = look();
        }
        let opened = self.opener.open(&self.how, self.stop.flag());
        let Opened { uuid, session } = opened.map_err(|error| Trouble::of(job, error))?;
        let after = look();
        let taken = before.free_bytes.zip(after.free_bytes);
        let context_bytes = taken.and_then(|(b, a)| b.checked_sub(a)).filter(|bytes| *bytes > 0);
        if let Some(monitor) = &monitor {
            monitor.know(own(pid, &before, &after));
        }
        let facts = DeviceFacts { tuned: self.how.tuned.clone(), ..session.facts().clone() };
        let free_bytes = after.free_bytes;
        Ok(Held {
            uuid,
            session,
            facts,
            context_bytes,
            free_bytes,
            images: 0,
            monitor,
            warm: false,
            best_mhz: None,
        })
    }

    /// Runs a job on the device, watched for foreign processes.
    fn run(&mut self, job: &Command, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        self.acquire(job)?;
        let Self { held: Some(held), busy, how, .. } = self else { return Ok(()) };
        let Held { uuid, session, facts, free_bytes, monitor, warm, best_mhz, .. } = held;
        let beside = match job {
            Command::Goal { .. } => WITH_LIBRARIES,
            // One probe takes half of what is free in one block.
            Command::Probe { .. } => WITH_LIBRARIES + free_bytes.unwrap_or_default() / 2,
            _ => BESIDE_ARENA,
        };
        let may_take = session.pool().1.saturating_add(beside);
        let floor = free_bytes.map(|free| free.saturating_sub(may_take));
        if let Some(monitor) = monitor {
            monitor.begin(Heed { foreign: !how.beside_others, floor });
        }
        let clock = || monitor.as_ref().and_then(ContentionMonitor::sm_mhz);
        let mut machine = Metered { machine: &mut **session, facts, busy };
        let done = perform(
            job,
            &mut On { uuid, machine: &mut machine, clock: &clock, warm, best_mhz, ramped: false },
            emit,
        );
        let contention = monitor.as_ref().and_then(ContentionMonitor::end);
        let lost = session.ended().cloned();
        let stopped = matches!(done, Err(Trouble::Machine { error: MachineError::Stopped, .. }));
        match (contention, lost) {
            (Some(why), None) if done.is_ok() || stopped => {
                self.stop.lower();
                Err(Trouble::Contention(why))
            }
            (_, Some(error)) if done.is_ok() => Err(Trouble::of(job, error)),
            _ => done,
        }
    }

    /// Says what is held, if that is asked or images were loaded since.
    fn report_holding(&mut self, asked: bool, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let images = held.session.images();
        if images.len() == held.images && !asked {
            return Ok(());
        }
        held.images = images.len();
        let (arena_bytes, arena_cap_bytes) = held.session.pool();
        Ok(emit(WorkerEvent::Holding(Holding {
            device: held.facts.clone(),
            uuid: held.uuid.clone(),
            context_bytes: held.context_bytes,
            arena_bytes,
            arena_cap_bytes,
            busy_ns: self.busy.as_nanos() as f64,
            images: images.into_iter().map(|image| (image.family, image.how)).collect(),
        }))?)
    }
}

impl Device for GpuDevice<'_> {
    fn hello(&mut self) -> Hello {
        Hello {
            schema: BENCH_SCHEMA,
            pid: std::process::id(),
            device: "gpu".to_owned(),
            device_name: self.opener.name(),
            threads: 1,
            ..Hello::default()
        }
    }

    fn perform(&mut self, job: &Command, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        match job {
            Command::Devices => {
                let devices = self.opener.devices().map_err(|error| Trouble::of(job, error))?;
                devices.into_iter().try_for_each(|device| Ok(emit(WorkerEvent::Device(device))?))
            }
            Command::Acquire(how) => {
                self.change(how);
                self.acquire(job)?;
                self.report_holding(true, emit)
            }
            _ => {
                let done = self.run(job, emit);
                if !self.is_lost() {
                    self.report_holding(false, emit)?;
                }
                done
            }
        }
    }

    fn release(&mut self) {
        self.held = None;
    }

    fn take_busy(&mut self) -> Duration {
        self.busy - std::mem::replace(&mut self.told, self.busy)
    }

    fn is_lost(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.session.ended().is_some())
    }
}

/// Does a job on a device that is held.
fn perform(job: &Command, on: &mut On<'_>, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    match job {
        Command::Selftest { kernels, evidence } => {
            selftest::run(on, kernels, evidence.as_deref(), emit)
        }
        Command::List => {
            Ok(emit(WorkerEvent::Listing(Box::new(listing::here(on.machine.facts()))))?)
        }
        Command::Kernel(timing) => timing::run(on, timing, emit),
        Command::Autotune(timing) => autotune::run(on, timing, emit),
        Command::Decode { .. } => decode::run(on, job, emit),
        Command::Range { paths } => range::run(on, paths, emit),
        Command::Goal { id, cublas } => goals::run(on, id, cublas, emit),
        Command::Probe { ids, cublas } => probing::run(on, ids, cublas, emit),
        _ => {
            let why = "this build has no such job".to_owned();
            Err(Trouble::of(job, MachineError::Refused { why }))
        }
    }
}
