//! `warpscope record FILE -- COMMAND`: a run of any program, its points and the machine around them.
//!
//! The program starts at once; its commit, driver and GPUs are found out beside it. One owner: the thread that waits here has the journal; the
//! program's output, its end, frames and signals come to it as events. The program keeps its terminal on stdin and stderr; its stdout is a
//! terminal of its own that is read and passed on byte by byte. A pipe was rejected: most programs hold kilobytes back from a pipe, and their
//! points would come long after they were measured.

mod cpu;
mod family;
pub(crate) mod frames;
mod inbox;
mod intake;
mod lines;
mod port;
mod program;
mod relay;
pub(crate) mod remark;
mod run_log;
mod session;
mod signals;
mod terminal;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use rustix::process::Signal;
use tokio::sync::mpsc::channel;
use warpscope_probes::Frame;

use super::identity::{self, Checkout};
use super::output;
use crate::commands::cli::{
    Args, CONFIG_FILE, CliError, CommandSpec, Exit, FLEET, HOSTS, LIVE, NAMED_GPUS, Options, Result,
};
use crate::commands::record::family::started;
use crate::commands::record::run_log::Summary;
use crate::config::{Layer, args};
use crate::io::sink::{Holds, Limits, Recorder};
use crate::runs::samples::Scan;
use inbox::Inbox;
pub(crate) use inbox::RUNTIME;
pub(crate) use relay::{ARGUMENT as RELAY, run as relay};
use session::Session;
pub(crate) use terminal::{ARGUMENT as LAUNCH, launch};

const REPLAY: Args = &[&args::SOURCE, &args::SPEED, &args::START];
const FRAMES: Args =
    &[&args::ONCE, &args::COUNT, &args::DURATION, &args::MAX_SIZE, &args::KEEP, &args::REDACT];
/// Options that mean nothing to a run: its samples come from this machine, into one file.
const FRAMES_ONLY: &[Args] = &[FRAMES, REPLAY, NAMED_GPUS, HOSTS, FLEET];
/// Options that mean nothing to frames.
const RUN_ONLY: &[Args] = &[&[&args::PARSERS, &args::PATTERN, &args::KEEP_IN_HISTORY]];

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "record",
    about: "Record frames, or run a program and record its samples",
    more: "Every complete line of a recording is readable, however the program ends. A full disk is reported, and recording continues when there is space again. Files are created for their owner only.\n\
           With a program after --, its exit code is kept and its output is passed through unchanged, and lines such as name=gemm m=16 dtype=bf16 t_us=41.3 are recorded with the state of the GPU at that time. The program may also write such lines to the FIFO in $WARPSCOPE_POINTS or to the sockets in $WARPSCOPE_POINTS_DATAGRAM and $WARPSCOPE_POINTS_STREAM. Its stdout is a pseudo-terminal, so that lines arrive when they are printed; TERM=dumb and NO_COLOR=1 are set where the output of record is no terminal.\n\
           The program starts at once; commit, driver and GPUs are determined while it runs, without running git. Signals are passed on, and a second Ctrl-C kills it. Output of processes the program leaves behind is recorded for 10 s more, then passed through unrecorded; Ctrl-C ends the 10 s.",
    args: &[
        &[&args::FILE],
        FRAMES,
        &[&args::REQUIRE_GPU],
        &[&args::ATTACH, &args::STDIN],
        &[&args::PARSERS, &args::PATTERN, &args::KEEP_IN_HISTORY, &args::COMMAND],
        REPLAY,
        NAMED_GPUS,
        LIVE,
        HOSTS,
        FLEET,
        CONFIG_FILE,
    ],
    examples: &[
        ("record run.jsonl --duration 10m", "ten minutes"),
        ("record run.jsonl -- python tune.py", "a program and its samples"),
        (
            "record run.jsonl --parse triton,vllm -- python bench.py",
            "also recognize the output of these tools",
        ),
        ("record run.jsonl --max-size 64MiB --keep 3", "at most four files of 64 MiB"),
        ("record clean.jsonl --source run.jsonl --speed 1000 --redact", "a redacted copy to share"),
        ("record case.jsonl --once --redact", "one frame to attach to a bug report"),
    ],
    run,
    ..CommandSpec::BASE
};

/// When lines were read: they may wait for a slow disk.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    /// Milliseconds since 1970.
    ms: u64,
}

impl Moment {
    fn now() -> Self {
        Self { at: Instant::now(), ms: identity::now_ms() }
    }
}

/// Events that may wait for a slow disk.
const QUEUE: usize = 64;
/// What the owner of a recording hears.
enum Event {
    Frame(Box<Frame>),
    /// What is checked out in the working folder.
    Checkout(Checkout),
    Lines(port::From, Vec<String>, Moment),
    /// Lines longer than the limit.
    Dropped(u64),
    Remark {
        text: String,
        answer: Option<UnixStream>,
    },
    /// Nobody reads the output that is passed on.
    ReaderGone,
    /// The program's output, or standard input, has ended.
    OutputEnded,
    /// The program has ended.
    Ended,
    /// Everything it said has been read.
    Drained {
        dropped: u64,
        /// Its output, where other processes may still write there.
        output: Option<OwnedFd>,
        /// Its points, likewise.
        points: Option<OwnedFd>,
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

impl Subject {
    /// What was started.
    fn command(&self) -> Vec<String> {
        match self {
            Self::Command(words) => words.clone(),
            Self::Process { pid, .. } => identity::command_of(*pid),
            Self::Input => Vec::new(),
        }
    }
}

/// Records frames until stopped, or a run until the program ends.
fn run(options: &Options) -> Result<Exit> {
    if asks_for_a_run(options) {
        let why = "applies to frames; a run is recorded on this machine, ends with its program and \
                   stays in one file";
        refuse(FRAMES_ONLY, why, options)?;
        return record_run(options);
    }
    let why = "applies to a run: name a program after --, or --attach or --stdin";
    refuse(RUN_ONLY, why, options)?;
    frames::run(options)
}

/// An error where the command line has one of these options.
fn refuse(all: &[Args], why: &str, options: &Options) -> Result<()> {
    let mut given =
        options.settings.iter().filter(|(.., layer)| *layer == Layer::CommandLine).map(|one| one.0);
    let is_refused = |spec: &_| all.iter().copied().flatten().any(|arg| arg.spec() == *spec);
    match given.find(is_refused) {
        Some(spec) => Err(CliError::Usage(format!("--{} {why}", spec.name()))),
        None => Ok(()),
    }
}

/// Whether the options ask for a run and not for frames.
fn asks_for_a_run(options: &Options) -> bool {
    !options.get(&args::COMMAND).is_empty()
        || options.get(&args::ATTACH).is_some()
        || options.get(&args::STDIN)
}

/// Records a run until the program ends.
fn record_run(options: &Options) -> Result<Exit> {
    let subject = subject(options)?;
    let (parsers, pattern) = (options.get(&args::PARSERS), options.get(&args::PATTERN));
    let scan = Scan::new(&parsers, pattern.as_deref()).map_err(CliError::Usage)?;
    let path = &options.get(&args::FILE);
    let recorder =
        Recorder::open_as(Holds::RunLog, path, Limits::default()).map_err(CliError::usage)?;
    let inbox = Inbox::open(&options.env, path)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failed = |error| CliError::Failed(format!("cannot wait for the program: {error}"));
    let (exit, summary) = runtime.map_err(failed)?.block_on(async {
        let (sender, events) = channel(QUEUE);
        signals::watch(&sender).map_err(failed)?;
        let session = Session::begin(options, inbox, (sender, events)).await?;
        session.run(subject, recorder, scan).await
    })?;
    report(&summary, path);
    super::history::remember(options, path);
    match summary.trouble {
        // The program's own end is what its caller waits for.
        Some(trouble) if exit == Exit::Fine => Err(CliError::Failed(trouble)),
        _ => Ok(exit),
    }
}

fn subject(options: &Options) -> Result<Subject> {
    let (command, attach) = (options.get(&args::COMMAND), options.get(&args::ATTACH));
    let asked = [!command.is_empty(), attach.is_some(), options.get(&args::STDIN)];
    if asked.into_iter().filter(|one| *one).count() > 1 {
        return Err(CliError::usage("name only one of: a command after --, --attach, --stdin"));
    }
    let Some(number) = attach else {
        return Ok(if command.is_empty() { Subject::Input } else { Subject::Command(command) });
    };
    let process = u32::try_from(number).ok().and_then(|pid| Some((pid, started(pid)?)));
    let (pid, start) = process.ok_or_else(|| CliError::Usage(format!("no process {number}")))?;
    Ok(Subject::Process { pid, start })
}

fn report(summary: &Summary, path: &std::path::Path) {
    let damaged = match (&summary.first_damage, summary.damaged) {
        (Some(why), count) => format!("; {count} lines were not valid samples, the first: {why}"),
        (None, _) => String::new(),
    };
    let lost = match summary.lost {
        0 => String::new(),
        count => format!("; {count} more could not be written"),
    };
    say(&format!("{} samples in {}{lost}{damaged}", summary.samples, path.display()));
}

/// A line on stderr, where there still is one: a terminal that went away is no reason to lose the end of a journal.
fn say(text: &str) {
    output::note(format_args!("warpscope: {text}"));
}
