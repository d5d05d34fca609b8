//! The I/O thread: workers and signals, in tokio.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

use super::workers::Workers;
use super::{Event, MailboxSender, Msg};
use crate::features::bench::device::Task;

/// How long workers that were told to end are waited for.
pub(crate) const PARTING: Duration = Duration::from_secs(2);

/// Sends to the I/O thread.
pub(crate) struct IoThread {
    queue: UnboundedSender<Request>,
}

enum Request {
    Worker(String, Task),
    /// Wait for workers that are about to end, and then drop this.
    Part(Sender<()>),
}

impl IoThread {
    /// Starts the thread; signals are taken from here on. Workers start when asked.
    pub(crate) fn start(post: MailboxSender) -> io::Result<Self> {
        let (queue, inbox) = unbounded_channel();
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let signals = watch(&runtime)?;
        let work = move || runtime.block_on(serve(&post, signals, inbox));
        thread::Builder::new().name("io".into()).stack_size(512 << 10).spawn(work)?;
        Ok(Self { queue })
    }

    /// Sees to the worker of a device.
    pub(crate) fn worker(&self, key: String, task: Task) {
        self.queue.send(Request::Worker(key, task)).ok();
    }

    /// Waits until workers that were told to end are gone, with what they held; not for one that hangs.
    pub(crate) fn part_with_workers(&self) {
        let (gone, wait) = channel();
        self.queue.send(Request::Part(gone)).ok();
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

async fn serve(
    post: &MailboxSender,
    signals: Vec<(SignalKind, Signal)>,
    mut inbox: UnboundedReceiver<Request>,
) {
    for (kind, mut stream) in signals {
        let post = post.clone();
        tokio::spawn(async move {
            while stream.recv().await.is_some() {
                post.send(match kind.as_raw_value() {
                    libc::SIGTSTP => Event::Msg(Msg::Suspend),
                    libc::SIGCONT => Event::Continued,
                    end => Event::End(end),
                });
            }
        });
    }
    let mut workers = Workers::new(post.clone());
    while let Some(request) = inbox.recv().await {
        match request {
            Request::Worker(key, task) => workers.take(key, task),
            Request::Part(gone) => {
                timeout(PARTING, workers.part()).await.ok();
                drop(gone);
            }
        }
    }
}
