//! Where frames come from. Local, replay, remote and what-if differ only here.
//!
//! Sources push: a pulling loop would cost one more thread and one more wake-up per frame.

#[cfg(feature = "remote")]
pub mod fleet;
pub mod hosts;
pub mod local;
pub mod nvml;
mod player;
pub mod replay;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use warpscope_probes::fleet::Fleet;
use warpscope_probes::process::Usage;
use warpscope_probes::{Frame, Gpu, Notice, Severity, Timestamp};

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// Makes what was read of GPUs and of the processes on them late.
fn make_late<'a>(gpus: &mut [Gpu], usages: impl Iterator<Item = &'a mut Usage>) {
    gpus.iter_mut().for_each(Gpu::make_late);
    for usage in usages {
        Usage::FIELDS.iter().for_each(|field| (field.make_late)(usage));
    }
}

fn notice(id: &str, severity: Severity, what: String, remedy: &str) -> Notice {
    Notice { id: id.to_owned(), severity, what, remedy: remedy.to_owned() }
}

/// Takes a frame; returns false when nobody listens any more and the source should end.
pub type FrameSink = Arc<dyn Fn(Frame) -> bool + Send + Sync>;

/// What a source that knows of many machines tells besides the frames of the one in view.
#[derive(Clone, Debug)]
pub enum FleetNews {
    /// All of them.
    Fleet(Arc<Fleet>),
    /// Why nothing new comes.
    Trouble(String),
    /// The past of the machine in view, oldest first.
    Past(Vec<Frame>),
}

/// Takes what is told of many machines; returns false when nobody listens any more.
pub type FleetSink = Arc<dyn Fn(FleetNews) -> bool + Send + Sync>;

/// Something frames come from.
pub trait Source: Send {
    /// Starts pushing frames from threads of its own. Frames stop when the control is dropped.
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control>;

    /// The same for somebody who has room for many machines: a source that knows of so many pushes the frames of the one in view alone.
    fn start_with_fleet(self: Box<Self>, sink: FrameSink, _fleet: FleetSink) -> Box<dyn Control> {
        self.start(sink)
    }
}

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seek {
    /// So many seconds forth, or back when negative.
    By(f64),
    /// To this share of the recording, 0–1.
    To(f64),
}

/// Where a replay stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// Seconds from the first frame.
    pub at_s: f64,
    /// Seconds from the first to the last frame.
    pub length_s: f64,
    /// Whether it stands still.
    pub paused: bool,
    /// Factor against real time.
    pub speed: f64,
    /// Damaged lines that were skipped.
    pub damaged: u64,
}

/// The hand on a running source. What a source cannot do, it ignores.
pub trait Control: Send {
    /// Aims at one frame per `interval`.
    fn set_interval(&mut self, _interval: Duration) {}
    /// Whether values that no summary shows may be older than the frame.
    fn set_brief(&mut self, _brief: bool) {}
    /// The newest state when no frame came in time, overdue values marked late.
    fn overdue(&mut self) -> Option<Frame> {
        None
    }
    /// Brings a machine of many into view.
    fn look_at(&mut self, _machine: &str) {}
    /// Moves within a recording.
    fn seek(&mut self, _to: Seek) {}
    /// Stops or continues a recording.
    fn set_paused(&mut self, _paused: bool) {}
    /// Changes the speed of a recording.
    fn set_speed(&mut self, _speed: f64) {}
    /// Where a recording stands; `None` for a live source.
    fn position(&self) -> Option<Position> {
        None
    }
}
