//! The recording that the key `R` starts: frames as they come, into a file of their own.

use std::path::PathBuf;
use std::time::SystemTime;
use std::{env, fs};

use warpscope_probes::{Frame, private};

use crate::io::sink::{Limits, Recorder};
use crate::shell::Recorded;

/// A recording being written.
pub(crate) struct Recording {
    recorder: Recorder,
    recorded: Recorded,
}

impl Recording {
    /// Begins a file named after the moment, where programs keep what they were asked to keep.
    pub(crate) fn start() -> Result<Self, String> {
        let folder = state_folder().ok_or("no home to record into; set XDG_STATE_HOME")?;
        let folder = folder.join("recordings");
        private::folder(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let path = folder.join(format!("{}.jsonl", now.replace(':', "-")));
        let recorder =
            Recorder::open(&path, Limits::default()).map_err(|error| error.to_string())?;
        Ok(Self { recorder, recorded: Recorded { path, bytes: 0, missed: 0, trouble: None } })
    }

    /// Writes one frame; trouble is told and the next frame tried all the same.
    pub(crate) fn take(&mut self, frame: &Frame) -> Recorded {
        let written = self.recorder.write(frame);
        self.recorded.trouble = written.err().map(|error| error.to_string());
        self.recorded.missed += u64::from(self.recorded.trouble.is_some());
        let about = fs::metadata(&self.recorded.path);
        self.recorded.bytes = about.map_or(self.recorded.bytes, |about| about.len());
        self.recorded.clone()
    }

    /// What stands on the screen about it.
    pub(crate) fn recorded(&self) -> Recorded {
        self.recorded.clone()
    }
}

/// The folder of what the program keeps about this machine.
pub(super) fn state_folder() -> Option<PathBuf> {
    let absolute =
        |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("warpscope"))
}
