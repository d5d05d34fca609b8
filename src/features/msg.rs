//! What happens, and what the outside is asked to do, by feature.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use warpscope_probes::Frame;

use super::keys::Chord;
use super::{bench, compat, fleet, history, processes};
use crate::config::Value;
use crate::engine::explain::Answer;
use crate::io::source::{Position, Seek};
use crate::widgets::{Hit, Shown};

/// Everything that can happen.
#[derive(Debug)]
pub enum Msg {
    /// A new frame.
    Frame(Box<Frame>),
    /// Where the recording stands.
    Position(Position),
    /// A key.
    Key(Chord),
    /// Text that was pasted.
    Pasted(String),
    /// The cause of the error in a text that was pasted.
    Explained(Arc<str>, Arc<Answer>),
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
    /// These options are in the configuration file now.
    Saved(BTreeMap<&'static str, Value>),
    /// Where a recording of frames stands; none: it has ended. Or why there is none.
    Recorded(Result<Option<Recorded>, String>),
    /// What the last drawing showed of something that scrolls, on the tab or in the popup over it.
    Shown(Shown),
    /// Something for the Bench tab.
    Bench(bench::Msg),
    /// Something for the Compat tab.
    Compat(compat::Msg),
    /// Something for the Fleet tab.
    Fleet(fleet::Msg),
    /// Something for the History tab.
    History(history::Msg),
}

/// A recording of frames being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Frames that could not be written.
    pub missed: u64,
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
    /// Find the cause of the error in a text.
    Explain(Arc<str>),
    /// Put text on the clipboard.
    Copy(String),
    /// Use the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Tell the user of an alert wherever they asked for it.
    Alert(String),
    /// Write these options to the configuration file.
    SaveOptions(BTreeMap<&'static str, Value>),
    /// Start recording frames, or stop.
    Record(bool),
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
    /// Something for the benchmark.
    Bench(bench::Cmd),
    /// Something for the answers of the Compat tab.
    Compat(compat::Cmd),
    /// Something for the source of many machines.
    Fleet(fleet::Cmd),
    /// Something for the History tab.
    History(history::Cmd),
    /// Something for a process.
    Processes(processes::Cmd),
}

macro_rules! of_features {
    ($($feature:ident $variant:ident: $($what:ident)*;)*) => {$($(
        impl From<$feature::$what> for $what {
            fn from(one: $feature::$what) -> Self {
                Self::$variant(one)
            }
        }
    )*)*};
}

of_features! {
    bench Bench: Msg Cmd;
    compat Compat: Msg Cmd;
    fleet Fleet: Msg Cmd;
    history History: Msg Cmd;
    processes Processes: Cmd;
}
