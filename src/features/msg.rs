use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use warpscope_probes::Frame;
use warpscope_probes::inspect::{Advance, Survey};
use warpscope_probes::live::ProbeReport;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;
use warpscope_probes::trust::Vetted;

use super::bench::device::Task;
use super::processes::SortBy;
use crate::features::compat::probing::Probing;
use crate::io::source::{Position, Seek};
use crate::runs::compare::Comparison;
use crate::shell::keymap::Chord;
use crate::shell::view::Tab;
use crate::store::kernels::Trend;
use crate::worker::Update;

/// Everything that can happen.
#[derive(Debug)]
pub enum Msg {
    /// A new frame.
    Frame(Box<Frame>),
    /// Where the recording stands.
    Position(Position),
    /// What came of the commands to a device's worker, by the device's key.
    Worker(String, Update),
    /// A key.
    Key(Chord),
    /// A click on something that was drawn.
    Click(Hit),
    /// The wheel, in rows; negative is up.
    Scroll(isize),
    /// The terminal has a new size: rows of the body.
    Resize {
        /// Rows.
        rows: usize,
    },
    /// The program is asked to go to the background.
    Suspend,
    /// What became of a command, for the user to read.
    Answer(String),
    /// Where a recording of frames stands; none: it has ended. Or why there is none.
    Recorded(Result<Option<Recorded>, String>),
    /// The rules to answer by, once they are read.
    Rules(Arc<RuleBase>),
    /// How far the look at what is installed has come.
    Inspecting(Advance),
    /// What is installed on this machine, and the day it was looked at.
    Survey(Arc<Survey>, String),
    /// What processes that are new on a GPU use, and the day they were looked at.
    Processes(Arc<Survey>, String),
    /// What probes found on a GPU, by its UUID: before, or now, or why not now.
    Probed(String, Result<Vec<ProbeReport>, String>),
    /// Copies of cuBLAS that probes are about to load, and those they leave alone.
    ProbeLibraries(Vetted),
    /// What became of reading a model: its path as asked for, the model or why there is none.
    Model(String, Result<Model, String>),
    /// What the store of runs holds, or why it cannot be read.
    History(Result<Vec<Trend>, String>),
    /// Two runs beside each other, the older first, or why they cannot be compared.
    Compared((i64, i64), Result<Comparison, String>),
    /// What the last drawing showed of a Compat matrix, or of a page over any tab.
    Shown(Shown),
}

/// A recording of frames being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Why the last frame is not in it.
    pub trouble: Option<String>,
}

/// Everything the outside is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Leave.
    Quit,
    /// Ask the source for another interval.
    SetInterval(Duration),
    /// See to the worker of a device, by the device's key.
    Worker(String, Task),
    /// Send a signal to a process, if it still is the one that was shown.
    Signal {
        /// Process id.
        pid: u32,
        /// Signal number.
        signal: i32,
        /// Start time in milliseconds since the epoch.
        started_at: Option<u64>,
    },
    /// Put text on the clipboard.
    Copy(String),
    /// Read the model at a path.
    ReadModel(String),
    /// Start recording frames, or stop.
    Record(bool),
    /// Read the store of runs.
    ReadHistory,
    /// Compare two runs of it, by hash, the older first.
    CompareRuns(i64, i64),
    /// Look at what is installed, also in the environments of these processes, and not before this time has passed.
    Inspect(Vec<u32>, Duration),
    /// Stop looking.
    StopInspecting,
    /// Look at what these processes use, and at nothing else.
    InspectProcesses(Vec<u32>),
    /// Read what probes found before on these GPUs: UUID and driver.
    ReadProbes(Vec<(String, String)>),
    /// Run the live probes on a GPU.
    Probe(Probing),
    /// Draw everything again.
    Repaint,
    /// Go to the background.
    Suspend,
    /// Move in the recording.
    Seek(Seek),
    /// Stop or continue the recording.
    PauseReplay(bool),
    /// Change the speed of the recording.
    ReplaySpeed(f64),
}

/// The part of something that scrolls which a drawing showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// First line.
    pub line: usize,
    /// Number of lines there was room for.
    pub lines: usize,
    /// First column.
    pub column: usize,
}

/// Something on the screen that can be clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A tab's title.
    Tab(Tab),
    /// A row of the tab, or of the popup over it.
    Row(usize),
    /// A cell of the Compat matrix.
    Cell {
        /// Row.
        row: usize,
        /// GPU.
        column: usize,
    },
    /// A GPU: the head of its column in the Compat matrix, its line on the Bench tab.
    Gpu(usize),
    /// The answer below or beside the Compat matrix.
    Answer,
    /// A column head of the Processes tab.
    Sort(SortBy),
}
