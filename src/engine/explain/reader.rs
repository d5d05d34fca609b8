//! A log read as a stream: gigabytes go by, and what could be a cause stays, in bounded memory.
//!
//! Kept are the first lines, every line with the fixed text of a signature and what stands around it, and the last lines. Of lines that
//! differ in nothing but numbers the first few are kept: a loop that fails a million times fails for the reason it gave first.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use memchr::{memchr2, memchr2_iter, memrchr2};

use super::line::{LONGEST, Line, clean};
use super::signatures::Signatures;

/// First lines kept as they are.
const HEAD: u64 = 400;
/// Last lines kept as they are.
const TAIL: usize = 200;
/// Lines kept before and after one with a fixed text.
const BEFORE: usize = 2;
const AFTER: usize = 8;
/// Lines kept for their fixed text and around it.
const MOST_LINES: usize = 3000;
/// Bytes of them.
const MOST_BYTES: usize = 512 << 10;
/// Lines of one shape.
const ALIKE: u8 = 2;
/// Bytes looked at together; a longer line is cut.
const BLOCK: usize = 1 << 20;

/// What of a text was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Lines in order, cleaned; empty ones are left out.
    pub lines: Vec<Line>,
    /// Lines there were.
    pub total: u64,
}

/// Reads a text piece by piece.
#[derive(Default)]
pub struct Reader {
    block: Vec<u8>,
    lines: Vec<Line>,
    bytes: usize,
    tail: VecDeque<(u64, Vec<u8>)>,
    /// How often each shape was seen.
    shapes: HashMap<u64, u8>,
    hasher: RandomState,
    /// The shape of the line at hand.
    shape: Vec<u8>,
    number: u64,
    /// Lines still to be kept after one with a fixed text.
    after: usize,
    /// The last line that is kept.
    kept: u64,
    is_wide: Option<bool>,
}

impl Reader {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        for part in piece.chunks(BLOCK) {
            match self.is_wide(part) {
                true => self.block.extend(part.iter().filter(|byte| **byte != 0)),
                false => self.block.extend_from_slice(part),
            }
            if self.block.len() >= BLOCK {
                self.take_lines();
            }
        }
    }

    /// The end of the text.
    pub fn finish(mut self) -> Digest {
        self.take_lines();
        let rest = std::mem::take(&mut self.block);
        self.take(&rest);
        for (number, raw) in std::mem::take(&mut self.tail) {
            if number > self.kept {
                self.keep(number, &raw);
            }
        }
        Digest { lines: self.lines, total: self.number }
    }

    /// Windows shells write two bytes a letter; of what matters the second is zero.
    fn is_wide(&mut self, first: &[u8]) -> bool {
        let looks = || first.starts_with(&[0xff, 0xfe]) || first.get(1) == Some(&0);
        *self.is_wide.get_or_insert_with(looks)
    }

    /// Takes every whole line of the block, or all of it where one line fills it.
    fn take_lines(&mut self) {
        let end = match memrchr2(b'\n', b'\r', &self.block) {
            Some(last) => last + 1,
            None if self.block.len() >= BLOCK => self.block.len(),
            None => return,
        };
        let rest = self.block.split_off(end);
        let whole = std::mem::replace(&mut self.block, rest);
        self.take(&whole);
    }

    fn take(&mut self, block: &[u8]) {
        if block.is_empty() {
            return;
        }
        let (first, signatures) = (self.number, Signatures::builtin());
        let mut at = 0;
        while at < block.len() && (self.number < HEAD || self.after > 0) {
            let end = end_of(block, at);
            let is_hit = self.number >= HEAD && signatures.next(&block[at..end], 0).is_some();
            self.number += 1;
            self.after = if is_hit { AFTER } else { self.after.saturating_sub(1) };
            self.keep(self.number, &block[at..end]);
            at = end + 1;
        }
        self.search(block, at);
        self.number = self.number.max(first);
        self.remember_tail(block);
    }

    /// Keeps lines with a fixed text from `at` on, and those around them.
    fn search(&mut self, block: &[u8], mut at: usize) {
        let signatures = Signatures::builtin();
        while at < block.len() {
            let hit = if self.is_full() { None } else { signatures.next(block, at) };
            let Some(hit) = hit else { break };
            let start = memrchr2(b'\n', b'\r', &block[at..hit]).map_or(at, |end| at + end + 1);
            let before = count(&block[at..start]);
            let end = end_of(block, hit);
            if self.is_new(&block[start..end]) {
                let lines = preceding(block, at, start);
                let mut number = self.number + before - lines.len() as u64;
                for line in lines {
                    number += 1;
                    self.keep(number, line);
                }
                self.number += before + 1;
                self.keep(self.number, &block[start..end]);
                at = self.keep_after(block, end + 1);
            } else {
                self.number += before + 1;
                at = end + 1;
            }
        }
        self.number += count_rest(block, at);
    }

    /// Keeps the lines behind one with a fixed text; returns where it stopped.
    fn keep_after(&mut self, block: &[u8], mut at: usize) -> usize {
        self.after = AFTER;
        while at < block.len() && self.after > 0 {
            let end = end_of(block, at);
            self.after -= 1;
            self.number += 1;
            self.keep(self.number, &block[at..end]);
            at = end + 1;
        }
        at
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MOST_LINES || self.bytes >= MOST_BYTES
    }

    /// Whether few lines were like this one, numbers apart.
    fn is_new(&mut self, line: &[u8]) -> bool {
        self.shape.resize(LONGEST, 0);
        let mut length = 0;
        for (byte, _) in line.iter().zip(0..LONGEST) {
            self.shape[length] = *byte;
            length += usize::from(!byte.is_ascii_digit());
        }
        let shape = self.hasher.hash_one(&self.shape[..length]);
        let full = self.shapes.len() >= MOST_LINES * 4;
        match self.shapes.get_mut(&shape) {
            Some(seen) if *seen >= ALIKE => false,
            Some(seen) => {
                *seen += 1;
                true
            }
            None if full => false,
            None => {
                self.shapes.insert(shape, 1);
                true
            }
        }
    }

    fn keep(&mut self, number: u64, raw: &[u8]) {
        if number <= self.kept || (self.is_full() && number > HEAD && self.after > 0) {
            return;
        }
        self.kept = number;
        let line = clean(number, raw);
        if !line.text.is_empty() {
            self.bytes += line.text.len();
            self.lines.push(line);
        }
    }

    /// Keeps the last lines of the block apart.
    fn remember_tail(&mut self, block: &[u8]) {
        let mut number = self.number;
        let mut lines = Vec::new();
        let body = block.strip_suffix(b"\n").unwrap_or(block);
        for line in body.rsplit(|byte| is_end(*byte)).take(TAIL) {
            lines.push((number, line[..line.len().min(LONGEST)].to_vec()));
            number = number.saturating_sub(1);
        }
        self.tail.extend(lines.into_iter().rev());
        while self.tail.len() > TAIL {
            self.tail.pop_front();
        }
    }
}

/// Progress bars go back to the start of their line instead of beginning another.
fn is_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

fn end_of(block: &[u8], at: usize) -> usize {
    memchr2(b'\n', b'\r', &block[at..]).map_or(block.len(), |end| at + end)
}

fn count(block: &[u8]) -> u64 {
    memchr2_iter(b'\n', b'\r', block).count() as u64
}

/// Lines from `at` on, the last of which may have no end.
fn count_rest(block: &[u8], at: usize) -> u64 {
    let rest = block.get(at..).unwrap_or_default();
    count(rest) + u64::from(rest.last().is_some_and(|last| !is_end(*last)))
}

/// The lines right before `start`, not before `at`.
fn preceding(block: &[u8], at: usize, start: usize) -> Vec<&[u8]> {
    let before = block[at..start].strip_suffix(b"\n").unwrap_or(&block[at..start]);
    if before.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<&[u8]> = before.rsplit(|byte| is_end(*byte)).take(BEFORE).collect();
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str, piece: usize) -> Digest {
        let mut reader = Reader::default();
        for part in text.as_bytes().chunks(piece.max(1)) {
            reader.push(part);
        }
        reader.finish()
    }

    #[test]
    fn the_first_cause_of_a_long_log_is_kept_with_its_number() {
        let mut text = "step loss\n".repeat(5000);
        text +=
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n";
        text += &"step loss\n".repeat(200_000);
        let digest = read(&text, 70_001);
        let found = digest.lines.iter().find(|line| line.text.contains("no kernel image"));
        assert_eq!(found.map(|line| line.number), Some(5001));
        assert!(digest.lines.len() < 1000);
        assert_eq!(digest.total, 205_001);
    }

    #[test]
    fn an_error_that_repeats_is_kept_a_few_times_only() {
        let text: String = (0..300_000)
            .map(|at| format!("CUDA out of memory. Tried to allocate {at} MiB\n"))
            .collect();
        let digest = read(&text, 1 << 16);
        assert!(digest.lines.len() < 1000, "{}", digest.lines.len());
        assert_eq!(digest.total, 300_000);
    }

    #[test]
    fn progress_bars_and_wide_letters_are_read() {
        let digest = read("10%\r20%\rCUDA out of memory\n", 5);
        assert_eq!(digest.lines.last().map(|line| line.text.as_str()), Some("CUDA out of memory"));
        let wide: Vec<u8> =
            "\u{feff}CUDA out of memory".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut reader = Reader::default();
        reader.push(&wide);
        assert!(reader.finish().lines[0].text.contains("CUDA out of memory"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_whatever_the_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..3000), piece in 1..500_usize) {
            let mut reader = Reader::default();
            bytes.chunks(piece).for_each(|part| reader.push(part));
            let digest = reader.finish();
            prop_assert!(digest.lines.iter().all(|line| line.number >= 1 && line.number <= digest.total));
        }
    }
}
