//! Live probes beside the dashboard: reads what was found before, and runs them in a child of the GPU's own.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use warpscope_probes::live::{ProbeReport, Store, probes};

use super::io_thread::PARTING;
use super::mailbox::MailboxSender;
use super::today;
use crate::features::compat::Msg;
use crate::features::compat::probing::Probing;
use crate::worker::gpu::ProbeRound;
use crate::worker::{Acquire, Limits, Supervisor, Update, WorkerTarget, supervise};

/// Longest time a probe may say nothing: what it does takes under a second, and the driver may compile first.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts reading what was found before; the answers come as events.
pub(crate) fn recall_aside(gpus: Vec<(String, String)>, post: MailboxSender) -> io::Result<()> {
    aside(move || {
        let Some(store) = Store::of_user() else { return };
        for (uuid, driver) in gpus {
            let found = store.read(&uuid, Some(&driver));
            if !found.is_empty() {
                post.tell(Msg::Probed(uuid, Ok(found)));
            }
        }
    })
    .map(drop)
}

/// The probes in progress. Each ends when its sender is dropped.
#[derive(Default)]
pub(crate) struct Prober {
    runs: Vec<(UnboundedSender<()>, JoinHandle<()>)>,
}

impl Prober {
    /// Starts the probes on a GPU; the answer comes as an event when all have ended.
    pub(crate) fn start(&mut self, probing: Probing, post: MailboxSender) -> io::Result<()> {
        self.runs.retain(|(_, thread)| !thread.is_finished());
        let (go_on, stop) = unbounded_channel();
        let thread = aside(move || {
            let cublas = probing.cublas.clone().vet();
            post.tell(Msg::ProbeLibraries(cublas.clone()));
            let round = run(&probing, &cublas.load, stop).map_err(|error| error.to_string());
            let found = round.and_then(|round| {
                keep(&probing, &round.reports);
                match round.paused {
                    Some(why) if round.reports.is_empty() => Err(format!("Not probed: {why}.")),
                    _ => Ok(round.reports),
                }
            });
            post.tell(Msg::Probed(probing.uuid, found));
        })?;
        self.runs.push((go_on, thread));
        Ok(())
    }

    /// Ends all of them, kills their children, and waits for that, unless it takes long.
    pub(crate) fn stop(&mut self) {
        let threads: Vec<_> = self.runs.drain(..).map(|(_, thread)| thread).collect();
        let end = Instant::now() + PARTING;
        while !threads.iter().all(JoinHandle::is_finished) && Instant::now() < end {
            thread::sleep(Duration::from_millis(2));
        }
    }
}

fn aside(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("probes".into()).spawn(work)
}

fn run(
    probing: &Probing,
    cublas: &[PathBuf],
    mut stop: UnboundedReceiver<()>,
) -> io::Result<ProbeRound> {
    let exe = std::env::current_exe()?;
    let all: Vec<_> = probes().collect();
    let (sender, asked) = unbounded_channel();
    for job in ProbeRound::jobs(&all, cublas, Acquire::default()) {
        sender.send(job).ok();
    }
    let mut asking = Some(sender);
    let mut round = ProbeRound::new(&probing.uuid);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let target = WorkerTarget::Gpu(probing.uuid.clone());
    let start = || target.worker(&exe);
    let whole = runtime.block_on(async {
        let talk = supervise(start, Supervisor::new(Limits::command(PATIENCE)), asked, |told| {
            if told == Update::Idle {
                asking = None;
            }
            round.handle(told);
        });
        let mut talk = pin!(talk);
        poll_fn(|context| match talk.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending => stop.poll_recv(context).map(|_| false),
        })
        .await
    });
    if !whole {
        return Err(io::Error::other("Not probed to the end: warpscope went to the background."));
    }
    round.date(Some(&probing.driver), &today());
    Ok(round)
}

/// What cannot be kept is found again the next time.
fn keep(probing: &Probing, found: &[ProbeReport]) {
    if let Some(store) = Store::of_user() {
        drop(store.keep(&probing.uuid, Some(&probing.driver), found));
    }
}
