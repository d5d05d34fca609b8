//! The benchmark children and the signals, on one thread that sleeps in tokio.

use std::io;
use std::process::Stdio;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::gpu::Conversations;
use super::{Event, Post};
use crate::features::bench::gpu::{News, Task};
use crate::features::bench::{Cmd, Msg};
use crate::shell;
use crate::worker::children::Companion;
use crate::worker::{WorkerOptions, parse_event, worker_command};

/// A line of the child that is longer than this ends the conversation.
const LINE_LIMIT: usize = 1 << 20;

/// How long children that were told to end are waited for.
pub(crate) const PARTING: Duration = Duration::from_secs(2);

/// The hand on the outside thread.
pub(crate) struct Outside {
    orders: UnboundedSender<Order>,
}

enum Order {
    Start,
    Pause(Option<&'static str>),
    Gpu(String, Task),
    /// Wait for children that are about to end, and then drop this.
    Part(Sender<()>),
}

impl Outside {
    /// Starts the thread; signals are taken from here on. The child itself starts when asked.
    pub(crate) fn start(post: Post, options: WorkerOptions) -> io::Result<Self> {
        let (orders, inbox) = unbounded_channel();
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let signals = watch(&runtime)?;
        let work = move || runtime.block_on(serve(&post, &options, (signals, inbox)));
        thread::Builder::new().name("outside".into()).stack_size(512 << 10).spawn(work)?;
        Ok(Self { orders })
    }

    /// Sees to the benchmark children.
    pub(crate) fn bench(&self, cmd: Cmd) {
        let order = match cmd {
            Cmd::Start => Order::Start,
            Cmd::Pause(why) => Order::Pause(why),
            Cmd::Gpu(key, task) => Order::Gpu(key, task),
        };
        self.orders.send(order).ok();
    }

    /// Waits until children of GPUs that were told to end are gone, with what they held; not for one that hangs.
    pub(crate) fn part_with_gpus(&self) {
        let (gone, wait) = channel();
        self.orders.send(Order::Part(gone)).ok();
        wait.recv_timeout(PARTING).ok();
    }
}

/// Takes the signals that ask a program to end, to stop and to go on.
fn watch(runtime: &Runtime) -> io::Result<Vec<(SignalKind, Signal)>> {
    let job_control = [libc::SIGTSTP, libc::SIGCONT].map(SignalKind::from_raw);
    let ends = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
    let kinds = ends.into_iter().chain(job_control);
    let _context = runtime.enter();
    kinds.map(|kind| Ok((kind, signal(kind)?))).collect()
}

type Inputs = (Vec<(SignalKind, Signal)>, UnboundedReceiver<Order>);

async fn serve(post: &Post, options: &WorkerOptions, (signals, mut inbox): Inputs) {
    for (kind, mut stream) in signals {
        let post = post.clone();
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                post.send(match kind.as_raw_value() {
                    libc::SIGTSTP => Event::Msg(shell::Msg::Suspend),
                    libc::SIGCONT => Event::Continued,
                    end => Event::End(end),
                });
            }
        });
    }
    let mut orders: Option<ChildStdin> = None;
    let mut gpus = std::env::current_exe().map(|exe| Conversations::new(exe, post.clone()));
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Gpu(key, task) => match &mut gpus {
                Ok(gpus) => gpus.take(key, task),
                Err(error) => {
                    let how = format!("the process did not start: {error}");
                    post.tell(Msg::Gpu(key, News::Died(how)));
                }
            },
            Order::Part(gone) => {
                if let Ok(gpus) = &mut gpus {
                    timeout(PARTING, gpus.part()).await.ok();
                }
                drop(gone);
            }
            Order::Start => match spawn(options) {
                Ok(mut child) => {
                    orders = child.stdin.take();
                    tokio::spawn(follow(post.clone(), child));
                }
                Err(error) => drop(post.tell(Msg::CpuEnded(format!("did not start: {error}")))),
            },
            Order::Pause(why) => {
                let line = why.map_or("run\n".to_owned(), |why| format!("pause {why}\n"));
                if let Some(stdin) = &mut orders
                    && stdin.write_all(line.as_bytes()).await.is_err()
                {
                    orders = None;
                }
            }
        }
    }
}

fn spawn(options: &WorkerOptions) -> io::Result<Child> {
    let exe = std::env::current_exe()?;
    let mut command = Command::from(worker_command(&exe, options));
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
}

async fn follow(post: Post, mut child: Child) {
    let companion = child.id().map(Companion::new);
    let said = match child.stdout.take() {
        Some(stdout) => listen(&post, BufReader::new(stdout)).await,
        None => Some("has no output".into()),
    };
    if said.is_some() {
        child.start_kill().ok();
    }
    let how = match child.wait().await {
        Ok(status) => said.unwrap_or_else(|| ending(status)),
        Err(error) => format!("cannot be waited for: {error}"),
    };
    drop(companion);
    post.tell(Msg::CpuEnded(how));
}

/// Passes on what the child says until it stops; `Some` when it talks nonsense.
async fn listen(post: &Post, mut lines: BufReader<tokio::process::ChildStdout>) -> Option<String> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        line.clear();
        loop {
            let Ok(chunk) = lines.fill_buf().await else { return None };
            if chunk.is_empty() {
                return None;
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(chunk.len(), |at| at + 1);
            line.extend_from_slice(&chunk[..used]);
            lines.consume(used);
            if line.len() > LINE_LIMIT {
                return Some("sent a line without end and was stopped".into());
            }
            if end.is_some() {
                break;
            }
        }
        match parse_event(number, &String::from_utf8_lossy(&line)) {
            Ok(event) => {
                if !post.tell(Msg::Cpu(Box::new(event))) {
                    return None;
                }
            }
            Err(error) => return Some(format!("sent a damaged line and was stopped: {error}")),
        }
    }
}

fn ending(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, Some(code)) => format!("exited with {code}"),
        (None, None) => "ended".into(),
    }
}
