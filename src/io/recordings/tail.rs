//! The end of a file that grows.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::runs::live::LiveRun;
use crate::runs::run_log::Reader;

/// Bytes read at once: of a file that is longer when it is found, its end.
const PIECE: u64 = 8 << 20;
/// Longest line that is waited for.
const LONGEST: usize = 1 << 20;

/// A run log, and how far it was read.
#[derive(Debug)]
pub(super) struct Tail {
    path: PathBuf,
    /// What it says so far.
    pub(super) run: LiveRun,
    /// Device and number of the file that was read last.
    file: Option<(u64, u64)>,
    at: u64,
    /// A line whose end is not written yet.
    rest: Vec<u8>,
}

impl Tail {
    pub(super) fn new(path: &Path) -> Self {
        let run = LiveRun::new(path.display().to_string());
        Self { path: path.to_owned(), run, file: None, at: 0, rest: Vec::new() }
    }

    /// Takes what was written since. A file that cannot be read now is tried again the next time.
    pub(super) fn read(&mut self) {
        if let Ok(bytes) = self.new_bytes() {
            self.take(&bytes);
        }
    }

    fn new_bytes(&mut self) -> io::Result<Vec<u8>> {
        let flags = libc::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (id, length) = ((about.dev(), about.ino()), about.len());
        if self.file.replace(id) != Some(id) || length < self.at {
            (self.at, self.rest) = (0, Vec::new());
        }
        if length - self.at > PIECE {
            self.skip_to(&mut file, length - PIECE)?;
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        self.at += file.take(PIECE).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }

    /// Goes on behind the first end of a line from a place on.
    fn skip_to(&mut self, file: &mut File, place: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(place))?;
        let mut piece = Vec::new();
        file.take(LONGEST as u64).read_to_end(&mut piece)?;
        let behind = piece.iter().position(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        (self.at, self.rest) = (place + behind, Vec::new());
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest = self.rest.split_off(whole);
        let mut reader = Reader::new(self.rest.as_slice());
        while let Ok(Some(record)) = reader.record() {
            self.run.take(record);
        }
        self.rest = if rest.len() > LONGEST { Vec::new() } else { rest };
    }
}
