//! The benchmark children of the GPUs: a conversation for each GPU and session, on the thread that sleeps in tokio.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use super::Post;
use crate::features::bench::Msg;
use crate::features::bench::gpu::{News, Task};
use crate::worker::gpu::{Limits, Request, Supervisor, Told, converse, gpu_command};
use crate::worker::{BenchEvent, BenchState};

/// The conversations in progress, by the key of the GPU.
pub(crate) struct Conversations {
    exe: PathBuf,
    post: Post,
    open: BTreeMap<String, Conversation>,
    /// Those that were told to end.
    ending: Vec<JoinHandle<()>>,
}

impl Conversations {
    /// None yet; children are started from this program.
    pub(crate) fn new(exe: PathBuf, post: Post) -> Self {
        Self { exe, post, open: BTreeMap::new(), ending: Vec::new() }
    }

    /// Does what is to be done about the child of a GPU. Has to be called within the runtime.
    pub(crate) fn take(&mut self, key: String, task: Task) {
        match task {
            Task::Ask(requests) => {
                let begin = || Conversation::begin(&self.exe, &key, self.post.clone());
                self.open.entry(key.clone()).or_insert_with(begin).ask(requests);
            }
            Task::Stop => {
                if let Some(talk) = self.open.get(&key) {
                    talk.asked.send(Request::Stop).ok();
                }
            }
            Task::End => {
                self.ending.retain(|whole| !whole.is_finished());
                let ended = self.open.remove(&key);
                self.ending.extend(ended.and_then(|mut talk| talk.whole.take()));
            }
            Task::Kill => {
                if let Some(whole) = self.open.remove(&key).and_then(|mut talk| talk.whole.take()) {
                    whole.abort();
                }
            }
        }
    }

    /// Waits until all that were told to end have ended, and their children.
    pub(crate) async fn part(&mut self) {
        while let Some(whole) = self.ending.pop() {
            whole.await.ok();
        }
    }
}

/// Dropped, it ends, and with it the child.
struct Conversation {
    asked: UnboundedSender<Request>,
    meter: Arc<Mutex<Meter>>,
    whole: Option<JoinHandle<()>>,
    /// What the child says from now on is of nobody's concern.
    over: Arc<AtomicBool>,
}

impl Conversation {
    fn begin(exe: &std::path::Path, key: &str, post: Post) -> Self {
        let (asked, inbox) = unbounded_channel();
        let meter = Arc::new(Mutex::new(Meter::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (exe, uuid) = (exe.to_owned(), key.to_owned());
        let (counts, ended) = (Arc::clone(&meter), Arc::clone(&over));
        let start = move || gpu_command(&exe, Some(&uuid));
        let key = key.to_owned();
        let tell = move |told| {
            let now = Instant::now();
            let news = lock(&counts).hear(now, told);
            for news in news {
                if !ended.load(Ordering::Relaxed) {
                    post.tell(Msg::Gpu(key.clone(), news));
                }
            }
        };
        let talk = converse(start, Supervisor::new(Limits::LIVE), inbox, tell);
        let whole = Some(tokio::spawn(talk));
        Self { asked, meter, whole, over }
    }

    fn ask(&self, requests: Vec<Request>) {
        lock(&self.meter).ask(&requests);
        for request in requests {
            self.asked.send(request).ok();
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.asked.send(Request::Stop).ok();
    }
}

fn lock(meter: &Mutex<Meter>) -> std::sync::MutexGuard<'_, Meter> {
    meter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the jobs of a pulse, and the GPU's time they take: as the child says, else by the clock on the wall, which errs on the
/// quiet side.
#[derive(Debug, Default)]
struct Meter {
    /// Whether each job that is not done computes: taking the GPU does not.
    waiting: VecDeque<bool>,
    since: Option<Instant>,
    /// By the clock on the wall, in this pulse.
    wall: Duration,
    /// As the child says, since it lives, before the pulse and now.
    before: Duration,
    busy: Option<Duration>,
}

impl Meter {
    fn ask(&mut self, requests: &[Request]) {
        self.before = self.busy.take().unwrap_or(self.before);
        self.waiting.extend(requests.iter().map(|request| !matches!(request, Request::Hold(_))));
    }

    /// What there is to tell of it.
    fn hear(&mut self, now: Instant, told: Told) -> Vec<News> {
        let event = match told {
            Told::Died(death) => return vec![News::Died(death.sentence)],
            Told::Said(event) => event,
            Told::Doing(_) | Told::Idle => return Vec::new(),
        };
        let done = match *event {
            BenchEvent::State(BenchState::Running) => {
                self.since = Some(now);
                false
            }
            BenchEvent::State(BenchState::Finished) => self.finish(now),
            BenchEvent::Holding(ref holding) => {
                self.busy = Some(Duration::from_nanos(holding.busy_ns.max(0.0) as u64));
                false
            }
            _ => false,
        };
        let said = News::Said(event);
        if done { vec![said, News::Done(self.spent())] } else { vec![said] }
    }

    /// What the pulse took of the GPU's time.
    fn spent(&mut self) -> Duration {
        let wall = std::mem::take(&mut self.wall);
        self.busy.map_or(wall, |busy| busy.saturating_sub(self.before))
    }

    /// A job is done; true where it was the last one.
    fn finish(&mut self, now: Instant) -> bool {
        let computed = self.waiting.pop_front() == Some(true);
        if let Some(since) = self.since.take().filter(|_| computed) {
            self.wall += now.saturating_duration_since(since);
        }
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::gpu::{Globs, Hold};

    fn said(state: BenchState) -> Told {
        Told::Said(Box::new(BenchEvent::State(state)))
    }

    #[test]
    fn a_pulse_is_done_when_its_last_job_is_and_taking_the_gpu_is_free() {
        let mut meter = Meter::default();
        let headroom = || Request::Headroom { paths: Globs::default() };
        meter.ask(&[Request::Hold(Hold::default()), headroom(), headroom()]);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut done = Vec::new();
        for (began, ended) in [(0, 900), (900, 950), (970, 1000)] {
            meter.hear(at(began), said(BenchState::Running));
            done.extend(meter.hear(at(ended), said(BenchState::Finished)).into_iter().skip(1));
        }
        assert_eq!(done, [News::Done(Duration::from_millis(80))]);
        meter.ask(&[headroom()]);
        meter.hear(at(2000), said(BenchState::Running));
        let news = meter.hear(at(2005), said(BenchState::Finished));
        assert_eq!(news[1], News::Done(Duration::from_millis(5)), "each pulse for itself");
    }

    #[test]
    fn the_child_knows_better_than_the_clock_on_the_wall() {
        let mut meter = Meter::default();
        let start = Instant::now();
        let holding = |busy_ns| {
            let line = format!(
                r#"{{"event":"holding","device":{{"name":"synthetic","sm":"8.0","sms":1,"shared_per_block":1,"shared_per_block_optin":1,
                "l2_bytes":1,"memory_bytes":1,"driver_cuda":12080,"simulated":false}},"uuid":"GPU-synthetic","context_bytes":null,
                "arena_bytes":0,"arena_cap_bytes":0,"busy_ns":{busy_ns},"images":[]}}"#
            );
            Told::Said(Box::new(serde_json::from_str(&line).expect("is an event")))
        };
        for (before, after, spent_ms) in [(0.0, 3e6, 3), (3e6, 10e6, 7)] {
            meter.ask(&[
                Request::Headroom { paths: Globs::default() },
                Request::Hold(Hold::default()),
            ]);
            meter.hear(start, said(BenchState::Running));
            meter.hear(start, holding(before));
            let end = start + Duration::from_secs(1);
            meter.hear(end, said(BenchState::Finished));
            meter.hear(end, said(BenchState::Running));
            meter.hear(end, holding(after));
            let news = meter.hear(end, said(BenchState::Finished));
            assert_eq!(news[1], News::Done(Duration::from_millis(spent_ms)));
        }
    }
}
