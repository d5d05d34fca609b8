//! `warpscope record FILE -- COMMAND`: a run of any program, its points and the machine around them.
//!
//! The program starts at once; its commit, driver and GPUs are found out beside it. One owner: the thread that waits here has the journal; the
//! program's output, its end, frames and signals come to it as events. The program keeps its terminal on stdin and stderr; its stdout is a
//! pipe that is read and passed on. A pseudo-terminal instead was rejected: programs print other things to terminals, and the bytes would no
//! longer be the ones written.

mod family;
pub(crate) mod frames;
mod inbox;
mod intake;
mod lines;
mod program;
mod relay;
mod remark;
mod run_log;
mod session;
mod signals;

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use tokio::sync::mpsc::channel;
use warpscope_probes::Frame;

use super::identity::{self, Checkout};
use super::output;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::record::family::started;
pub(crate) use crate::commands::record::remark::run as mark;
use crate::commands::record::run_log::Summary;
use crate::io::sink::{Holds, Limits, Recorder};
use crate::runs::points::Scan;
use inbox::Inbox;
pub(crate) use relay::{ARGUMENT as RELAY, run as relay};
use session::Session;

/// Events that may wait for a slow disk.
const QUEUE: usize = 64;
/// What the owner of a recording hears.
enum Event {
    Frame(Box<Frame>),
    /// What is checked out in the working folder.
    Checkout(Checkout),
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

/// Whether the options ask for a run and not for frames.
pub(crate) fn is_asked(options: &Options) -> bool {
    let record = &options.record;
    !record.command.is_empty() || record.attach.is_some() || record.stdin
}

/// Records a run until the program ends.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
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
