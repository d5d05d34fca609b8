//! A worker process: one job after another on its device, until it is told to end.
//!
//! A thread reads the commands, so that what ends work is handled between two launches and not behind the job it ends. Every job ends with one
//! `finished`, whatever became of it: the parent counts on that.

use std::io::{self, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use warpscope_kernels::gpu::MachineError;

use super::protocol::{Command, Hello, LINE_MAX, Lines, WorkerEvent, WorkerFailure, write};

/// Sends an event to the parent.
pub type Emit<'a> = dyn FnMut(WorkerEvent) -> io::Result<()> + 'a;

/// Why a job ended early.
#[derive(Debug)]
pub enum Trouble {
    /// The machine did not do something.
    Machine {
        /// What, for a sentence.
        what: String,
        /// Why not.
        error: MachineError,
    },
    /// A foreign process is on the device.
    Contention(String),
    /// Nobody reads the events.
    Output(io::Error),
}

impl Trouble {
    /// A job that failed as a whole.
    pub(super) fn of(job: &Command, error: MachineError) -> Self {
        Self::Machine { what: job.to_string(), error }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// A device that a worker computes on.
pub trait Device {
    /// The worker's first line.
    fn hello(&mut self) -> Hello;

    /// Does a job, acquiring the device where it must.
    fn perform(&mut self, job: &Command, emit: &mut Emit<'_>) -> Result<(), Trouble>;

    /// Gives everything back.
    fn release(&mut self);

    /// How long the device was kept busy since this was last asked.
    fn take_busy(&mut self) -> Duration;

    /// Whether only a new process can use the device again.
    fn is_lost(&self) -> bool;
}

/// How a worker ended that ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerEnd {
    /// Told to, or its parent is gone.
    Told,
    /// The context is lost, as it said: only a new process helps.
    ContextLost,
}

/// Raised by commands that end work, and by contention; every launch checks it.
#[derive(Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    /// How often work was ended by a command.
    epoch: Arc<AtomicU64>,
    worker: Thread,
}

impl Stop {
    /// For a worker on this thread.
    pub(super) fn new() -> Self {
        Self { flag: Arc::default(), epoch: Arc::default(), worker: thread::current() }
    }

    /// The flag itself, for what runs on the device.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    /// Whether work is to end.
    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// Lets work go on.
    pub fn lower(&self) {
        self.flag.store(false, Ordering::SeqCst);
    }

    /// Sleeps so long, or until raised.
    pub fn wait(&self, time: Duration) {
        let begin = Instant::now();
        while !self.is_raised()
            && let Some(rest) = time.checked_sub(begin.elapsed()).filter(|rest| !rest.is_zero())
        {
            thread::park_timeout(rest);
        }
    }

    fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Reads commands until the input ends, which means that the parent is gone.
    fn listen(&self, input: impl Read, queue: &Sender<Received>) {
        let quit = std::iter::once(Ok(Command::Quit));
        for command in Lines::new(BufReader::new(input), LINE_MAX).chain(quit) {
            if command.as_ref().is_ok_and(Command::is_urgent) {
                self.epoch.fetch_add(1, Ordering::SeqCst);
                self.flag.store(true, Ordering::SeqCst);
                self.worker.unpark();
            }
            let last = command == Ok(Command::Quit);
            let command = command.map_err(|error| error.to_string());
            if queue.send(Received { epoch: self.epoch(), command }).is_err() || last {
                return;
            }
        }
    }
}

/// A command on its way from the thread that reads to the one that works.
struct Received {
    epoch: u64,
    command: Result<Command, String>,
}

/// Serves a device until told to end, or its context is lost. Commands come as lines on `input`, whose end means that the parent is gone;
/// events go to `output`.
pub fn run_worker<D: Device>(
    device: impl FnOnce(Stop) -> D,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> io::Result<WorkerEnd> {
    let stop = Stop::new();
    let (sender, queue) = channel();
    let reader = stop.clone();
    thread::spawn(move || reader.listen(input, &sender));
    Worker { device: device(stop.clone()), output, stop }.run(&queue)
}

struct Worker<D, W> {
    device: D,
    output: W,
    stop: Stop,
}

impl<D: Device, W: Write> Worker<D, W> {
    fn run(&mut self, queue: &Receiver<Received>) -> io::Result<WorkerEnd> {
        let hello = self.device.hello();
        self.emit(WorkerEvent::Hello(hello))?;
        while let Ok(Received { epoch, command }) = queue.recv() {
            let current = epoch == self.stop.epoch();
            // The newest of several commands that end work lets it begin again.
            if current && command.as_ref().is_ok_and(Command::is_urgent) {
                self.stop.lower();
            }
            match command {
                Err(why) => self.fail("a line of the parent", MachineError::Refused { why })?,
                Ok(Command::Quit) => break,
                Ok(Command::Stop) => {}
                Ok(Command::Pause { why }) => self.pause(why)?,
                Ok(job) if !current => {
                    self.fail(&job.to_string(), MachineError::Stopped)?;
                    self.emit(WorkerEvent::Finished { busy_ns: 0.0 })?;
                }
                Ok(job) => {
                    self.work(&job)?;
                    if self.device.is_lost() {
                        return Ok(WorkerEnd::ContextLost);
                    }
                    let busy_ns = self.device.take_busy().as_nanos() as f64;
                    self.emit(WorkerEvent::Finished { busy_ns })?;
                }
            }
        }
        Ok(WorkerEnd::Told)
    }

    fn work(&mut self, job: &Command) -> io::Result<()> {
        self.emit(WorkerEvent::Started)?;
        let output = &mut self.output;
        match self.device.perform(job, &mut |event| write(output, &event)) {
            Ok(()) => Ok(()),
            Err(Trouble::Output(error)) => Err(error),
            Err(Trouble::Machine { what, error }) => self.fail(&what, error),
            Err(Trouble::Contention(why)) => self.pause(why),
        }
    }

    fn pause(&mut self, why: String) -> io::Result<()> {
        self.device.release();
        self.emit(WorkerEvent::Paused { why })
    }

    fn fail(&mut self, what: &str, error: MachineError) -> io::Result<()> {
        self.emit(WorkerEvent::Failed(WorkerFailure { what: what.to_owned(), error }))
    }

    fn emit(&mut self, event: WorkerEvent) -> io::Result<()> {
        write(&mut self.output, &event)
    }
}
