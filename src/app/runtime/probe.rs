//! Live probes beside the dashboard: reads what was found before, and runs them in a child of the GPU's own.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{io, thread};

use tokio::runtime::Builder;
use tokio::sync::mpsc::unbounded_channel;
use warpscope_probes::live::{ProbeReport, Store, probes};

use super::Event;
use super::mailbox::Post;
use crate::app::probing::Probing;
use crate::bench::gpu::{Hold, Limits, ProbeRound, Supervisor, Told, converse, gpu_command};

/// Longest time a probe may say nothing: what it does takes under a second, and the driver may compile first.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts reading what was found before; the answers come as events.
pub(super) fn recall_aside(gpus: Vec<(String, String)>, post: Post) -> io::Result<()> {
    aside(move || {
        let Some(store) = Store::of_user() else { return };
        for (uuid, driver) in gpus {
            let found = store.read(&uuid, Some(&driver));
            if !found.is_empty() {
                post.send(Event::Probed(uuid, Ok(found)));
            }
        }
    })
}

/// Starts the probes on a GPU; the answer comes as an event when all have ended.
pub(super) fn start_aside(probing: Probing, post: Post) -> io::Result<()> {
    aside(move || {
        let cublas = probing.cublas.clone().vet();
        post.send(Event::ProbeLibraries(cublas.clone()));
        let found =
            run(&probing, &cublas.load).map_err(|error| error.to_string()).and_then(|round| {
                keep(&probing, &round.reports);
                match round.paused {
                    Some(why) if round.reports.is_empty() => Err(format!("Not probed: {why}.")),
                    _ => Ok(round.reports),
                }
            });
        post.send(Event::Probed(probing.uuid, found));
    })
}

fn aside(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("probes".into()).spawn(work).map(drop)
}

fn run(probing: &Probing, cublas: &[PathBuf]) -> io::Result<ProbeRound> {
    let exe = std::env::current_exe()?;
    let all: Vec<_> = probes().collect();
    let (sender, asked) = unbounded_channel();
    for job in ProbeRound::jobs(&all, cublas, Hold::default()) {
        sender.send(job).ok();
    }
    let mut asking = Some(sender);
    let mut round = ProbeRound::new(&probing.uuid);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let start = || gpu_command(&exe, Some(&probing.uuid));
    runtime.block_on(converse(start, Supervisor::new(Limits::command(PATIENCE)), asked, |told| {
        if told == Told::Idle {
            asking = None;
        }
        round.hear(told);
    }));
    round.date(Some(&probing.driver), &today());
    Ok(round)
}

/// What cannot be kept is found again the next time.
fn keep(probing: &Probing, found: &[ProbeReport]) {
    if let Some(store) = Store::of_user() {
        drop(store.keep(&probing.uuid, Some(&probing.driver), found));
    }
}

/// The day, as findings are dated: `2026-11-21`.
fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().take("2026-11-21".len()).collect()
}
