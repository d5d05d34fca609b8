//! A recording as a source: the same frames, at the pace they were recorded or any other.
//!
//! Opening reads the heads of all lines and keeps where each stands, so that seeking is at once and a
//! recording may be larger than memory. Pacing and position are pure (`player.rs`); the thread only
//! waits, reads one line and pushes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use warpscope_probes::bounded::{self, Skipped};
use warpscope_probes::{Frame, Origin};

use super::player::{Entry, Player};
use super::{Control, FrameSink, Position, Seek, Source};
use crate::io::sink::{FrameReader, MAX_LINE, ReadStats};

/// Why a recording cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The system refused.
    #[error("cannot read {0}: {1}")]
    Io(PathBuf, io::Error),
    /// Not a line of it is a frame.
    #[error("{0} contains no frames; `warpscope record FILE` makes a recording")]
    NotARecording(PathBuf),
}

/// What happens after the last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtEnd {
    /// The last frame stays, and one may seek back.
    Wait,
    /// The source ends and drops its sink.
    Stop,
}

/// A recording as a source.
#[derive(Debug)]
pub struct ReplaySource {
    file: File,
    name: String,
    player: Player,
    stats: ReadStats,
    skipped: Skipped,
    at_end: AtEnd,
}

impl ReplaySource {
    /// Opens a recording and finds its frames. It stands at the first, plays at real time and waits
    /// at the end.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let failed = |error| ReplayError::Io(path.to_owned(), error);
        let file = bounded::open(path).map_err(failed)?;
        let (entries, reader) = index(&file).map_err(failed)?;
        let (stats, skipped) = (reader.stats(), reader.skipped().clone());
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        match Player::new(entries) {
            Some(player) => Ok(Self { file, name, player, stats, skipped, at_end: AtEnd::Wait }),
            None => Err(ReplayError::NotARecording(path.to_owned())),
        }
    }

    /// The same at another speed.
    pub fn at_speed(mut self, speed: f64) -> Self {
        self.player.set_speed(speed);
        self
    }

    /// The same from another moment on.
    pub fn from(mut self, start: Duration) -> Self {
        self.player.seek(Seek::By(start.as_secs_f64()));
        self
    }

    /// The same with another end.
    pub fn ending(mut self, at_end: AtEnd) -> Self {
        self.at_end = at_end;
        self
    }

    /// What of the recording could not be read.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Frames found, lines skipped, frames of a newer format.
    pub fn stats(&self) -> ReadStats {
        self.stats
    }
}

fn index(file: &File) -> io::Result<(Vec<Entry>, FrameReader<BufReader<&File>>)> {
    let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, file));
    let mut entries = Vec::new();
    while let Some(found) = reader.next_head()? {
        entries.push(Entry {
            offset: found.offset,
            length: found.length,
            at: found.what.at,
            interval_s: found.what.interval_s,
        });
    }
    Ok((entries, reader))
}

impl Source for ReplaySource {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        let (commands, orders) = channel();
        let position = Arc::new(Mutex::new(self.player.position(self.stats.damaged)));
        let shared = Arc::clone(&position);
        let thread =
            Thread { source: *self, sink, orders, position: shared, unreadable: BTreeSet::new() };
        let control = ReplayControl { commands, position };
        // Without a thread nothing is ever pushed, and the position still answers.
        let _ = thread::Builder::new().name("replay".into()).spawn(move || thread.run());
        Box::new(control)
    }
}

enum Order {
    Seek(Seek),
    Pause(bool),
    Speed(f64),
}

struct ReplayControl {
    commands: Sender<Order>,
    position: Arc<Mutex<Position>>,
}

impl ReplayControl {
    /// A thread that has ended takes no orders, and needs none.
    fn order(&self, order: Order) {
        let _ = self.commands.send(order);
    }
}

impl Control for ReplayControl {
    fn seek(&mut self, to: Seek) {
        self.order(Order::Seek(to));
    }

    fn set_paused(&mut self, paused: bool) {
        self.order(Order::Pause(paused));
    }

    fn set_speed(&mut self, speed: f64) {
        self.order(Order::Speed(speed));
    }

    fn position(&self) -> Option<Position> {
        Some(self.position.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

struct Thread {
    source: ReplaySource,
    sink: FrameSink,
    orders: Receiver<Order>,
    position: Arc<Mutex<Position>>,
    /// Offsets of lines that begin as a frame and are none.
    unreadable: BTreeSet<u64>,
}

impl Thread {
    /// Ends when nobody listens, when the control is gone, or at the end where that was asked for.
    fn run(mut self) {
        let mut open = self.push();
        let mut pushed = Instant::now();
        while open {
            let due = self.source.player.due();
            if due.is_none() && self.source.player.is_at_end() && self.source.at_end == AtEnd::Stop
            {
                return;
            }
            open = match self.wait(due.map(|due| due.saturating_sub(pushed.elapsed()))) {
                Wait::Due => self.source.player.advance() && self.push(),
                Wait::Moved => self.push(),
                Wait::Changed => {
                    self.publish();
                    continue;
                }
                Wait::Closed => false,
            };
            pushed = Instant::now();
        }
    }

    fn wait(&mut self, due: Option<Duration>) -> Wait {
        let order = match due {
            Some(due) => self.orders.recv_timeout(due),
            None => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(Order::Seek(to)) => {
                self.source.player.seek(to);
                Wait::Moved
            }
            Ok(Order::Pause(paused)) => {
                self.source.player.set_paused(paused);
                Wait::Changed
            }
            Ok(Order::Speed(speed)) => {
                self.source.player.set_speed(speed);
                Wait::Changed
            }
            Err(RecvTimeoutError::Timeout) => Wait::Due,
            Err(RecvTimeoutError::Disconnected) => Wait::Closed,
        }
    }

    fn publish(&self) {
        let damaged = self.source.stats.damaged + self.unreadable.len() as u64;
        let position = self.source.player.position(damaged);
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = position;
    }

    /// Pushes the frame it stands at; one whose line does not read (any more) is counted and left out.
    fn push(&mut self) -> bool {
        let frame = self.read();
        if frame.is_none() {
            self.unreadable.insert(self.source.player.entry().offset);
        }
        self.publish();
        frame.is_none_or(|frame| (self.sink)(frame))
    }

    fn read(&mut self) -> Option<Frame> {
        let entry = self.source.player.entry();
        let length = usize::try_from(entry.length).ok().filter(|length| *length <= MAX_LINE)?;
        let mut line = vec![0; length];
        self.source.file.seek(SeekFrom::Start(entry.offset)).ok()?;
        self.source.file.read_exact(&mut line).ok()?;
        let mut frame: Frame = serde_json::from_slice(&line).ok()?;
        let host = match frame.origin {
            Origin::Remote { host } => Some(host),
            Origin::Replay { host, .. } => host,
            Origin::Local => None,
        };
        frame.origin = Origin::Replay { file: self.source.name.clone(), host };
        Some(frame)
    }
}

enum Wait {
    /// Time for the next frame.
    Due,
    /// It stands elsewhere.
    Moved,
    /// It plays otherwise.
    Changed,
    /// The control is gone.
    Closed,
}
