use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::commands::cli::Options;
use crate::commands::output::note;
use crate::worker::{
    Command, DeviceHere, Limits, Supervisor, Update, WorkerEvent, WorkerTarget, supervise,
};

/// Which child is talked with.
pub(crate) struct Session<'a> {
    /// The program.
    pub(crate) exe: &'a Path,
    /// Its device.
    pub(crate) target: WorkerTarget,
    /// What the child may do.
    pub(crate) limits: Limits,
}

impl<'a> Session<'a> {
    /// With the process of a GPU, within what a command allows it.
    pub(crate) fn on_gpu(options: &Options, exe: &'a Path, here: &DeviceHere) -> Self {
        let target = WorkerTarget::Gpu(here.uuid.clone());
        Self { exe, target, limits: super::limits(options) }
    }
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
        let mut events = JobEvents::default();
        supervise(start, Supervisor::new(session.limits), asked, |update| {
            if update == Update::Idle {
                asking.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
            events.pass(update, &mut handle);
        })
        .await;
        events.tell(&mut handle);
        watching.abort();
        Ok(())
    })?;
    Ok(interrupted.load(Ordering::Relaxed))
}

/// Events of the current job, held until its state changes: a job that stops for another process reports them again on its next try.
#[derive(Default)]
struct JobEvents {
    updates: Vec<Update>,
    /// Whether the user knows that others are waited for.
    is_waiting: bool,
}

impl JobEvents {
    fn pass(&mut self, update: Update, handle: &mut impl FnMut(Update)) {
        match &update {
            Update::Event(_) => return self.updates.push(update),
            Update::Retry(_) => self.discard(),
            _ => self.tell(handle),
        }
        handle(update);
    }

    fn tell(&mut self, handle: &mut impl FnMut(Update)) {
        self.updates.drain(..).for_each(handle);
    }

    fn discard(&mut self) {
        let why = self.updates.drain(..).find_map(|update| match update {
            Update::Event(event) => match *event {
                WorkerEvent::Paused { why } => Some(why),
                _ => None,
            },
            _ => None,
        });
        if let Some(why) = why.filter(|_| !self.is_waiting) {
            self.is_waiting = true;
            note(format_args!("{why}: waiting for it to end (--wait limits that)"));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::{Globs, WorkerEvent};

    /// A job of two sizes is stopped behind the first; what came of that is not told twice.
    #[test]
    fn a_job_that_gave_way_has_said_nothing() {
        let job = || Command::Selftest { kernels: Globs::from("a"), evidence: None };
        let event = |event| Update::Event(Box::new(event));
        let began = || event(WorkerEvent::Started);
        let paused = event(WorkerEvent::Paused { why: "busy".to_owned() });
        let finished = || event(WorkerEvent::Finished { busy_ns: 0.0 });
        let mut told = Vec::new();
        let mut handle = |update| told.push(update);
        let mut events = JobEvents::default();
        let lost = [Update::Sent(job()), began(), paused, finished(), Update::Retry(job())];
        let again = [Update::Sent(job()), began(), finished(), Update::Idle];
        lost.into_iter().chain(again).for_each(|update| events.pass(update, &mut handle));
        let want = [Update::Sent(job()), Update::Retry(job()), Update::Sent(job()), began()];
        let want: Vec<_> = want.into_iter().chain([finished(), Update::Idle]).collect();
        assert_eq!(told, want);
    }
}
