//! A worker as a process: started, written to, read and killed as its [`Supervisor`] decides.

use std::env;
use std::future::poll_fn;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::pin::pin;
use std::process::{self, ExitStatus, Stdio};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{timeout, timeout_at};

use super::children::Companion;
use super::cpu::CpuOptions;
use super::ending::{Ending, telling};
use super::protocol::{Command, LINE_MAX, WorkerEvent, next_line, parse, to_line};
use super::supervisor::{Action, Death, Event, Supervisor};

/// How much is kept of what it says on stderr.
const WORDS_MAX: usize = 16 * 1024;
/// How long a child that was killed or told to end is waited for: one that hangs inside the driver cannot be ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// The GPUs that CUDA may use.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// The argument that makes this program a worker.
pub const ARGUMENT: &str = "__worker";
/// The arguments of a worker that say which kind of device it serves.
pub const CPU_ARGUMENT: &str = "--cpu";
/// See [`CPU_ARGUMENT`].
pub const GPU_ARGUMENT: &str = "--gpu";

/// A device that a worker serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerTarget {
    /// The CPU, and what is measured on it.
    Cpu(CpuOptions),
    /// The GPU with this UUID.
    Gpu(String),
    /// No GPU in particular, to list them.
    AnyGpu,
}

impl WorkerTarget {
    /// The command that starts its worker, in a process group of its own, so that Ctrl-C reaches the parent only.
    pub fn worker(&self, exe: &Path) -> process::Command {
        let mut command = process::Command::new(exe);
        command.arg(ARGUMENT);
        match self {
            Self::Cpu(options) => command.arg(CPU_ARGUMENT).args(options.arguments()),
            Self::Gpu(uuid) => {
                command.args([GPU_ARGUMENT, uuid]);
                // What the user, or a scheduler of jobs, allows is not widened.
                if env::var_os(VISIBLE).is_none() {
                    command.env(VISIBLE, uuid);
                }
                &mut command
            }
            Self::AnyGpu => command.arg(GPU_ARGUMENT),
        };
        command.env("CUDA_MODULE_LOADING", "LAZY");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        command
    }
}

/// What comes of the commands sent to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A job was sent: what follows is about it.
    Sent(Command),
    /// An event of the worker.
    Event(Box<WorkerEvent>),
    /// The worker died.
    Died(Death),
    /// A job gave way to another process, and will be sent again: what it has said counts for nothing.
    Retry(Command),
    /// These jobs were not done, or not to their end, because of another process.
    Left {
        /// Who is on the device.
        why: String,
        /// The jobs.
        jobs: Vec<Command>,
    },
    /// Every command is finished, or will never be.
    Idle,
}

/// What reaches the supervisor.
enum Inbound {
    /// An event, from the worker of this number, or from outside.
    Event(Option<u64>, Event),
    /// No more commands will come.
    Closed,
}

/// Runs the workers of a device until no more commands can come and all are finished. Passes on every event and every death in their order;
/// starts another worker where the supervisor says so. Dropped, it ends the worker's input, and with it the worker.
pub async fn supervise(
    start: impl Fn() -> process::Command,
    supervisor: Supervisor,
    mut commands: UnboundedReceiver<Command>,
    mut update: impl FnMut(Update),
) {
    let (sender, mut inbox) = unbounded_channel();
    let outside = sender.clone();
    let forward = tokio::spawn(async move {
        while let Some(command) = commands.recv().await {
            outside.send(Inbound::Event(None, Event::Command(command))).ok();
        }
        outside.send(Inbound::Closed).ok();
    });
    let mut run =
        Run { supervisor, start: &start, sender, begun: Instant::now(), up: None, count: 0 };
    let mut open = true;
    while open || !run.supervisor.is_idle() {
        let event = match run.next(&mut inbox).await {
            Some(Inbound::Event(of, event)) if of.is_none_or(|of| of == run.count) => event,
            Some(Inbound::Event(..)) => continue,
            Some(Inbound::Closed) => {
                open = false;
                continue;
            }
            None => Event::Tick,
        };
        run.take(event, &mut update).await;
    }
    forward.abort();
    run.part().await;
}

/// A child that runs.
struct Up {
    stdin: Option<ChildStdin>,
    kill: UnboundedSender<()>,
}

struct Run<'a, S> {
    supervisor: Supervisor,
    start: &'a S,
    sender: UnboundedSender<Inbound>,
    begun: Instant,
    up: Option<Up>,
    /// Children so far.
    count: u64,
}

impl<S: Fn() -> process::Command> Run<'_, S> {
    /// What comes next, or nothing when the supervisor wants to look at the clock.
    async fn next(&self, inbox: &mut UnboundedReceiver<Inbound>) -> Option<Inbound> {
        match self.supervisor.wake_at() {
            Some(at) => timeout_at((self.begun + at).into(), inbox.recv()).await.ok().flatten(),
            None => inbox.recv().await,
        }
    }

    async fn take(&mut self, event: Event, update: &mut impl FnMut(Update)) {
        let was_idle = self.supervisor.is_idle();
        if let Event::Worker(said) = &event {
            update(Update::Event(said.clone()));
        }
        for action in self.supervisor.step(self.begun.elapsed(), event) {
            match action {
                Action::Start => self.spawn(),
                Action::Send(command) => {
                    self.send(&command).await;
                    if !command.is_urgent() {
                        update(Update::Sent(command));
                    }
                }
                Action::Kill => drop(self.up.take().map(|up| up.kill.send(()))),
                Action::Tell(death) => update(Update::Died(death)),
                Action::Retry(job) => update(Update::Retry(job)),
                Action::Leave { why, jobs } => update(Update::Left { why, jobs }),
            }
        }
        if !was_idle && self.supervisor.is_idle() {
            update(Update::Idle);
        }
    }

    /// Starts a child; one that does not start ends at once.
    fn spawn(&mut self) {
        self.count += 1;
        let number = self.count;
        let sender = self.sender.clone();
        let send = move |event| drop(sender.send(Inbound::Event(Some(number), event)));
        let mut command = tokio::process::Command::from((self.start)());
        match command.kill_on_drop(true).spawn() {
            Ok(mut child) => {
                let (kill, killed) = unbounded_channel();
                self.up = Some(Up { stdin: child.stdin.take(), kill });
                tokio::spawn(follow(child, killed, send));
            }
            Err(error) => {
                send(Event::Ended(Ending::NotStarted { why: error.to_string() }, None));
            }
        }
    }

    /// A child that does not listen is about to end, which is heard of otherwise.
    async fn send(&mut self, command: &Command) {
        let Ok(line) = to_line(command) else { return };
        if let Some(up) = &mut self.up
            && let Some(stdin) = &mut up.stdin
            && stdin.write_all(&line).await.is_err()
        {
            up.stdin = None;
        }
    }

    /// Lets the child end by itself, and else by force.
    async fn part(mut self) {
        self.send(&Command::Quit).await;
        let Some(Up { kill, .. }) = self.up else { return };
        // The other end goes when the child was waited for.
        if timeout(FAREWELL, kill.closed()).await.is_err() {
            kill.send(()).ok();
            timeout(FAREWELL, kill.closed()).await.ok();
        }
    }
}

/// Hears a child out, and then says how it ended.
async fn follow(mut child: Child, mut killed: UnboundedReceiver<()>, send: impl Fn(Event)) {
    let companion = child.id().map(Companion::new);
    let stderr = tokio::spawn(last_words(child.stderr.take()));
    let stdout = child.stdout.take();
    let to_kill = {
        let mut listening = pin!(listen(stdout, &send));
        // Whichever is first: the end of what it says, or the order to kill it.
        let either = |context: &mut Context<'_>| match listening.as_mut().poll(context) {
            Poll::Ready(nonsense) => Poll::Ready(nonsense),
            Poll::Pending => killed.poll_recv(context).map(|order| order.is_some()),
        };
        poll_fn(either).await
    };
    if to_kill {
        child.start_kill().ok();
    }
    let status = match timeout(FAREWELL, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => {
            child.start_kill().ok();
            timeout(FAREWELL, child.wait()).await.ok().and_then(Result::ok)
        }
    };
    drop(companion);
    let words = timeout(FAREWELL, stderr).await.ok().and_then(Result::ok).flatten();
    send(Event::Ended(status.map_or(Ending::Signal { signal: libc::SIGKILL }, ending), words));
}

fn ending(status: ExitStatus) -> Ending {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Ending::Signal { signal },
        (None, code) => Ending::Exit { code: code.unwrap_or_default() },
    }
}

/// Passes on what a worker writes, until it ends; true where that is not understood.
async fn listen(stdout: Option<ChildStdout>, send: &impl Fn(Event)) -> bool {
    let Some(stdout) = stdout else { return false };
    let (mut stdout, mut line) = (BufReader::new(stdout), Vec::new());
    for number in 1.. {
        if !next_line(&mut stdout, &mut line, LINE_MAX).await {
            break;
        }
        match parse(number, &line) {
            Ok(event) => send(Event::Worker(event)),
            Err(error) => {
                send(Event::Garbled(error.to_string()));
                return true;
            }
        }
    }
    false
}

/// The end of what a child writes on stderr, as one sentence.
pub async fn last_words(stderr: Option<ChildStderr>) -> Option<String> {
    let mut stderr = stderr?;
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(WORDS_MAX);
        kept.drain(..surplus);
    }
    telling(&String::from_utf8_lossy(&kept))
}
