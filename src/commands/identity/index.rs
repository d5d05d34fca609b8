//! git's index: every tracked file, and how it looked when git last read it.

use super::tree::{ID, Id};

/// Longest path that is believed; the system opens none longer.
const MAX_PATH: usize = 4096;
/// Bytes of an entry before its flags and path.
const FIXED: usize = 40 + ID;

/// The entry has a second field of flags.
const EXTENDED: u16 = 0x4000;
/// The user vouches for the file.
const ASSUME_VALID: u16 = 0x8000;
/// The file is left out of this work tree; of the second field.
const SKIP_WORKTREE: u16 = 0x4000;

/// Seconds and nanoseconds.
pub(crate) type Time = (u32, u32);

/// One tracked file.
pub(crate) struct Entry<'a> {
    pub(crate) path: &'a [u8],
    /// When its content, and when anything about it, was last changed.
    pub(crate) times: [Time; 2],
    pub(crate) mode: u32,
    /// Lowest bits of its length; 0 where git was not sure of the file.
    pub(crate) size: u32,
    pub(crate) id: Id,
    /// Whether the work tree is not to be looked at.
    pub(crate) is_vouched_for: bool,
    /// Whether it is one side of a merge that is not finished.
    pub(crate) is_conflict: bool,
}

/// Hands over every entry, in order. `None` where the index is damaged or of a kind that is not read here, such as a split or a sparse one, or
/// where `take` ends it.
pub(crate) fn entries(bytes: &[u8], mut take: impl FnMut(&Entry<'_>) -> Option<()>) -> Option<()> {
    let mut rest = Bytes(bytes.get(..bytes.len().checked_sub(ID)?)?); // a checksum ends it
    if rest.take(4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (rest.number()?, rest.number()?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut path = Vec::new();
    for _ in 0..count {
        let entry = rest.entry(version, &mut path)?;
        take(&Entry { path: &path, ..entry })?;
    }
    while !rest.0.is_empty() {
        // Without what a small letter names, the entries do not say what they seem to.
        if rest.take(4)?[0].is_ascii_lowercase() {
            return None;
        }
        let length = rest.number()?;
        rest.take(usize::try_from(length).ok()?)?;
    }
    Some(())
}

/// What is left to read.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    /// One entry, without its path, which goes into `path`.
    fn entry(&mut self, version: u32, path: &mut Vec<u8>) -> Option<Entry<'static>> {
        let mut numbers = [0; 10];
        for number in &mut numbers {
            *number = self.number()?;
        }
        let [changed_s, changed_ns, written_s, written_ns, _, _, mode, _, _, size] = numbers;
        let id = self.take(ID)?.try_into().ok()?;
        let flags = self.short()?;
        let more = if flags & EXTENDED != 0 { self.short()? } else { 0 };
        let fixed = FIXED + if flags & EXTENDED != 0 { 4 } else { 2 };
        if version == 4 {
            let cut = self.varying()?;
            path.truncate(path.len().checked_sub(cut)?);
        } else {
            path.clear();
        }
        let end = self.0.iter().take(MAX_PATH).position(|byte| *byte == 0)?;
        path.extend_from_slice(self.take(end)?);
        // Before version 4 up to eight zeros end the path, so that the next entry begins at a multiple of eight.
        self.take(if version == 4 { 1 } else { 8 - (fixed + end) % 8 })?;
        (path.len() < MAX_PATH).then_some(Entry {
            path: &[],
            times: [(written_s, written_ns), (changed_s, changed_ns)],
            mode,
            size,
            id,
            is_vouched_for: flags & ASSUME_VALID != 0 || more & SKIP_WORKTREE != 0,
            is_conflict: flags >> 12 & 3 != 0,
        })
    }

    /// A number of seven bits a byte, as git writes offsets.
    pub(crate) fn varying(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
        }
        Some(value)
    }
}
