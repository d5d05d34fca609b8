//! Bytes into lines of bounded length.

use std::borrow::Cow;

use crate::text::without_escapes;

/// Longest line that is looked at.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// The beginning of a line whose end has not come yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    begun: Vec<u8>,
    /// Whether the present line is beyond the limit and dropped until its end.
    too_long: bool,
    /// Lines dropped because they were too long.
    pub(crate) dropped: u64,
}

impl Lines {
    /// Takes what was read and gives the lines it completes.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..end]);
            lines.extend(self.finish());
            bytes = &bytes[end + 1..];
        }
        self.add(bytes);
        lines
    }

    /// The line nobody ended.
    pub(crate) fn finish(&mut self) -> Option<String> {
        if std::mem::take(&mut self.too_long) {
            self.dropped += 1;
            self.begun.clear();
            return None;
        }
        let line = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun.clear();
        (!line.trim().is_empty()).then_some(line)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.too_long |= self.begun.len() + bytes.len() > MAX_LINE;
        if !self.too_long {
            self.begun.extend_from_slice(bytes);
        } else {
            self.begun = Vec::new();
        }
    }
}

/// What a terminal shows of a line: without escape sequences, and what was written last where it was written over.
pub(crate) fn as_shown(line: &str) -> Cow<'_, str> {
    without_escapes(line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_a_terminal_shows_it() {
        for (written, shown) in [
            ("name=a t_us=1", "name=a t_us=1"),
            ("\x1b[1;32mname=a\x1b[0m t_us=1\x1b[K\r", "name=a t_us=1"),
            ("10 %\r55 %\rname=a t_us=1", "name=a t_us=1"),
            ("\x1b]8;;http://x\x07name=a\x1b]8;;\x1b\\ t_us=1", "name=a t_us=1"),
            ("\x1b(Bü\x1b7 t\x1b", "ü t"),
            ("\x1b[1;2", ""),
        ] {
            assert_eq!(as_shown(written), shown, "{written:?}");
        }
    }

    #[test]
    fn lines_come_whole_however_they_were_cut() {
        let text = b"one\ntwo words\n\n  \nthree";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut all: Vec<String> =
                text.chunks(size).flat_map(|chunk| lines.take(chunk)).collect();
            all.extend(lines.finish());
            assert_eq!(all, ["one", "two words", "three"], "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory_and_costs_itself_only() {
        let mut lines = Lines::default();
        for _ in 0..5 {
            assert!(lines.take(&vec![b'x'; MAX_LINE / 2]).is_empty());
            assert!(lines.begun.capacity() <= 2 * MAX_LINE);
        }
        assert_eq!(lines.take(b"x\nnext\n"), ["next"]);
        assert_eq!(lines.dropped, 1);
    }

    #[test]
    fn bytes_that_are_no_text_do_no_harm() {
        assert_eq!(Lines::default().take(b"a\xff\xfeb\n"), ["a\u{fffd}\u{fffd}b"]);
    }
}
