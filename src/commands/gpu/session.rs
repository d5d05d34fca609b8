use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::worker::{Command, Limits, Supervisor, Update, WorkerTarget, supervise};

/// Which child is talked with.
pub(crate) struct Session<'a> {
    /// The program.
    pub(crate) exe: &'a Path,
    /// Its device.
    pub(crate) target: WorkerTarget,
    /// What the child may do.
    pub(crate) limits: Limits,
}

type Asking = Arc<Mutex<Option<UnboundedSender<Command>>>>;

/// Asks a child for one job after another and hears what comes of it. Ctrl-C ends the job and drops the others; then the answer is
/// true.
pub(crate) fn talk(
    session: &Session<'_>,
    jobs: Vec<Command>,
    mut handle: impl FnMut(Update),
) -> io::Result<bool> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    runtime.block_on(async {
        let (sender, asked) = unbounded_channel();
        for job in jobs {
            sender.send(job).ok();
        }
        let asking: Asking = Arc::new(Mutex::new(Some(sender)));
        let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
        let [Ok(interrupt), Ok(terminate)] = signals else {
            return Err(io::Error::other("cannot install signal handlers"));
        };
        let (to, flag) = (Arc::clone(&asking), Arc::clone(&interrupted));
        let watching = tokio::spawn(stop_at([interrupt, terminate], to, flag));
        let start = || session.target.worker(session.exe);
        supervise(start, Supervisor::new(session.limits), asked, |update| {
            if update == Update::Idle {
                asking.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
            handle(update);
        })
        .await;
        watching.abort();
        Ok(())
    })?;
    Ok(interrupted.load(Ordering::Relaxed))
}

async fn stop_at(mut signals: [Signal; 2], asking: Asking, interrupted: Arc<AtomicBool>) {
    let any = |context: &mut std::task::Context<'_>| {
        let came = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if came { Poll::Ready(()) } else { Poll::Pending }
    };
    poll_fn(any).await;
    interrupted.store(true, Ordering::Relaxed);
    // Nothing asks any more: what runs ends, and with it the conversation.
    let sender = asking.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(sender) = sender {
        sender.send(Command::Stop).ok();
    }
}
