//! The input that is being tried, in a file: it outlives a process that a stack overflow or a lack of memory ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes before the input: the name of the target, filled up with zeros, and the length.
const NAME: usize = 32;
const HEADER: usize = NAME + 8;

/// The file, kept open.
#[derive(Debug)]
pub struct Current {
    file: File,
    buffer: Vec<u8>,
}

impl Current {
    /// Creates the file, or takes over one that is there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
        Ok(Self { file, buffer: Vec::new() })
    }

    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.extend(name.bytes().take(NAME));
        self.buffer.resize(NAME, 0);
        self.buffer.extend((bytes.len() as u64).to_le_bytes());
        self.buffer.extend(bytes);
        // One system call; without the file a crash would only be harder to find.
        let _ = self.file.write_all_at(&self.buffer, 0);
    }
}

/// The target and the input that stand in such a file.
pub fn read(path: &Path) -> Option<(String, Vec<u8>)> {
    let bytes = std::fs::read(path).ok()?;
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let length = u64::from_le_bytes(header[NAME..].try_into().ok()?);
    let input = rest.get(..usize::try_from(length).ok()?)?;
    let name = String::from_utf8_lossy(&header[..NAME]);
    Some((name.trim_end_matches('\0').to_owned(), input.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::scratch;

    #[test]
    fn the_last_input_reads_back_even_where_a_longer_one_was_before() {
        let path = scratch::folder("current").join("file");
        let mut current = Current::create(&path).expect("a file");
        assert_eq!(read(&path), None);
        current.write("frames", b"longer");
        current.write("gguf", b"last");
        assert_eq!(read(&path), Some(("gguf".to_owned(), b"last".to_vec())));
    }
}
