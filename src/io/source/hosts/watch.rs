//! One host: connected again and again, its last frame kept and marked late while it is away.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;
use tokio::sync::watch::Receiver;
use tokio::time::timeout;
use warpscope_probes::driver::DriverState;
use warpscope_probes::{Frame, Notice, Origin, SCHEMA, Severity, Timestamp};

use super::backoff::Backoff;
use super::connection::{Connection, Ssh, Trouble};
use super::name::HostName;
use super::nvidia_smi::Pace;
use super::script::{Hello, Means, stream};
use crate::io::source::{make_late, notice, now};

/// How long after its time a frame counts as late.
const GRACE: Duration = Duration::from_millis(750);
/// A host that is silent for so long, beyond its interval, is connected to anew.
const SILENCE: Duration = Duration::from_secs(30);

/// Watches one host.
pub(super) struct Watch {
    host: HostName,
    ssh: Arc<Ssh>,
    build: String,
    interval: Receiver<Duration>,
    frames: Sender<Frame>,
    last: Frame,
    /// How far apart its frames are.
    pace: Duration,
    /// How far its clock was ahead of the one here with its last frame, milliseconds modulo 2^64.
    ahead_ms: u64,
    backoff: Backoff,
}

/// Why a connection is not read any more.
enum End {
    Lost(Trouble),
    /// It is to be read at another pace.
    Repaced,
    /// Nobody takes frames any more.
    Closed,
}

impl Watch {
    pub(super) fn new(
        host: HostName,
        ssh: Arc<Ssh>,
        build: &str,
        interval: Receiver<Duration>,
        frames: Sender<Frame>,
    ) -> Self {
        let origin = Origin::Remote { host: host.to_string() };
        let last = Frame { schema: SCHEMA, origin, ..Frame::default() };
        let (build, pace) = (build.to_owned(), *interval.borrow());
        let backoff = Backoff::new();
        Self { host, ssh, build, interval, frames, last, pace, ahead_ms: 0, backoff }
    }

    pub(super) async fn run(mut self) {
        let connecting =
            notice("host.connecting", Severity::Info, format!("Connecting to {}.", self.host), "");
        if !self.push_late(connecting).await {
            return;
        }
        loop {
            let begun = Instant::now();
            let trouble = match self.serve().await {
                End::Closed => return,
                End::Repaced => continue,
                End::Lost(trouble) => trouble,
            };
            let wait = self.backoff.wait(begun.elapsed(), chance());
            if !self.push_lost(&trouble, wait).await {
                return;
            }
            if let Ok(Err(_)) = timeout(wait, self.interval.changed()).await {
                return;
            }
        }
    }

    /// Reads one connection to its end.
    async fn serve(&mut self) -> End {
        let every = *self.interval.borrow_and_update();
        let opened = Connection::open(&self.ssh, &self.host, &stream(&self.build, every)).await;
        let (mut connection, hello) = match opened {
            Ok(opened) => opened,
            Err(trouble) => return End::Lost(trouble),
        };
        if hello.means == Means::Nothing {
            return End::Lost(self.nothing_there());
        }
        self.pace = every;
        let mut pace = Pace::new(every, Instant::now());
        loop {
            let end = match self.frame_of(&mut connection).await {
                Ok(frame) => {
                    if hello.means == Means::NvidiaSmi {
                        self.pace = pace.came(Instant::now());
                    }
                    match self.push(frame, &hello).await {
                        true => self.order(),
                        false => Some(End::Closed),
                    }
                }
                Err(None) => return End::Lost(connection.end(&self.host).await),
                Err(end) => end,
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// What this side wants meanwhile, if anything.
    fn order(&self) -> Option<End> {
        match self.interval.has_changed() {
            Ok(false) => None,
            Ok(true) => Some(End::Repaced),
            Err(_) => Some(End::Closed),
        }
    }

    /// The next frame of a connection; without one in time, the last one again. An error without a reason: it ended.
    async fn frame_of(&mut self, connection: &mut Connection) -> Result<Frame, Option<End>> {
        let mut reading = pin!(connection.next_frame());
        let begun = Instant::now();
        loop {
            match timeout(self.pace + GRACE, reading.as_mut()).await {
                Ok(frame) => return frame.ok_or(None),
                Err(_) if begun.elapsed() > self.pace + SILENCE => {
                    let what = format!("silent for {} s", begun.elapsed().as_secs());
                    return Err(Some(End::Lost(Trouble::of(&what, &self.host))));
                }
                Err(_) => {
                    if let Some(end) = self.order() {
                        return Err(Some(end));
                    }
                    if self.last.seq > 0 && self.frames.send(self.late()).await.is_err() {
                        return Err(Some(End::Closed));
                    }
                }
            }
        }
    }

    fn nothing_there(&self) -> Trouble {
        Trouble {
            what: "neither warpscope nor nvidia-smi is installed there".to_owned(),
            remedy: format!("`warpscope host install {}` sends this program.", self.host),
        }
    }

    /// Passes on a frame of the host as one of this name, whatever it says of itself. False: nobody listens.
    async fn push(&mut self, mut frame: Frame, hello: &Hello) -> bool {
        frame.origin = Origin::Remote { host: self.host.to_string() };
        if hello.means == Means::NvidiaSmi {
            frame.seq = self.last.seq + 1;
            frame.interval_s = self.pace.as_secs_f64();
            frame.notices.push(notice(
                "host.nvidia_smi",
                Severity::Info,
                format!("{} is read through nvidia-smi, which reports less.", self.host),
                &format!("`warpscope host install {}` sends this program.", self.host),
            ));
        }
        if frame.schema > SCHEMA {
            let what =
                format!("{} runs a newer warpscope: what is new there is not shown.", self.host);
            frame.notices.push(notice(
                "host.newer",
                Severity::Warning,
                what,
                "Update warpscope here.",
            ));
        }
        self.ahead_ms = frame.at.0.wrapping_sub(now().0);
        self.last.clone_from(&frame);
        self.frames.send(frame).await.is_ok()
    }

    async fn push_lost(&self, trouble: &Trouble, wait: Duration) -> bool {
        let seconds = wait.as_secs_f64().ceil();
        let what = format!(
            "{} is not connected: {}; next attempt in {seconds} s.",
            self.host, trouble.what
        );
        self.push_late(notice(Notice::HOST_LOST, Severity::Error, what, &trouble.remedy)).await
    }

    /// The last frame with everything late, and why.
    async fn push_late(&self, why: Notice) -> bool {
        let mut frame = self.late();
        if frame.driver.status == DriverState::Starting && why.severity == Severity::Error {
            frame.driver.status = DriverState::Failed { error: why.what.clone() };
        }
        frame.notices.retain(|notice| notice.id != why.id);
        frame.notices.insert(0, why);
        self.frames.send(frame).await.is_ok()
    }

    fn late(&self) -> Frame {
        let mut frame = self.last.clone();
        // In the time of the host, whose graphs would else go back and forth.
        frame.at = Timestamp(now().0.wrapping_add(self.ahead_ms)).max(self.last.at);
        frame.interval_s = self.pace.as_secs_f64();
        make_late(&mut frame.gpus, frame.processes.iter_mut().map(|process| &mut process.usage));
        frame
    }
}

/// Any number, another one each time.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}
