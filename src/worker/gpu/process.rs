//! The child as a process: started, written to, read and killed as its [`Supervisor`] decides.

use std::future::poll_fn;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::pin::pin;
use std::process::{Command, ExitStatus, Stdio};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{timeout, timeout_at};

use super::ending::{Ending, telling};
use super::request::Request;
use super::supervisor::{Action, Death, Event, Supervisor};
use crate::worker::children::Companion;
use crate::worker::{BenchEvent, parse_event};

/// A line of the child that is longer than this ends the conversation.
const LINE_MAX: u64 = 64 * 1024;
/// How much is kept of what it says on stderr.
const WORDS_MAX: usize = 16 * 1024;
/// How long a child that was killed or told to end is waited for: one that hangs inside the driver cannot be ended.
const FAREWELL: Duration = Duration::from_secs(5);

/// The argument of a worker that makes it a GPU's.
pub const GPU_ARGUMENT: &str = "--gpu";

/// What comes of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A job was sent: what follows is about it.
    Doing(Request),
    /// The child said something.
    Said(Box<BenchEvent>),
    /// The child died.
    Died(Death),
    /// Everything that was asked is finished, or will never be.
    Idle,
}

/// The command that starts the child of a device, or of none in particular to ask for the devices. It is of a process group
/// of its own, so that Ctrl-C reaches the parent only.
pub fn gpu_command(exe: &Path, uuid: Option<&str>) -> Command {
    let mut command = Command::new(exe);
    command.args(["__worker", GPU_ARGUMENT]).args(uuid);
    command.env("CUDA_MODULE_LOADING", "LAZY");
    if let Some(uuid) = uuid {
        command.env("CUDA_VISIBLE_DEVICES", uuid);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command
}

/// What reaches the conversation.
enum Inbound {
    /// Something for the supervisor, from the child of this number, or from outside.
    Event(Option<u64>, Event),
    /// Nothing more will be asked.
    Closed,
}

/// Talks with a child until nothing more can be asked and everything that was is finished. Tells every line of the child and every
/// death in their order; starts another child where the supervisor says so. Dropped, it ends the child's input, and with it the child.
pub async fn converse(
    start: impl Fn() -> Command,
    supervisor: Supervisor,
    mut asked: UnboundedReceiver<Request>,
    mut tell: impl FnMut(Told),
) {
    let (sender, mut inbox) = unbounded_channel();
    let outside = sender.clone();
    let forward = tokio::spawn(async move {
        while let Some(request) = asked.recv().await {
            outside.send(Inbound::Event(None, Event::Asked(request))).ok();
        }
        outside.send(Inbound::Closed).ok();
    });
    let mut talk =
        Talk { supervisor, start: &start, sender, begun: Instant::now(), up: None, count: 0 };
    let mut open = true;
    while open || !talk.supervisor.is_idle() {
        let event = match talk.next(&mut inbox).await {
            Some(Inbound::Event(of, event)) if of.is_none_or(|of| of == talk.count) => event,
            Some(Inbound::Event(..)) => continue,
            Some(Inbound::Closed) => {
                open = false;
                continue;
            }
            None => Event::Tick,
        };
        talk.take(event, &mut tell).await;
    }
    forward.abort();
    talk.part().await;
}

/// A child that runs.
struct Up {
    stdin: Option<ChildStdin>,
    kill: UnboundedSender<()>,
}

struct Talk<'a, S> {
    supervisor: Supervisor,
    start: &'a S,
    sender: UnboundedSender<Inbound>,
    begun: Instant,
    up: Option<Up>,
    /// Children so far.
    count: u64,
}

impl<S: Fn() -> Command> Talk<'_, S> {
    /// What comes next, or nothing when the supervisor wants to look at the clock.
    async fn next(&self, inbox: &mut UnboundedReceiver<Inbound>) -> Option<Inbound> {
        match self.supervisor.wake_at() {
            Some(at) => timeout_at((self.begun + at).into(), inbox.recv()).await.ok().flatten(),
            None => inbox.recv().await,
        }
    }

    async fn take(&mut self, event: Event, tell: &mut impl FnMut(Told)) {
        let was_idle = self.supervisor.is_idle();
        if let Event::Said(said) = &event {
            tell(Told::Said(said.clone()));
        }
        for action in self.supervisor.step(self.begun.elapsed(), event) {
            match action {
                Action::Start => self.spawn(),
                Action::Send(request) => {
                    self.send(&request).await;
                    if !request.is_urgent() {
                        tell(Told::Doing(request));
                    }
                }
                Action::Kill => drop(self.up.take().map(|up| up.kill.send(()))),
                Action::Tell(death) => tell(Told::Died(death)),
            }
        }
        if !was_idle && self.supervisor.is_idle() {
            tell(Told::Idle);
        }
    }

    /// Starts a child; one that does not start ends at once.
    fn spawn(&mut self) {
        self.count += 1;
        let number = self.count;
        let mail = self.sender.clone();
        let send = move |event| drop(mail.send(Inbound::Event(Some(number), event)));
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
    async fn send(&mut self, request: &Request) {
        let Ok(mut line) = serde_json::to_vec(request) else { return };
        line.push(b'\n');
        if let Some(up) = &mut self.up
            && let Some(stdin) = &mut up.stdin
            && stdin.write_all(&line).await.is_err()
        {
            up.stdin = None;
        }
    }

    /// Lets the child end by itself, and else by force.
    async fn part(mut self) {
        self.send(&Request::Quit).await;
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

/// Passes on what a child says, until it ends; true where it talks nonsense.
async fn listen(stdout: Option<ChildStdout>, send: &impl Fn(Event)) -> bool {
    let Some(stdout) = stdout else { return false };
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        line.clear();
        let count = (&mut stdout).take(LINE_MAX).read_until(b'\n', &mut line).await;
        let whole = line.last() == Some(&b'\n');
        match count {
            Ok(count) if count > 0 && (whole || count as u64 == LINE_MAX) => {}
            // A line that breaks off is that of a child that died.
            _ => return false,
        }
        match parse_event(number, &String::from_utf8_lossy(&line)) {
            Ok(event) => send(Event::Said(Box::new(event))),
            Err(error) => {
                send(Event::Garbled(error.to_string()));
                return true;
            }
        }
    }
}

/// The end of what a child writes on stderr, as one sentence.
async fn last_words(stderr: Option<ChildStderr>) -> Option<String> {
    let mut stderr = stderr?;
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    while let Some(count) = read_some(&mut stderr, &mut chunk).await {
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(WORDS_MAX);
        kept.drain(..surplus);
    }
    telling(&String::from_utf8_lossy(&kept))
}

async fn read_some(from: &mut (impl AsyncRead + Unpin), to: &mut [u8]) -> Option<usize> {
    from.read(to).await.ok().filter(|count| *count > 0)
}
