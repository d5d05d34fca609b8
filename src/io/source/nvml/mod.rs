//! NVIDIA's management library (NVML) in a child process: where it crashes or calls `exit`, this program goes on, and where it
//! hangs inside the kernel, this program can still be ended.
//!
//! The parent sends one line of JSON per poll, the child answers with another, which holds what changed. A child that ends, or is not understood, is replaced
//! after a rest; meanwhile the last values are shown as late. One that hangs is not replaced: the kernel does not end it.

mod changes;

use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use warpscope_probes::Severity;
use warpscope_probes::catalogue::enrich;
use warpscope_probes::driver::DriverState;
use warpscope_probes::provider::{Context, GpuSection, Provider, Section};

use self::changes::Changes;
use super::local::{Gpus, Ready, Update};
use super::{make_late, notice};
use crate::io::memory::Startup;
use crate::worker::children::Companion;
use crate::worker::process::ARGUMENT;
use crate::worker::{Lines, signal_name, write};

/// The argument of a worker that makes it the one that asks NVML.
pub const NVML_ARGUMENT: &str = "--nvml";

/// Longest request and longest answer: thousands of processes on hundreds of instances.
const REQUEST_MAX: usize = 4 << 10;
const ANSWER_MAX: usize = 16 << 20;
/// Shortest and longest rest before the next child; doubled each time.
const REST: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How long a child has to serve before the next rest is a short one again.
const STEADY: Duration = Duration::from_secs(60);
/// How long a child that closed its output is waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// The notice that says why there is no answer.
const CRASHED: &str = "driver.crashed";
/// Exit code of a panic.
const PANIC: i32 = 101;

#[derive(Debug, Serialize, Deserialize)]
struct Request {
    since_last_s: f64,
    #[serde(default)]
    brief: bool,
}

/// The command that starts the child: this very program, also when its file was replaced meanwhile. In a process group of its own,
/// so that Ctrl-C reaches the parent only.
pub fn nvml_command(library: Option<&Path>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("warpscope").args([ARGUMENT, NVML_ARGUMENT]).args(library);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    command
}

/// The child: polls the provider and answers, until the input ends.
pub fn serve_nvml(
    provider: &mut dyn Provider,
    input: impl Read,
    mut output: impl Write,
) -> io::Result<()> {
    let mut sent = GpuSection::default();
    let mut startup = Startup::default();
    for request in Lines::new(BufReader::new(input), REQUEST_MAX) {
        let request: Request = request.map_err(io::Error::other)?;
        let since_last = Duration::try_from_secs_f64(request.since_last_s).unwrap_or_default();
        let context = Context { since_last, brief: request.brief, ..Context::default() };
        let Section::Gpu(section) = provider.poll(&context) else {
            return Err(io::Error::other(format!("{} knows no GPUs", provider.name())));
        };
        write(&mut output, &Changes::between(&sent, &section))?;
        sent = *section;
        startup.passed();
    }
    Ok(())
}

/// The parent's side.
pub struct NvmlProcess {
    command: Box<dyn Fn() -> Command + Send>,
    up: Option<Up>,
    /// What became of the last child.
    trouble: String,
    /// Time until the next child.
    wait: Duration,
    /// How long to rest after the next one that ends.
    rest: Duration,
}

impl NvmlProcess {
    /// Starts the first child, and asks it at once. The thread that calls this has to live as long as the result.
    pub fn start(command: impl Fn() -> Command + Send + 'static) -> io::Result<Self> {
        let up = Up::start(&mut command())?;
        Ok(Self {
            command: Box::new(command),
            up: Some(up),
            trouble: String::new(),
            wait: Duration::ZERO,
            rest: REST.0,
        })
    }

    /// The next answer, or what went wrong.
    fn answer(&mut self) -> Result<Update, String> {
        let Some(up) = &mut self.up else { return Err(self.trouble.clone()) };
        let changes = up.answer()?;
        if up.served >= STEADY {
            self.rest = REST.0;
        }
        let is_first = !std::mem::replace(&mut up.has_answered, true);
        Ok(Box::new(move |last| {
            if is_first {
                *last = GpuSection::default();
            }
            changes.apply(last);
            // Not at first sight: the catalogue takes milliseconds to read.
            if !is_first {
                last.gpus.iter_mut().for_each(enrich);
            }
        }))
    }

    /// Makes the last values late, and says why.
    fn without_answer(&self) -> Update {
        let (trouble, seconds) = (self.trouble.clone(), self.wait.as_secs_f64().ceil());
        Box::new(move |last| {
            make_late(&mut last.gpus, last.processes.iter_mut().map(|process| &mut process.usage));
            if matches!(last.driver.status, DriverState::Starting | DriverState::Failed { .. }) {
                last.driver.status = DriverState::Failed { error: trouble.clone() };
            }
            last.notices.retain(|notice| notice.id != CRASHED);
            let what = format!("{trouble}; restarting it in {seconds} s.");
            let remedy = "Values shown dim are the last known. See what the kernel says: sudo dmesg | grep -iE 'nvrm|xid|nvidia-ml'; \
                         if the driver was just replaced, this resolves on its own or after a reboot.";
            last.notices.push(notice(CRASHED, Severity::Error, what, remedy));
        })
    }

    fn start_again(&mut self, trouble: String) {
        self.up = None;
        self.trouble = trouble;
        self.wait = self.rest;
        self.rest = (self.rest * 2).min(REST.1);
    }
}

impl Gpus for NvmlProcess {
    fn ask(&mut self, context: &Context) {
        self.wait = self.wait.saturating_sub(context.since_last);
        if self.up.is_none() && self.wait.is_zero() {
            match Up::start(&mut (self.command)()) {
                Ok(up) => self.up = Some(up),
                Err(why) => self.start_again(not_started(why)),
            }
        }
        if let Some(up) = &mut self.up {
            up.ask(context);
        }
    }

    fn ready(&self) -> Ready<'_> {
        self.up.as_ref().map_or(Ready::Now, |up| Ready::Readable(up.readable.as_fd()))
    }

    fn take(&mut self) -> Update {
        if self.up.is_none() {
            return self.without_answer();
        }
        self.answer().unwrap_or_else(|trouble| {
            self.start_again(trouble);
            self.without_answer()
        })
    }
}

/// A child that runs. Dropped, its input ends and it with that; it is not waited for.
struct Up {
    child: Child,
    _companion: Companion,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>, Changes<'static>>,
    /// The other end of what they come from.
    readable: OwnedFd,
    has_answered: bool,
    /// Whether it owes an answer.
    asked: bool,
    served: Duration,
}

impl Up {
    fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let companion = Companion::new(child.id());
        let readable = answers.as_fd().try_clone_to_owned()?;
        let answers = Lines::new(BufReader::new(answers), ANSWER_MAX);
        let mut up = Self {
            child,
            _companion: companion,
            requests,
            answers,
            readable,
            has_answered: false,
            asked: false,
            served: Duration::ZERO,
        };
        up.ask(&Context::default());
        Ok(up)
    }

    /// Asks, unless an answer is owed already.
    fn ask(&mut self, context: &Context) {
        self.served += context.since_last;
        if !std::mem::replace(&mut self.asked, true) {
            let request =
                Request { since_last_s: context.since_last.as_secs_f64(), brief: context.brief };
            // A child that has ended says so when its answer is read.
            write(&mut self.requests, &request).ok();
        }
    }

    fn answer(&mut self) -> Result<Changes<'static>, String> {
        self.asked = false;
        match self.answers.next() {
            Some(Ok(changes)) => Ok(changes),
            Some(Err(why)) => Err(self.garbled(&why.reason)),
            None => Err(self.ended()),
        }
    }

    fn garbled(&mut self, why: &str) -> String {
        self.child.kill().ok();
        self.status();
        format!("The process that asks NVIDIA's management library is not understood ({why})")
    }

    fn ended(&mut self) -> String {
        match self.status() {
            Some(status) => sentence(status),
            None => {
                self.child.kill().ok();
                "NVIDIA's management library stopped answering".to_owned()
            }
        }
    }

    /// How it ended, unless it does not end in time: one that hangs inside the kernel would be waited for for ever.
    fn status(&mut self) -> Option<ExitStatus> {
        const LOOK: Duration = Duration::from_millis(5);
        let end = Instant::now() + FAREWELL;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => thread::sleep(LOOK),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

fn not_started(why: io::Error) -> String {
    format!("The process that asks NVIDIA's management library did not start ({why})")
}

fn sentence(status: ExitStatus) -> String {
    let library = "NVIDIA's management library";
    match (status.signal(), status.code()) {
        (Some(signal @ (libc::SIGKILL | libc::SIGTERM)), _) => {
            format!("The process that asks {library} was killed ({})", signal_name(signal))
        }
        (Some(signal), _) => format!("{library} crashed ({})", signal_name(signal)),
        (None, Some(PANIC)) => format!("warpscope failed while it asked {library}"),
        (None, code) => {
            format!("{library} ended its process with code {}", code.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests;
