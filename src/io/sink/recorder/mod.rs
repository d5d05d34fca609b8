//! A recording on disk: every complete line readable whatever happens to the writer.
//!
//! A line is one `write` in append mode, so a killed program leaves at most its last line torn. A line
//! another recorder left torn is closed with a line feed and becomes one damaged line; cutting it off instead
//! was rejected, because a recorder should never destroy what it did not write. What a full disk left of a
//! line of its own is taken back.

mod lines;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpscope_probes::{bounded, private};

use super::jsonl;
use super::reader::{FrameReader, MAX_LINE};
use crate::runs::run_log::begins_run_log;
use lines::Lines;

/// How much disk a recording may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A new file is begun before this one grows beyond it. A single line larger than it is still written.
    pub max_size: Option<u64>,
    /// Older files kept beside it: `FILE.1`, the newest, to `FILE.keep`.
    pub keep: u64,
}

/// What a file holds, so that nothing else is written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Frames.
    Frames,
    /// Runs of a kernel: a journal.
    RunLog,
}

impl Holds {
    /// What its first line begins with.
    pub fn start(self) -> &'static [u8] {
        match self {
            Self::Frames => b"{\"schema\":",
            Self::RunLog => b"{\"type\":\"",
        }
    }

    /// What people call such a file.
    fn word(self) -> &'static str {
        match self {
            Self::Frames => "recording",
            Self::RunLog => "run log",
        }
    }
}

fn not_written(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        ErrorKind::StorageFull => {
            format!("no space left on the disk of {path}; recording resumes once there is some")
        }
        _ => format!("cannot write {path}: {error}"),
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file exists and holds something else.
    #[error("{0} exists and is not a {word}; choose another file", word = .1.word())]
    NotARecording(PathBuf, Holds),
    /// It is a device, a pipe or a folder.
    #[error("{0} is not a regular file; use `warpscope stream` to write to pipes")]
    NotAFile(PathBuf),
    /// Another program records into it.
    #[error("{0} is in use by another recorder; choose another file")]
    InUse(PathBuf),
    /// The system refused; recording may be tried again with the next frame.
    #[error("{}", not_written(.0, .1))]
    Io(PathBuf, io::Error),
    /// A frame could not be put into JSON.
    #[error("cannot serialize a frame: {0}")]
    Json(serde_json::Error),
}

/// Appends frames to a recording, or records to a journal.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    holds: Holds,
    limits: Limits,
    /// The file being written; `None` after a rotation until the next one could be opened.
    out: Option<Lines<File>>,
}

impl Recorder {
    /// Creates a recording, or goes on with an existing one. Never follows a symbolic link, never
    /// touches a file that is no recording.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, RecordError> {
        Self::open_as(Holds::Frames, path, limits)
    }

    /// As [`Recorder::open`], for a file that holds something else.
    pub fn open_as(holds: Holds, path: &Path, limits: Limits) -> Result<Self, RecordError> {
        for number in 1..=limits.keep.min(MAX_KEEP) {
            match bounded::open(&numbered(path, number)) {
                Ok(file) => check(holds, &numbered(path, number), &file)?,
                Err(error) if error.kind() == ErrorKind::NotFound => break,
                Err(error) => return Err(RecordError::Io(numbered(path, number), error)),
            }
        }
        let out = Some(open_file(holds, path)?);
        let limits = Limits { keep: limits.keep.min(MAX_KEEP), ..limits };
        Ok(Self { path: path.to_owned(), holds, limits, out })
    }

    /// Appends one frame or record. After an error the next may be tried all the same.
    pub fn write<T: Serialize>(&mut self, frame: &T) -> Result<(), RecordError> {
        let line = jsonl::line(frame).map_err(RecordError::Json)?;
        let full = |out: &Lines<File>| {
            let after = out.size + line.len() as u64;
            out.size > 0 && self.limits.max_size.is_some_and(|max| after > max)
        };
        if self.out.as_ref().is_some_and(full) {
            self.rotate()?;
        }
        let out = match self.out.take() {
            Some(out) => out,
            None => open_file(self.holds, &self.path)?,
        };
        self.out.insert(out).write(&line).map_err(|error| RecordError::Io(self.path.clone(), error))
    }

    /// FILE.2 becomes FILE.3, FILE.1 FILE.2, FILE FILE.1; the oldest goes.
    fn rotate(&mut self) -> Result<(), RecordError> {
        let name =
            |number| if number == 0 { self.path.clone() } else { numbered(&self.path, number) };
        let moved = |from: u64| match std::fs::rename(name(from), name(from + 1)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(RecordError::Io(name(from), error))
            }
            _ => Ok(()),
        };
        (0..self.limits.keep).rev().try_for_each(moved)?;
        if self.limits.keep == 0 {
            std::fs::remove_file(&self.path)
                .map_err(|error| RecordError::Io(self.path.clone(), error))?;
        }
        self.out = None;
        Ok(())
    }
}

impl Drop for Recorder {
    /// Closing the file is not enough: a child that another thread starts holds it open, and so locked, until it runs its own program.
    fn drop(&mut self) {
        if let Some(lines) = &self.out {
            let _ = lines.out.unlock();
        }
    }
}

/// The beginning that shows what a file holds.
const HEAD: u64 = 1 << 20;
/// More files than anyone keeps; bounds the loops over their names.
const MAX_KEEP: u64 = 1000;

fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn open_file(holds: Holds, path: &Path) -> Result<Lines<File>, RecordError> {
    let failed = |error| RecordError::Io(path.to_owned(), error);
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(private::MODE)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(failed)?;
    check(holds, path, &file)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(RecordError::InUse(path.to_owned())),
        // A file system without locks is no reason not to record.
        Err(TryLockError::Error(_)) => {}
    }
    let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let torn = size > 0 && last_byte(&mut file).map_err(failed)? != b'\n';
    Ok(Lines { out: file, torn, size })
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// An existing file must be empty or have a frame or record, whole or torn, in it.
fn check(holds: Holds, path: &Path, file: &File) -> Result<(), RecordError> {
    let failed = |error| RecordError::Io(path.to_owned(), error);
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(RecordError::NotAFile(path.to_owned()));
    }
    let fits = match holds {
        Holds::Frames => holds_frames(file),
        Holds::RunLog => holds_records(file),
    };
    if about.len() == 0 || fits.map_err(failed)? {
        return Ok(());
    }
    Err(RecordError::NotARecording(path.to_owned(), holds))
}

/// Whether a frame is found near the start, or nothing but a first line torn while it was written.
fn holds_frames(file: &File) -> io::Result<bool> {
    let mut input = BufReader::new(file.take(2 * MAX_LINE as u64));
    let begins_as_one = begins_as(input.fill_buf()?, Holds::Frames);
    let mut reader = FrameReader::new(input);
    let found = reader.next_head()?.is_some();
    Ok(found || (begins_as_one && reader.stats().damaged == 1))
}

/// Whether a record is found near the start, or nothing but a first line torn while it was written.
fn holds_records(file: &File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD).read_to_end(&mut head)?;
    Ok(begins_run_log(&head) || begins_as(&head, Holds::RunLog))
}

fn begins_as(first: &[u8], holds: Holds) -> bool {
    let start = holds.start();
    let common = first.len().min(start.len());
    first[..common] == start[..common]
}

#[cfg(test)]
mod tests;
