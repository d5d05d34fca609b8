//! `warpscope record FILE -- COMMAND`: a run of any program, its points and the machine around them.
//!
//! One owner: the thread that waits here has the journal; the program's output, its end, frames and signals come to it as events. The
//! program keeps its terminal on stdin and stderr; its stdout is a pipe that is read and passed on. A pseudo-terminal instead was rejected:
//! programs print other things to terminals, and the bytes would no longer be the ones written.

mod inbox;
mod intake;
mod ledger;
mod lines;
mod mark;
mod own;
mod program;

use std::io::{self, PipeWriter};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use warpscope_probes::Frame;

use super::exit::{CliError, Exit};
use super::identity;
use super::live::{demand_gpu, is_complete};
use super::options::Options;
use super::output;
use super::source::{AtEnd, open_source};
use crate::bench::journal::Record;
use crate::bench::points::Scan;
use crate::sink::{Holds, Limits, Recorder};
use inbox::Inbox;
use intake::Intake;
use ledger::{Ledger, Summary};
pub(super) use mark::run as mark;
use own::{Own, started};
use program::{Program, exit_of, shell_code};

/// Events that may wait for a slow disk.
const QUEUE: usize = 64;
/// How long the command waits for the first frame, which tells driver and GPUs.
const PATIENCE: Duration = Duration::from_secs(3);
/// What shells answer to a command that is not there.
const NOT_FOUND: u8 = 127;

/// What the owner of a recording hears.
enum Event {
    Frame(Box<Frame>),
    Lines(intake::From, Vec<String>),
    /// Lines longer than the limit.
    Dropped(u64),
    Remark {
        text: String,
        answer: Option<UnixStream>,
    },
    /// The program's output, or standard input, has ended.
    OutputEnded,
    /// The program has ended.
    Ended,
    /// Everything it said has been read.
    Drained {
        dropped: u64,
    },
    Signal(Signal),
}

/// Whose points are recorded.
enum Subject {
    /// A command that is started.
    Command(Vec<String>),
    /// A process that runs.
    Process { pid: u32, start: u64 },
    /// Lines on standard input.
    Input,
}

/// Whether the options ask for a run and not for frames.
pub(super) fn is_asked(options: &Options) -> bool {
    let record = &options.record;
    !record.command.is_empty() || record.attach.is_some() || record.stdin
}

/// Records a run until the program ends.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    let record = &options.record;
    let subject = subject(options)?;
    let scan = Scan::new(&record.parsers, record.pattern.as_deref()).map_err(CliError::Usage)?;
    let path = record.file.as_deref().unwrap_or(std::path::Path::new("")); // the operand is required
    let recorder = Recorder::open_as(Holds::Journal, path, Limits::default())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let inbox = Inbox::open(&options.env)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |error| CliError::Failed(format!("cannot wait for the program: {error}"));
    let (exit, summary) = runtime.map_err(failed)?.block_on(async {
        let (sender, events) = channel(QUEUE);
        watch_signals(&subject, &sender).map_err(failed)?;
        let mut session = Session::begin(options, inbox, (sender, events)).await?;
        session.start(options, subject, recorder, scan).await
    })?;
    report(&summary, path);
    super::history::remember(options, path);
    match summary.trouble {
        // The program's own end is what its caller waits for.
        Some(trouble) if exit == Exit::Fine => Err(CliError::Failed(trouble)),
        _ => Ok(exit),
    }
}

fn subject(options: &Options) -> Result<Subject, CliError> {
    let record = &options.record;
    let asked = [!record.command.is_empty(), record.attach.is_some(), record.stdin];
    if asked.into_iter().filter(|one| *one).count() > 1 {
        return Err(CliError::Usage(
            "name one of: a command after --, --attach, --stdin".to_owned(),
        ));
    }
    let output = &options.output;
    let for_frames = output.count.is_some() || output.duration.is_some() || output.redact;
    if for_frames || record.max_size.is_some() {
        return Err(CliError::Usage(
            "--once, --count, --duration, --redact and --max-size are for frames; a run ends with its \
             program and stays in one file"
                .to_owned(),
        ));
    }
    let Some(number) = record.attach else {
        return Ok(match &record.command[..] {
            [] => Subject::Input,
            command => Subject::Command(command.to_vec()),
        });
    };
    let process = u32::try_from(number).ok().and_then(|pid| Some((pid, started(pid)?)));
    let (pid, start) = process.ok_or_else(|| CliError::Usage(format!("no process {number}")))?;
    Ok(Subject::Process { pid, start })
}

fn report(summary: &Summary, path: &std::path::Path) {
    let damaged = match (&summary.first_damage, summary.damaged) {
        (Some(why), count) => format!("; {count} lines were no points, the first: {why}"),
        (None, _) => String::new(),
    };
    let samples = summary.samples;
    output::note(format_args!("warpscope: {samples} samples in {}{damaged}", path.display()));
}

/// The terminal sends its interrupt to the program too; other signals are passed on. Not the hang-up: `nohup` has it ignored, and a handler
/// would undo that.
fn watch_signals(subject: &Subject, sender: &Sender<Event>) -> io::Result<()> {
    for (kind, passed) in
        [(SignalKind::interrupt(), Signal::INT), (SignalKind::terminate(), Signal::TERM)]
    {
        let mut signals = signal(kind)?;
        let sender = sender.downgrade();
        let ignored = matches!(subject, Subject::Command(_)) && passed == Signal::INT;
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let Some(sender) = sender.upgrade() else { return };
                if !ignored {
                    let _ = sender.send(Event::Signal(passed)).await;
                }
            }
        });
    }
    Ok(())
}

/// A recording that runs.
struct Session {
    inbox: Inbox,
    sender: Sender<Event>,
    events: Receiver<Event>,
    first: Option<Frame>,
    _control: Box<dyn crate::source::Control>,
}

impl Session {
    /// Starts the frames and waits for the first that says something.
    async fn begin(
        options: &Options,
        inbox: Inbox,
        (sender, mut events): (Sender<Event>, Receiver<Event>),
    ) -> Result<Self, CliError> {
        let source = open_source(options, AtEnd::Stop)?;
        let frames = sender.downgrade();
        let control = source.start(Arc::new(move |frame| {
            let Some(frames) = frames.upgrade() else { return false };
            frames.blocking_send(Event::Frame(Box::new(frame))).is_ok()
        }));
        let end = Instant::now() + PATIENCE;
        let mut first = None;
        while let Ok(Some(event)) = tokio::time::timeout_at(end.into(), events.recv()).await {
            if let Event::Frame(frame) = event {
                let complete = is_complete(&frame);
                first = Some(*frame);
                if complete {
                    break;
                }
            }
        }
        Ok(Self { inbox, sender, events, first, _control: control })
    }

    async fn start(
        &mut self,
        options: &Options,
        subject: Subject,
        recorder: Recorder,
        scan: Scan,
    ) -> Result<(Exit, Summary), CliError> {
        let failed = |error: io::Error| CliError::Failed(format!("cannot record: {error}"));
        demand_gpu(options, self.first.as_ref().unwrap_or(&Frame::default()))?;
        let mut run = identity::here(match &subject {
            Subject::Command(words) => words.clone(),
            Subject::Process { pid, .. } => identity::command_of(*pid),
            Subject::Input => Vec::new(),
        });
        if let Some(frame) = &self.first {
            identity::add_machine(&mut run, frame);
        }
        let (ended, ending) = io::pipe().map_err(failed)?;
        let mut program = match subject {
            Subject::Command(words) => Program::start(&words, &self.inbox, &self.sender),
            Subject::Process { pid, start } => {
                self.tell_ends();
                Ok(Program::Process(pid, start))
            }
            Subject::Input => Ok(Program::Input),
        };
        let own = program.as_ref().map_or_else(|_| Own::unknown(), Program::family);
        let mut ledger = Ledger::new(recorder, scan, own);
        // Told where it happened; a full disk may have room again when the points come.
        let _ = ledger.write(&Record::Run(Box::new(run)));
        if let Some(first) = self.first.take() {
            ledger.frame(first);
        }
        let program = match &mut program {
            Ok(program) => program,
            Err(error) => {
                output::note(format_args!("warpscope: {error}"));
                return Ok((Exit::Command(NOT_FOUND), ledger.end(Some(NOT_FOUND.into()))));
            }
        };
        let output = program.output().map_err(failed)?;
        // What the program writes is between it and the terminal, byte by byte.
        let out = Box::new(io::stdout());
        let sender = self.sender.clone();
        let intake = Intake::new(&mut self.inbox, output, out, ended.into(), sender);
        std::thread::Builder::new()
            .name("intake".to_owned())
            .spawn(move || intake.run())
            .map_err(failed)?;
        self.follow(program, &mut ledger, ending).await;
        self.last_frame(&mut ledger, options.source.interval).await;
        let status = program.status().map_err(failed)?;
        Ok((status.map_or(Exit::Fine, exit_of), ledger.end(status.map(shell_code))))
    }

    /// Where the points of a program that runs already can be sent.
    fn tell_ends(&self) {
        for (name, path) in self.inbox.variables() {
            output::note(format_args!("{name}={}", path.display()));
        }
    }

    /// Takes events until the program has ended and everything it said is written.
    async fn follow(&mut self, program: &Program, ledger: &mut Ledger, ending: PipeWriter) {
        let mut ending = Some(ending);
        while let Some(event) = self.events.recv().await {
            match event {
                Event::Frame(frame) => {
                    ledger.frame(*frame);
                    if program.is_gone() {
                        ending = None;
                    }
                }
                Event::Lines(from, lines) => ledger.lines(from, &lines),
                Event::Dropped(count) => ledger.damage(count, "longer than 1 MiB"),
                Event::Remark { text, answer } => mark::answer(answer, &ledger.remark(text)),
                Event::OutputEnded if matches!(program, Program::Input) => ending = None,
                Event::OutputEnded => {}
                Event::Ended => ending = None,
                Event::Signal(signal) => {
                    if !program.pass(signal) {
                        ending = None;
                    }
                }
                Event::Drained { dropped } => {
                    if dropped > 0 {
                        ledger.damage(dropped, "longer than 1 MiB");
                    }
                    break;
                }
            }
        }
        drop(ending);
    }

    /// Where the program was on a GPU, its last points wait for the frame after them.
    async fn last_frame(&mut self, ledger: &mut Ledger, interval: Duration) {
        let end = Instant::now() + interval + Duration::from_millis(500);
        while ledger.waits()
            && let Ok(Some(event)) = tokio::time::timeout_at(end.into(), self.events.recv()).await
        {
            if let Event::Frame(frame) = event {
                ledger.frame(*frame);
            }
        }
    }
}
