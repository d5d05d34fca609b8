//! Lines that are written whole or taken back.

use std::fs::File;
use std::io::{self, ErrorKind, Write};

/// Complete lines on a writer that may fail halfway.
#[derive(Debug)]
pub(super) struct Lines<W> {
    pub(super) out: W,
    /// Whether the last line has no end.
    pub(super) torn: bool,
    pub(super) size: u64,
}

/// What the beginning of a line can be taken back from.
pub(super) trait Shorten {
    /// Makes it as long as before; fails where another process has written meanwhile.
    fn shorten(&mut self, now: u64, before: u64) -> io::Result<()>;
}

impl Shorten for File {
    fn shorten(&mut self, now: u64, before: u64) -> io::Result<()> {
        if self.metadata()?.len() != now {
            return Err(ErrorKind::ResourceBusy.into());
        }
        self.set_len(before)
    }
}

impl<W: Write + Shorten> Lines<W> {
    /// One `write` per line; a line torn before is closed first, and one that cannot be written whole is taken back.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.put(b"\n")?;
            self.torn = false;
        }
        let before = self.size;
        let outcome = self.put(line);
        if self.torn && self.out.shorten(self.size, before).is_ok() {
            self.size = before;
            self.torn = false;
        }
        outcome
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            bytes = &bytes[written..];
            self.size += written as u64;
            self.torn = !bytes.is_empty();
        }
        Ok(())
    }
}
