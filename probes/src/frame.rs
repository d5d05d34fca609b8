//! One moment of everything that was read: the recording, the wire format and the fixture are this type.
//!
//! A frame is complete by itself. Deltas would be smaller on disk and were rejected: a damaged line
//! must cost one frame, and a replay must be able to start anywhere.

use serde::{Deserialize, Serialize};

use crate::driver::Driver;
use crate::gpu::Gpu;
use crate::host::Host;
use crate::notice::Notice;
use crate::process::Process;
use crate::time::Timestamp;

/// Number of the JSON format; raised when a reader of the old one would misread the new one.
pub const SCHEMA: u32 = 1;

/// Where a frame comes from. Everything but [`Origin::Local`] says so on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Origin {
    /// This machine, now.
    #[default]
    Local,
    /// A recording.
    Replay {
        /// File name, for the header.
        file: String,
        /// The machine, where the recording is of another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    },
    /// Another machine.
    Remote {
        /// Host name, for the header.
        host: String,
    },
}

/// One moment of everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Counts up from 1 within one run of a source; 0 before the first answer.
    pub seq: u64,
    /// When the frame was put together, RFC 3339, UTC.
    pub at: Timestamp,
    /// Seconds between frames the source aims at.
    pub interval_s: f64,
    /// Where the frame comes from.
    #[serde(default)]
    pub origin: Origin,
    /// The NVIDIA driver, or why there is none.
    #[serde(default)]
    pub driver: Driver,
    /// The machine around the GPUs.
    #[serde(default)]
    pub host: Host,
    /// Real GPUs first, then what-if ones.
    #[serde(default)]
    pub gpus: Vec<Gpu>,
    /// Processes that hold something on a GPU.
    #[serde(default)]
    pub processes: Vec<Process>,
    /// Whether processes are not told of: that none is listed then says nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_processes: bool,
    /// What the user should know.
    #[serde(default)]
    pub notices: Vec<Notice>,
}
