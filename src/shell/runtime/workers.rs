//! The workers of the dashboard: one supervised process for each device and session, on the I/O thread.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::MailboxSender;
use crate::features::bench::Msg;
use crate::features::bench::device::Task;
use crate::worker::Command;
use crate::worker::cpu::{CPU, CpuOptions};
use crate::worker::process::{WorkerTarget, supervise};
use crate::worker::supervisor::{Limits, Patience, Supervisor};

/// How long a job on a GPU may take that was done before, and one that was not.
const JOB: Patience = Patience::Job(Duration::from_secs(1), Duration::from_secs(30));

/// The workers, by the key of their device.
pub(crate) struct Workers {
    exe: PathBuf,
    post: MailboxSender,
    open: BTreeMap<String, Handle>,
    /// Those that were told to end.
    ending: Vec<JoinHandle<()>>,
}

impl Workers {
    /// None yet; they are started from this program.
    pub(crate) fn new(post: MailboxSender) -> Self {
        let exe = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        Self { exe, post, open: BTreeMap::new(), ending: Vec::new() }
    }

    /// Does what is to be done about the worker of a device. Has to be called within the runtime.
    pub(crate) fn take(&mut self, key: String, task: Task) {
        match task {
            Task::Send(commands) => {
                let start = || Handle::start(self.exe.clone(), &key, self.post.clone());
                let worker = self.open.entry(key.clone()).or_insert_with(start);
                commands.into_iter().for_each(|command| worker.send(command));
            }
            Task::End => {
                self.ending.retain(|whole| !whole.is_finished());
                let ended = self.open.remove(&key);
                self.ending.extend(ended.and_then(|mut worker| worker.whole.take()));
            }
        }
    }

    /// Waits until all that were told to end have ended.
    pub(crate) async fn part(&mut self) {
        while let Some(whole) = self.ending.pop() {
            whole.await.ok();
        }
    }
}

/// A supervised worker. Dropped, it stops work, and the worker ends.
struct Handle {
    commands: UnboundedSender<Command>,
    whole: Option<JoinHandle<()>>,
    /// Its events no longer count.
    over: Arc<AtomicBool>,
}

impl Handle {
    fn start(exe: PathBuf, key: &str, post: MailboxSender) -> Self {
        let (commands, inbox) = unbounded_channel();
        let over = Arc::new(AtomicBool::new(false));
        let (target, patience) = match key {
            CPU => (WorkerTarget::Cpu(CpuOptions::live()), Patience::Unlimited),
            uuid => (WorkerTarget::Gpu(uuid.to_owned()), JOB),
        };
        let (key, ended) = (key.to_owned(), Arc::clone(&over));
        let update = move |update| {
            if !ended.load(Ordering::Relaxed) {
                post.tell(Msg::Worker(key.clone(), update));
            }
        };
        let supervisor = Supervisor::new(Limits::once(patience));
        let run = supervise(move || target.worker(&exe), supervisor, inbox, update);
        Self { commands, whole: Some(tokio::spawn(run)), over }
    }

    fn send(&self, command: Command) {
        self.commands.send(command).ok();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.send(Command::Stop);
    }
}
