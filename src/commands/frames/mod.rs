pub(crate) mod source;
pub(crate) mod what_if;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Sender};
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::host::Host;
use warpscope_probes::{Frame, Notice, Origin};

use crate::commands::cli::{CliError, Options, Result};
use crate::config::args;
use crate::io::sink::Redactor;
use crate::io::source::hosts::HostName;
use crate::io::source::{FrameSink, Source};

/// How long a one-shot command waits for everything to answer before it takes what there is. A GPU without persistence mode
/// may need seconds to start, so one that hangs costs as many.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same of other machines, which have to be reached first.
const PATIENCE_OF_HOSTS: Duration = Duration::from_secs(40);
/// Frames that may wait for a slow disk or a slow reader.
const QUEUE: usize = 8;
/// Signals that end a stream or a recording in good order. Not the hang-up: `nohup` has it ignored,
/// and a handler would undo that.
const ENDINGS: [fn() -> SignalKind; 2] = [SignalKind::interrupt, SignalKind::terminate];

/// The first frame in which everything has answered; after a few seconds, whatever there is.
pub(crate) fn first_frame(source: Box<dyn Source>) -> Result<Frame> {
    let (sender, frames) = channel();
    let sink: FrameSink = Arc::new(move |frame| sender.send(frame).is_ok());
    let mut control = source.start(sink);
    let last = last_before(&frames, Instant::now() + PATIENCE);
    match last {
        ControlFlow::Break(frame) => Ok(frame),
        ControlFlow::Continue(frame) => frame.or_else(|| control.overdue()).ok_or_else(|| {
            CliError::Failed(format!("no answer within {} seconds", PATIENCE.as_secs()))
        }),
    }
}

/// The first complete frame of each host, or why there is none.
pub(crate) fn first_frames(
    source: Box<dyn Source>,
    hosts: &[HostName],
) -> Vec<Result<Frame, String>> {
    let (sender, frames) = channel();
    let _control = source.start(Arc::new(move |frame| sender.send(frame).is_ok()));
    let end = Instant::now() + PATIENCE_OF_HOSTS;
    let mut found = BTreeMap::new();
    while found.len() < hosts.len()
        && let Ok(frame) = frames.recv_timeout(end.saturating_duration_since(Instant::now()))
    {
        let Origin::Remote { host } = &frame.origin else { continue };
        let host = host.clone();
        let lost = frame.notices.iter().find(|notice| notice.id == Notice::HOST_LOST);
        if let Some(lost) = lost {
            let why = format!("{} {}", lost.what, lost.remedy);
            found.entry(host).or_insert(Err(why));
        } else if is_complete(&frame) {
            found.entry(host).or_insert(Ok(frame));
        }
    }
    let seconds = PATIENCE_OF_HOSTS.as_secs();
    let late = |host| Err(format!("{host}: no answer within {seconds} seconds"));
    hosts.iter().map(|host| found.remove(host.as_str()).unwrap_or_else(|| late(host))).collect()
}

/// Breaks with the first complete frame, else continues with the last one there was.
fn last_before(frames: &Receiver<Frame>, end: Instant) -> ControlFlow<Frame, Option<Frame>> {
    let mut last = None;
    while let Ok(frame) = frames.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if is_complete(&frame) {
            return ControlFlow::Break(frame);
        }
        last = Some(frame);
    }
    ControlFlow::Continue(last)
}

/// Whether driver, devices and host have all answered once.
pub(crate) fn is_complete(frame: &Frame) -> bool {
    frame.seq >= 1
        && frame.driver.status != DriverState::Starting
        && frame.host != Host::default()
        && frame.gpus.iter().all(|gpu| gpu.presence != Presence::Starting)
}

/// Whether the frame has a real GPU, awake or asleep.
pub(crate) fn has_gpu(frame: &Frame) -> bool {
    frame.gpus.iter().any(|gpu| matches!(gpu.presence, Presence::Present | Presence::Suspended))
}

/// Fails when a GPU was required and the frame has none.
pub(crate) fn demand_gpu(options: &Options, frame: &Frame) -> Result<()> {
    if !options.get(&args::REQUIRE_GPU) || has_gpu(frame) {
        return Ok(());
    }
    let why = frame.notices.iter().find(|notice| notice.id.starts_with("driver."));
    let why = why.map_or("no NVIDIA GPU was found", |notice| &notice.what);
    Err(CliError::NoGpu(format!("{why}; run `warpscope doctor` for details")))
}

enum Event {
    Frame(Box<Frame>),
    Stop,
}

/// Hands every frame to `take` until the count or the time asked for is reached, the source ends, a
/// signal comes or `take` fails. Frames before the first complete one are left out while there is
/// patience. Returns the number of frames taken.
pub(crate) fn follow(
    source: Box<dyn Source>,
    options: &Options,
    mut take: impl FnMut(&Frame) -> Result<()>,
) -> Result<u64> {
    let failed = |error| CliError::Failed(format!("cannot wait for frames and signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let count = options.frames().unwrap_or(u64::MAX);
    let mut redactor = options.get(&args::REDACT).then(Redactor::default);
    runtime.map_err(failed)?.block_on(async {
        let (sender, mut events) = mpsc::channel(QUEUE);
        for kind in ENDINGS {
            watch(kind(), &sender).map_err(failed)?;
        }
        let _control = source.start(sink(sender));
        let begin = Instant::now();
        let end = options.get(&args::DURATION).and_then(|span| begin.checked_add(span));
        let mut taken = 0;
        while taken < count
            && let Some(mut frame) = next(&mut events, end).await
        {
            if taken == 0 && !is_complete(&frame) && begin.elapsed() < PATIENCE {
                continue;
            }
            if taken == 0 {
                demand_gpu(options, &frame)?;
            }
            if let Some(redactor) = &mut redactor {
                redactor.frame(&mut frame);
            }
            take(&frame)?;
            taken += 1;
        }
        Ok(taken)
    })
}

/// Drops the source's end of the channel with the source, so that the end of a recording is seen.
fn sink(sender: Sender<Event>) -> FrameSink {
    Arc::new(move |frame| sender.blocking_send(Event::Frame(Box::new(frame))).is_ok())
}

fn watch(kind: SignalKind, sender: &Sender<Event>) -> std::io::Result<()> {
    let mut signals = signal(kind)?;
    let sender = sender.downgrade();
    tokio::spawn(async move {
        signals.recv().await;
        if let Some(sender) = sender.upgrade() {
            let _ = sender.send(Event::Stop).await;
        }
    });
    Ok(())
}

async fn next(events: &mut mpsc::Receiver<Event>, end: Option<Instant>) -> Option<Frame> {
    let event = match end {
        Some(end) => tokio::time::timeout_at(end.into(), events.recv()).await.ok()?,
        None => events.recv().await,
    };
    match event? {
        Event::Frame(frame) => Some(*frame),
        Event::Stop => None,
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Gpu;

    use super::*;
    use crate::io::source::Control;

    struct Given(Vec<Frame>);
    struct Hand;

    impl Control for Hand {}

    impl Source for Given {
        fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
            let _ = self.0.into_iter().all(|frame| sink(frame));
            Box::new(Hand)
        }
    }

    fn complete(seq: u64) -> Frame {
        let mut frame = Frame { seq, ..Frame::default() };
        frame.driver.status = DriverState::Ready;
        frame.host.machine.cpu_cores = 2.into();
        frame
    }

    #[test]
    fn the_first_frame_is_the_first_in_which_all_have_answered() {
        let mut half = complete(1);
        half.gpus.push(Gpu::default());
        let source = Given(vec![Frame::default(), half, complete(2), complete(3)]);
        assert_eq!(first_frame(Box::new(source)).expect("a frame").seq, 2);
    }

    #[test]
    fn a_source_that_ends_early_gives_what_it_had() {
        let source = Given(vec![Frame { seq: 1, ..Frame::default() }]);
        assert_eq!(first_frame(Box::new(source)).expect("a frame").seq, 1);
        assert!(first_frame(Box::new(Given(vec![]))).is_err());
    }
}
