//! Looking for containers: in sections that are runs of them, and in plain data where nothing says they are.
//!
//! NVIDIA's own libraries keep device code as data and load it themselves. Four bytes that look like a container's magic occur by
//! accident, so one found in data is believed only when every header in it fits the next and they fill it exactly.

use std::ops::Range;

use super::fatbin::{self, Container, MAGIC};
use super::source::{Fault, Reader, Source};

/// Containers begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// How much is searched at a time.
const CHUNK: usize = 256 * 1024;

/// The first eight bytes of a container: magic, version 1, a header of 16 bytes.
const FIRST_WORD: u64 = MAGIC as u64 | 0x0010_0001 << 32;

/// Entries looked at in vain before a search ends. Libraries of half a gigabyte stay under a hundred.
const MOST_NEAR_MISSES: u64 = 1 << 20;

/// Takes what is found. What is wrong is said and the search goes on.
pub(super) trait Finds {
    /// A container.
    fn container(&mut self, container: Container);

    /// Something that could not be read.
    fn fault(&mut self, fault: Fault);
}

/// Walks a section that is a run of containers, with zeros between them.
pub(super) fn run(source: &dyn Source, range: Range<u64>, finds: &mut dyn Finds) {
    let mut reader = Reader::new(source);
    let mut at = range.start;
    while range.end.saturating_sub(at) >= 16 {
        match step(&mut reader, at, range.end) {
            Ok(Some(container)) => {
                at = range.start + aligned(container.end - range.start);
                finds.container(container);
            }
            Ok(None) => at += ALIGNMENT,
            Err(Fault::Read(error)) => return finds.fault(Fault::Read(error)),
            Err(fault) => {
                finds.fault(fault);
                return search(source, at + ALIGNMENT..range.end, finds);
            }
        }
    }
}

/// The container that begins here; nothing where there is padding.
fn step(reader: &mut Reader, at: u64, limit: u64) -> Result<Option<Container>, Fault> {
    let container = fatbin::container(reader, at, limit)?;
    if container.is_none() && reader.array::<8>(at)? != [0; 8] {
        return Err(Fault::Malformed { what: "no fat binary where one should be", at });
    }
    Ok(container)
}

/// Searches bytes for containers that are consistent in themselves.
pub(super) fn search(source: &dyn Source, range: Range<u64>, finds: &mut dyn Finds) {
    let mut search = Search { reader: Reader::new(source), limit: range.end, near_misses: 0 };
    let mut chunk = Chunk { source, base: 0, bytes: Vec::new() };
    let mut at = aligned(range.start);
    while range.end.saturating_sub(at) >= 16 {
        match chunk.from(at, range.end).and_then(|words| search.first(words, at)) {
            Ok(Some(container)) => {
                at = aligned(container.end);
                finds.container(container);
                at = search.follow(at, finds);
            }
            Ok(None) => at = aligned(chunk.end()),
            Err(fault) => return finds.fault(fault),
        }
    }
}

/// A piece of the source that is being searched.
struct Chunk<'a> {
    source: &'a dyn Source,
    base: u64,
    bytes: Vec<u8>,
}

impl Chunk<'_> {
    fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// What is left of the piece from `at` on, or the next piece.
    fn from(&mut self, at: u64, limit: u64) -> Result<&[u8], Fault> {
        if !(self.base..self.end()).contains(&at) {
            let count = usize::try_from(limit - at).unwrap_or(CHUNK).min(CHUNK);
            self.bytes.resize(count, 0);
            self.base = at;
            let filled = self.source.read_at(at, &mut self.bytes)?;
            self.bytes.truncate(filled);
        }
        match (at - self.base) as usize {
            from if from < self.bytes.len() => Ok(&self.bytes[from..]),
            _ => Err(Fault::Short { at }),
        }
    }
}

struct Search<'a> {
    reader: Reader<'a>,
    limit: u64,
    near_misses: u64,
}

impl Search<'_> {
    /// The first believable container that begins in these bytes, which lie at `base`.
    fn first(&mut self, bytes: &[u8], base: u64) -> Result<Option<Container>, Fault> {
        let (words, _) = bytes.as_chunks::<{ ALIGNMENT as usize }>();
        let begins = |word: &[u8; 8]| u64::from_le_bytes(*word) == FIRST_WORD;
        for (index, _) in words.iter().enumerate().filter(|(_, word)| begins(word)) {
            let found = self.judge(base + index as u64 * ALIGNMENT)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Gives the containers that lie back to back from `at` on, and where they end. Most of them do lie so.
    fn follow(&mut self, mut at: u64, finds: &mut dyn Finds) -> u64 {
        while let Ok(Some(container)) = self.judge(at) {
            at = aligned(container.end);
            finds.container(container);
        }
        at
    }

    /// Bytes made so that every place looks like the start of a long container would be walked again and again; that has a limit.
    fn judge(&mut self, at: u64) -> Result<Option<Container>, Fault> {
        let (container, looked) = fatbin::consistent(&mut self.reader, at, self.limit)?;
        if container.is_none() {
            self.near_misses += looked;
        }
        match self.near_misses > MOST_NEAR_MISSES {
            true => Err(Fault::Unsupported("too many near-containers to search further")),
            false => Ok(container),
        }
    }
}

fn aligned(at: u64) -> u64 {
    at.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX)
}
