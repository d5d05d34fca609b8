//! A recording that runs: the one owner of the journal, to which everything comes as events.

use std::io::{self, PipeWriter, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::mpsc::{Receiver, Sender};
use warpscope_probes::Frame;

use super::super::identity::{self, Checkout};
use super::super::output;
use super::inbox::Inbox;
use super::intake::Intake;
use super::program::{Program, shell_code};
use super::terminal::NOT_FOUND;
use super::{Event, Subject, relay, say, signals};
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::frames::source::this_machine;
use crate::commands::frames::{demand_gpu, is_complete};
use crate::commands::record::family::Family;
use crate::commands::record::remark as mark;
use crate::commands::record::run_log::{RunLog, Summary};
use crate::config::args;
use crate::io::sink::Recorder;
use crate::runs::samples::Scan;

/// How long after its start the recording of a short program waits for what is not known of it yet: commit, driver and GPUs.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a program was asked to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Nothing,
    Interrupted,
    /// By a second interrupt: what it started is not waited for either.
    Killed,
    /// It has ended.
    Ended,
}

/// A recording that runs.
pub(crate) struct Session {
    inbox: Inbox,
    sender: Sender<Event>,
    events: Receiver<Event>,
    interval: Duration,
    begun: Instant,
    /// What the program was asked so far.
    asked: Asked,
    _control: Box<dyn crate::io::source::Control>,
}

impl Session {
    /// Starts the frames; waits for them only where a GPU is required.
    pub(crate) async fn begin(
        options: &Options,
        inbox: Inbox,
        (sender, mut events): (Sender<Event>, Receiver<Event>),
    ) -> Result<Self> {
        let source = this_machine(options)?;
        let frames = sender.downgrade();
        let control = source.start(Arc::new(move |frame| {
            let Some(frames) = frames.upgrade() else { return false };
            frames.blocking_send(Event::Frame(Box::new(frame))).is_ok()
        }));
        let begun = Instant::now();
        if options.get(&args::REQUIRE_GPU) {
            demand_gpu(options, &first_frame(&mut events, begun + PATIENCE).await?)?;
        }
        let interval = options.get(&args::INTERVAL);
        Ok(Self {
            inbox,
            sender,
            events,
            interval,
            begun,
            asked: Asked::Nothing,
            _control: control,
        })
    }

    /// Starts the program at once, and records it until it has ended.
    pub(crate) async fn run(
        mut self,
        subject: Subject,
        recorder: Recorder,
        scan: Scan,
    ) -> Result<(Exit, Summary)> {
        let failed = |error: io::Error| CliError::Failed(format!("cannot record: {error}"));
        let (ended, ending) = io::pipe().map_err(failed)?;
        let command = subject.command();
        let program = Program::start(subject, &self.inbox, &self.sender);
        let family = program.as_ref().map_or_else(|_| Family::unknown(), Program::family);
        let mut log = RunLog::new(recorder, scan, family, identity::begun(command));
        let mut program = match program {
            Ok(program) => program,
            Err(error) => {
                say(&error);
                return Ok((Exit::Command(NOT_FOUND), log.end(Some(NOT_FOUND.into()))));
            }
        };
        if let Program::Process(..) = program {
            self.tell_ends();
        }
        self.identify();
        let output = program.output().map_err(failed)?;
        let out = Box::new(io::stdout());
        let intake = Intake::new(&mut self.inbox, output, out, ended, self.sender.clone());
        std::thread::Builder::new()
            .name("intake".to_owned())
            .spawn(move || intake.run())
            .map_err(failed)?;
        self.follow(&program, &mut log, ending).await;
        self.settle(&mut log).await;
        let status = program.status().map_err(failed)?;
        Ok((status.map_or(Exit::Fine, Exit::of), log.end(status.map(shell_code))))
    }

    /// Looks for the commit beside the program.
    fn identify(&self) {
        let sender = self.sender.downgrade();
        std::thread::spawn(move || {
            let found = Checkout::find();
            let _ = sender.upgrade()?.blocking_send(Event::Checkout(found));
            Some(())
        });
    }

    /// Where the points of a program that runs already can be sent.
    fn tell_ends(&self) {
        for (name, path) in self.inbox.variables() {
            output::note(format_args!("{name}={}", path.display()));
        }
    }

    /// Takes events until the program has ended and everything it said is written.
    async fn follow(&mut self, program: &Program, log: &mut RunLog, ending: PipeWriter) {
        let mut ending = Some(ending);
        while let Some(event) = self.events.recv().await {
            match event {
                Event::Frame(frame) => {
                    log.frame(*frame);
                    if program.is_gone() {
                        ending = None;
                    }
                }
                Event::Checkout(found) => log.checkout(found),
                Event::Lines(from, lines, read) => log.lines(from, &lines, read),
                Event::ReaderGone => program.end_like_a_pipe(),
                Event::Dropped(count) => log.damage(count, "longer than 1 MiB"),
                Event::Remark { text, answer } => mark::answer(answer, &log.remark(text)),
                Event::OutputEnded if matches!(program, Program::Input) => ending = None,
                Event::OutputEnded => {}
                Event::Ended if self.asked == Asked::Killed => ending = None,
                Event::Ended => {
                    self.asked = Asked::Ended;
                    // Open with a byte in it: others may still write.
                    let _ = ending.as_mut().map(|ending| ending.write(b"."));
                }
                Event::Signal(signal) => {
                    log.signal(signal);
                    if !self.pass(program, signal) {
                        ending = None;
                    }
                }
                Event::Drained { dropped, output, points } => {
                    log.damage(dropped, "longer than 1 MiB");
                    hand_on(output.filter(|_| matches!(program, Program::Child { .. })), points);
                    break;
                }
            }
        }
        drop(ending);
    }

    /// Passes a signal on to the program; false where nothing is to be waited for any more.
    fn pass(&mut self, program: &Program, signal: Signal) -> bool {
        let Program::Child { child, .. } = program else { return false };
        match (self.asked, signal) {
            (Asked::Ended, _) => return false,
            (Asked::Interrupted, Signal::INT) => {
                self.asked = Asked::Killed;
                signals::send(child, Signal::KILL);
            }
            (Asked::Nothing, Signal::INT) => {
                self.asked = Asked::Interrupted;
                signals::pass(child, signal);
                say("waiting for the program to end; Ctrl-C again kills it");
            }
            _ => signals::pass(child, signal),
        }
        true
    }

    /// After the end of a program: the frame behind its last points, where it was on a GPU, and what is not known of the run yet.
    async fn settle(&mut self, log: &mut RunLog) {
        let known = self.begun + PATIENCE;
        let frame = Instant::now() + self.interval + Duration::from_millis(500);
        loop {
            let end = match (log.is_identified(), log.waits()) {
                (true, false) => return,
                (true, true) => frame,
                (false, false) => known,
                (false, true) => known.max(frame),
            };
            match tokio::time::timeout_at(end.into(), self.events.recv()).await {
                Ok(Some(Event::Frame(frame))) => log.frame(*frame),
                Ok(Some(Event::Checkout(found))) => log.checkout(found),
                Ok(Some(Event::Signal(signal))) => return log.signal(signal),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

/// The first frame in which everything has answered, else the last one there was.
async fn first_frame(events: &mut Receiver<Event>, end: Instant) -> Result<Frame> {
    let mut first = Frame::default();
    while let Ok(Some(event)) = tokio::time::timeout_at(end.into(), events.recv()).await {
        match event {
            Event::Frame(frame) => first = *frame,
            Event::Signal(_) => return Err(CliError::failed("ended before the start")),
            _ => {}
        }
        if is_complete(&first) {
            break;
        }
    }
    Ok(first)
}

/// Leaves output and points of processes that outlive the recording to a relay.
fn hand_on(output: Option<OwnedFd>, points: Option<OwnedFd>) {
    let failed =
        |error: io::Error| say(&format!("processes of the program lose their output: {error}"));
    if let Some(output) = output {
        say("processes of the program still write; their output is passed on, no longer recorded");
        let _ = relay::start(output, Stdio::inherit()).map_err(failed);
    }
    if let Some(points) = points {
        let _ = relay::start(points, Stdio::null()).map_err(failed);
    }
}
