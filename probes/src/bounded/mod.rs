//! Files that others wrote: opened without waiting, read no further than a limit.
//!
//! Every path from outside is opened here. A name may lead to a device that never ends, to a pipe nobody writes into, or to a file that grows
//! while it is read. So the kind is asked before opening and again afterwards, and the limit holds while reading: sizes that the file system
//! reports are not believed. Errors leave out the path, which the caller knows.

mod values;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub use values::{Skipped, Value, Values};

/// How long a pipe may stay silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// Regular files: the reader seeks, or opens the path again.
    Files,
    /// Pipes too, such as `<(command)` in a shell.
    Pipes,
}

/// A file or pipe, open for reading. A pipe that stays silent for half a minute is an error, so no read waits for ever.
#[derive(Debug)]
pub struct Input {
    file: File,
    is_pipe: bool,
    patience: Duration,
}

impl Input {
    /// Opens a path without waiting.
    pub fn open(path: &Path, accept: Accept) -> io::Result<Self> {
        // Asked first, because opening alone already moves some devices.
        check(&path.metadata()?, accept)?;
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let about = file.metadata()?;
        check(&about, accept)?;
        Ok(Self { file, is_pipe: about.file_type().is_fifo(), patience: PATIENCE })
    }

    fn wait(&self) -> io::Result<()> {
        let timeout = Timespec { tv_sec: self.patience.as_secs().cast_signed(), tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout))? {
            0 => Err(io::Error::new(
                ErrorKind::TimedOut,
                format!("nothing came through this pipe for {} s", self.patience.as_secs()),
            )),
            _ => Ok(()),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_pipe {
            return self.file.read(buffer);
        }
        loop {
            self.wait()?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}

/// Opens a regular file without waiting; refuses everything else.
pub fn open(path: &Path) -> io::Result<File> {
    Input::open(path, Accept::Files).map(|input| input.file)
}

/// The content of a file that has at most `limit` bytes.
pub fn read(path: &Path, accept: Accept, limit: u64) -> io::Result<Vec<u8>> {
    read_all(Input::open(path, accept)?, limit)
}

/// The content of a text file that has at most `limit` bytes, without its byte order mark.
pub fn text(path: &Path, accept: Accept, limit: u64) -> io::Result<String> {
    read(path, accept, limit).and_then(into_text)
}

/// Everything up to the end of the input, which must come within `limit` bytes.
pub fn read_all(input: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("larger than {}, the limit for such a file", size(limit)),
        ));
    }
    Ok(bytes)
}

/// Bytes as text without a byte order mark; an error names the line that is no text.
pub fn into_text(bytes: Vec<u8>) -> io::Result<String> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        io::Error::new(
            ErrorKind::InvalidData,
            format!("line {line} is not UTF-8 text; save the file as UTF-8"),
        )
    })?;
    if text.starts_with(MARK) {
        text.drain(..MARK.len_utf8());
    }
    Ok(text)
}

/// What some editors put in front of UTF-8.
const MARK: char = '\u{feff}';

fn check(about: &Metadata, accept: Accept) -> io::Result<()> {
    // Linux's /dev/null, the usual name of an empty file.
    const NULL: u64 = libc::makedev(1, 3);
    let kind = about.file_type();
    let why = match () {
        () if kind.is_char_device() && about.rdev() == NULL => return Ok(()),
        () if kind.is_file() || (kind.is_fifo() && accept == Accept::Pipes) => return Ok(()),
        () if kind.is_dir() => "is a folder, not a file",
        () if kind.is_fifo() => "is a pipe, not a file; write its content to a file first",
        () if kind.is_socket() => "is a socket, not a file",
        () => "is a device, not a file",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, why))
}

/// A limit in words.
fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests;
