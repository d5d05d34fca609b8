//! The child: takes the device when it must, does one job after another, and gives the device back when told to.
//!
//! A thread reads the requests, so that what ends work is heard between two launches and not behind the job it ends. Every job
//! ends with one `finished`, whatever became of it: the parent counts on that.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use warpscope_kernels::gpu::{DeviceFacts, MachineError};

use super::held::Held;
use super::job::{self, Trouble};
use super::lookout::{Eyes, Lookout, own, stranger};
use super::meter::Metered;
use super::request::{Hold, Request};
use crate::worker::{
    BENCH_SCHEMA, BenchEvent, BenchState, DeviceHere, Hello, Holding, WorkerFailure,
};

/// Longest request that is read.
const LINE_MAX: u64 = 64 * 1024;

/// A device that was opened.
pub struct Opened {
    /// Its UUID.
    pub uuid: String,
    /// The device.
    pub machine: Box<dyn Held>,
}

/// How a child comes by its device.
pub trait Opener {
    /// What the device is called in the first line.
    fn name(&self) -> String;

    /// The devices there are.
    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError>;

    /// Takes the device. What it runs looks at the flag.
    fn open(&self, hold: &Hold, stop: &Arc<AtomicBool>) -> Result<Opened, MachineError>;

    /// Somebody who sees who else is there, where that can be seen.
    fn eyes(&self) -> Option<Box<dyn Eyes>>;
}

/// How a child ended that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuEnd {
    /// Told to, or its parent is gone.
    Told,
    /// The context is lost, as it said: only a new process helps.
    ContextLost,
}

/// A request on its way from the thread that reads to the one that works.
struct Letter {
    /// How often work had been ended when it was read.
    era: u64,
    request: Result<Request, String>,
}

/// What both threads know.
#[derive(Clone, Default)]
struct Shared {
    stop: Arc<AtomicBool>,
    era: Arc<AtomicU64>,
}

impl Shared {
    /// Reads requests until the input ends, which means that the parent is gone.
    fn listen(&self, input: impl Read, mail: &Sender<Letter>) {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = input.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
            let request = match count {
                Ok(0) | Err(_) => Ok(Request::Quit),
                Ok(_) => serde_json::from_slice(&line).map_err(|error| error.to_string()),
            };
            let last = request == Ok(Request::Quit);
            if mail.send(self.stamp(request)).is_err() || last {
                return;
            }
        }
    }

    /// What ends work begins a new era, and is heard by what runs.
    fn stamp(&self, request: Result<Request, String>) -> Letter {
        if request.as_ref().is_ok_and(Request::is_urgent) {
            self.era.fetch_add(1, Ordering::SeqCst);
            self.stop.store(true, Ordering::SeqCst);
        }
        Letter { era: self.era.load(Ordering::SeqCst), request }
    }
}

/// Runs a GPU's child until it is told to end, or its context is lost. Requests come as lines on `input`, the end of which
/// means that the parent is gone; events go to `output`, one JSON object a line.
pub fn run_gpu_child(
    opener: &dyn Opener,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> io::Result<GpuEnd> {
    let shared = Shared::default();
    let (sender, mail) = channel();
    let reader = shared.clone();
    thread::spawn(move || reader.listen(input, &sender));
    let mut child = Child {
        opener,
        output,
        shared,
        hold: Hold::default(),
        held: None,
        lookout: None,
        warm: false,
    };
    child.run(&mail)
}

/// A device that is held.
struct Holds {
    uuid: String,
    machine: Box<dyn Held>,
    /// The device, with the variants chosen for it.
    facts: DeviceFacts,
    context_bytes: Option<u64>,
    /// How long its kernels were waited for.
    busy: Duration,
    /// Images at the last time they were told.
    images: usize,
}

struct Child<'a, W> {
    opener: &'a dyn Opener,
    output: W,
    shared: Shared,
    hold: Hold,
    held: Option<Holds>,
    lookout: Option<Lookout>,
    /// Whether a long measurement has warmed the device up.
    warm: bool,
}

impl<W: Write> Child<'_, W> {
    fn run(&mut self, mail: &Receiver<Letter>) -> io::Result<GpuEnd> {
        self.say(&BenchEvent::Hello(Hello {
            schema: BENCH_SCHEMA,
            pid: std::process::id(),
            device: "gpu".to_owned(),
            device_name: self.opener.name(),
            threads: 1,
            ..Hello::default()
        }))?;
        while let Ok(Letter { era, request }) = mail.recv() {
            let current = era == self.shared.era.load(Ordering::SeqCst);
            match request {
                Err(why) => self.fail("a line of the parent", MachineError::Refused { why })?,
                Ok(Request::Quit) => break,
                Ok(Request::Stop) => self.heard(current),
                Ok(Request::Pause { why }) => {
                    self.heard(current);
                    self.pause(why)?;
                }
                Ok(job) if !current => {
                    self.fail(&job.to_string(), MachineError::Stopped)?;
                    self.say(&BenchEvent::State(BenchState::Finished))?;
                }
                Ok(job) => {
                    if self.work(&job)? == Some(GpuEnd::ContextLost) {
                        return Ok(GpuEnd::ContextLost);
                    }
                }
            }
        }
        Ok(GpuEnd::Told)
    }

    /// What was to end has ended; the newest of several such requests lets work begin again.
    fn heard(&self, newest: bool) {
        if newest {
            self.shared.stop.store(false, Ordering::SeqCst);
        }
    }

    /// Gives everything back.
    fn pause(&mut self, why: String) -> io::Result<()> {
        self.held = None;
        self.lookout = None;
        self.warm = false;
        self.say(&BenchEvent::State(BenchState::Paused { why }))
    }

    fn work(&mut self, job: &Request) -> io::Result<Option<GpuEnd>> {
        self.say(&BenchEvent::State(BenchState::Running))?;
        let done = self.perform(job);
        let came = self.lookout.as_ref().and_then(Lookout::end);
        let ended = self.held.as_ref().and_then(|held| held.machine.ended().cloned());
        match done {
            Err(Trouble::Output(error)) => return Err(error),
            Err(Trouble::Away(why)) => self.pause(why)?,
            Err(Trouble::Machine { error: MachineError::Stopped, .. }) if came.is_some() => {}
            Err(Trouble::Machine { what, error }) => self.fail(&what, error)?,
            Ok(()) => {
                if let Some(error) = ended.clone() {
                    self.fail(&job.to_string(), error)?;
                }
            }
        }
        if let Some(why) = came {
            self.shared.stop.store(false, Ordering::SeqCst);
            self.pause(why)?;
        }
        if ended.is_some() {
            return Ok(Some(GpuEnd::ContextLost));
        }
        self.tell_holding(false)?;
        self.say(&BenchEvent::State(BenchState::Finished))?;
        Ok(None)
    }

    fn perform(&mut self, job: &Request) -> Result<(), Trouble> {
        match job {
            Request::Devices => {
                let devices = self.opener.devices().map_err(|error| Trouble::of(job, error))?;
                for device in devices {
                    self.say(&BenchEvent::Device(device))?;
                }
                return Ok(());
            }
            Request::Hold(hold) => {
                self.change(hold);
                self.take(job)?;
                return Ok(self.tell_holding(true)?);
            }
            _ => self.take(job)?,
        }
        let Self { held: Some(held), lookout, output, warm, .. } = self else { return Ok(()) };
        if let Some(lookout) = lookout.as_ref().filter(|_| !self.hold.beside_others) {
            lookout.begin();
        }
        let mut say = |event: BenchEvent| write(&mut *output, &event);
        let clock = || lookout.as_ref().and_then(Lookout::sm_mhz);
        let (facts, busy) = (&held.facts, &mut held.busy);
        let mut metered = Metered { machine: &mut *held.machine, facts, busy };
        let mut on = job::On { uuid: &held.uuid, machine: &mut metered, clock: &clock, warm };
        job::perform(job, &mut on, &mut say)
    }

    /// Takes note of how the device is to be taken; one that is held is given back where that forbids more than before.
    fn change(&mut self, hold: &Hold) {
        if let (Some(held), Some(bytes)) = (&mut self.held, hold.arena_bytes) {
            held.machine.set_cap(bytes);
        }
        let same = hold.regime == self.hold.regime && hold.beside_others == self.hold.beside_others;
        if !same {
            self.held = None;
        }
        if let Some(held) = &mut self.held {
            held.facts.picks.clone_from(&hold.picks);
        }
        self.hold = hold.clone();
    }

    /// Takes the device, unless it is held or somebody else is on it.
    fn take(&mut self, job: &Request) -> Result<(), Trouble> {
        if self.held.is_some() {
            return Ok(());
        }
        let eyes = self.opener.eyes();
        let lookout = eyes.map(|eyes| Lookout::new(eyes, Arc::clone(&self.shared.stop)));
        let look = || lookout.as_ref().map(Lookout::look).unwrap_or_default();
        let before = look();
        let pid = std::process::id();
        if let Some(why) = stranger(&before, &[pid]).filter(|_| !self.hold.beside_others) {
            return Err(Trouble::Away(why));
        }
        let opened = self.opener.open(&self.hold, &self.shared.stop);
        let Opened { uuid, machine } = opened.map_err(|error| Trouble::of(job, error))?;
        let after = look();
        let taken = before.free_bytes.zip(after.free_bytes);
        let context_bytes = taken.and_then(|(b, a)| b.checked_sub(a)).filter(|bytes| *bytes > 0);
        if let Some(lookout) = &lookout {
            lookout.know(own(pid, &before, &after));
        }
        let facts = DeviceFacts { picks: self.hold.picks.clone(), ..machine.facts().clone() };
        let (busy, images) = (Duration::ZERO, 0);
        self.held = Some(Holds { uuid, machine, facts, context_bytes, busy, images });
        self.lookout = lookout;
        Ok(())
    }

    /// Says what is held, if that is asked or images were loaded since.
    fn tell_holding(&mut self, asked: bool) -> io::Result<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let images = held.machine.images();
        if images.len() == held.images && !asked {
            return Ok(());
        }
        held.images = images.len();
        let (arena_bytes, arena_cap_bytes) = held.machine.arena();
        let holding = Holding {
            device: held.facts.clone(),
            uuid: held.uuid.clone(),
            context_bytes: held.context_bytes,
            arena_bytes,
            arena_cap_bytes,
            busy_ns: held.busy.as_nanos() as f64,
            images: images.into_iter().map(|image| (image.family, image.how)).collect(),
        };
        self.say(&BenchEvent::Holding(holding))
    }

    fn fail(&mut self, what: &str, error: MachineError) -> io::Result<()> {
        self.say(&BenchEvent::Failed(WorkerFailure { what: what.to_owned(), error }))
    }

    fn say(&mut self, event: &BenchEvent) -> io::Result<()> {
        write(&mut self.output, event)
    }
}

fn write(output: &mut impl Write, event: &BenchEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(event).map_err(io::Error::other)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests;
