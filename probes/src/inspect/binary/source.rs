//! Bytes to parse, wherever they lie: a buffer, a file, a part of either, a member of an archive.
//!
//! Everything is read by position and in small pieces. Mapping the file was rejected: a file that shrinks while it is mapped kills the
//! process (SIGBUS), pages touched by the scan count as this program's memory, and `pread` of a kilobyte costs under a microsecond.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that can be read by position.
pub trait Source {
    /// How many there are.
    fn len(&self) -> u64;

    /// Fills as much of `into` as there is from `at` on; less than that only at the end.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Whether going back costs reading everything before it again.
    fn forward_only(&self) -> bool {
        false
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Source for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let Some(rest) = usize::try_from(at).ok().and_then(|at| self.get(at..)) else {
            return Ok(0);
        };
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A file, as long as it was when it was opened.
#[derive(Debug)]
pub struct OnDisk {
    file: File,
    len: u64,
}

impl OnDisk {
    /// Takes an open file.
    pub fn new(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file, len })
    }
}

impl Source for OnDisk {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.file.read_at(&mut into[filled..], at + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// A part of a source, with positions of its own.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    source: &'a dyn Source,
    start: u64,
    len: u64,
}

impl<'a> Section<'a> {
    /// `len` bytes from `start` on, or fewer where the source ends before.
    pub fn new(source: &'a dyn Source, start: u64, len: u64) -> Self {
        let start = start.min(source.len());
        Self { source, start, len: len.min(source.len() - start) }
    }
}

impl Source for Section<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let left = self.len.saturating_sub(at);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        if count == 0 {
            return Ok(0);
        }
        self.source.read_at(self.start + at, &mut into[..count])
    }

    fn forward_only(&self) -> bool {
        self.source.forward_only()
    }
}

/// Why bytes could not be understood.
#[derive(Debug)]
pub(super) enum Fault {
    /// They could not be read.
    Read(io::Error),
    /// They end too early.
    Short {
        /// Where something was expected.
        at: u64,
    },
    /// They contradict themselves.
    Malformed {
        /// What is wrong.
        what: &'static str,
        /// Where.
        at: u64,
    },
    /// They are of a kind that is not read here, which says nothing against them.
    Unsupported(&'static str),
}

impl Fault {
    /// Why the file cannot be whole, where that is what it comes to.
    pub(super) fn damage(&self) -> Option<String> {
        match self {
            Self::Short { .. } => Some("it was cut short".to_owned()),
            Self::Malformed { .. } => Some(self.to_string()),
            // As flate2 calls a corrupt stream.
            Self::Read(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Some(self.to_string())
            }
            Self::Read(_) | Self::Unsupported(_) => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "reading failed: {error}"),
            Self::Short { at } => write!(f, "the file ends before offset {at:#x}"),
            Self::Malformed { what, at } => write!(f, "{what} at offset {at:#x}"),
            Self::Unsupported(what) => f.write_str(what),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// How much is read at once while hopping from header to header: mostly one page.
const AHEAD: usize = 1024;

/// Reads numbers by position, through a small buffer.
pub(super) struct Reader<'a> {
    source: &'a dyn Source,
    buffer: Vec<u8>,
    start: u64,
    filled: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self { source, buffer: vec![0; AHEAD], start: 0, filled: 0 }
    }

    pub(super) fn len(&self) -> u64 {
        self.source.len()
    }

    /// `count` bytes from `at` on, all of them.
    pub(super) fn bytes(&mut self, at: u64, count: usize) -> Result<&[u8], Fault> {
        let missing = Fault::Short { at };
        let end = at.checked_add(count as u64).filter(|end| *end <= self.source.len());
        let Some(end) = end else { return Err(missing) };
        if at < self.start || end > self.start + self.filled as u64 {
            if self.buffer.len() < count {
                self.buffer.resize(count, 0);
            }
            self.filled = 0;
            self.start = at;
            self.filled = self.source.read_at(at, &mut self.buffer)?;
        }
        let from = (at - self.start) as usize;
        self.buffer[..self.filled].get(from..from + count).ok_or(missing)
    }

    /// Exactly `N` bytes.
    pub(super) fn array<const N: usize>(&mut self, at: u64) -> Result<[u8; N], Fault> {
        let bytes = self.bytes(at, N)?;
        bytes.try_into().map_err(|_| Fault::Short { at })
    }

    /// `count` bytes in a buffer of their own; the caller has bounded the count.
    pub(super) fn copy(&mut self, at: u64, count: usize) -> Result<Vec<u8>, Fault> {
        if at.checked_add(count as u64).is_none_or(|end| end > self.source.len()) {
            return Err(Fault::Short { at });
        }
        let mut bytes = vec![0; count];
        let filled = self.source.read_at(at, &mut bytes)?;
        if filled < count { Err(Fault::Short { at }) } else { Ok(bytes) }
    }
}

/// A little-endian number inside a header, zero where the header is too short to hold it.
pub(super) fn u16_in(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

/// See [`u16_in`].
pub(super) fn u32_in(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// See [`u16_in`].
pub(super) fn u64_in(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_its_source_does() {
        let bytes: &[u8] = b"0123456789";
        let section = Section::new(&bytes, 6, 100);
        assert_eq!(section.len(), 4);
        let mut into = [0; 8];
        assert_eq!(section.read_at(1, &mut into).unwrap(), 3);
        assert_eq!(&into[..3], b"789");
        assert_eq!(section.read_at(99, &mut into).unwrap(), 0);
        assert_eq!(Section::new(&bytes, u64::MAX, u64::MAX).len(), 0);
    }

    #[test]
    fn what_is_not_there_is_short_and_never_zero() {
        let bytes: &[u8] = b"0123456789";
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.bytes(8, 2).unwrap(), b"89");
        assert_eq!(reader.bytes(0, 10).unwrap(), b"0123456789");
        for (at, count) in [(9, 2), (10, 1), (u64::MAX, 1), (0, usize::MAX)] {
            assert!(matches!(reader.bytes(at, count), Err(Fault::Short { .. })), "{at} {count}");
        }
    }

    #[test]
    fn a_file_that_shrank_is_short() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let on_disk = OnDisk::new(file.try_clone().unwrap()).unwrap();
        let mut reader = Reader::new(&on_disk);
        assert!(reader.bytes(0, 16).is_ok());
        file.set_len(100).unwrap();
        assert!(matches!(reader.bytes(2048, 16), Err(Fault::Short { .. })));
        assert!(matches!(reader.copy(0, 4096), Err(Fault::Short { .. })));
    }
}
