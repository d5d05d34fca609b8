//! Reading what a child says. Lines come from another process: any bytes, any length.

use std::fmt;
use std::io::{self, BufRead, Read};

use super::report::BenchEvent;

/// Longest line that is read; a report is about 2 kB.
const LINE_MAX: u64 = 64 * 1024;

/// A line that is no event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventError {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for EventError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "benchmark line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for EventError {}

/// Reads one line, counted from 1.
pub fn parse_event(line: u64, text: &str) -> Result<BenchEvent, EventError> {
    serde_json::from_str(text).map_err(|error| EventError { line, reason: error.to_string() })
}

/// The events of a stream, one per line. Ends with the stream; a line that is too long ends it as well.
pub struct Events<R> {
    input: R,
    line: u64,
    ended: bool,
}

impl<R: BufRead> Events<R> {
    /// Reads from the child's stdout.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, ended: false }
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let count = self.input.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes)?;
        if count as u64 == LINE_MAX && bytes.last() != Some(&b'\n') {
            return Err(io::Error::other(format!("longer than {LINE_MAX} bytes")));
        }
        Ok((count > 0).then(|| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = Result<BenchEvent, EventError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.line += 1;
        match self.line() {
            Ok(Some(text)) => Some(parse_event(self.line, &text)),
            Ok(None) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(EventError { line: self.line, reason: error.to_string() }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::report::{BenchState, Ceiling};
    use super::*;

    fn events(bytes: &[u8]) -> Vec<Result<BenchEvent, EventError>> {
        Events::new(bytes).collect()
    }

    #[test]
    fn good_lines_are_read_and_bad_ones_numbered() {
        let ceiling = Ceiling { read_bytes_per_s: 2e10, fp32_flop_per_s: 1e11 };
        let good = serde_json::to_string(&BenchEvent::Ceiling(ceiling)).expect("serialises");
        let text = format!("{good}\nnonsense\n{{\"event\":\"state\",\"state\":\"running\"}}\n");
        let read = events(text.as_bytes());
        assert_eq!(read[0], Ok(BenchEvent::Ceiling(ceiling)));
        assert_eq!(read[1].as_ref().map_err(|e| e.line), Err(2));
        assert_eq!(read[2], Ok(BenchEvent::State(BenchState::Running)));
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let read = events(&vec![b'x'; 3 * LINE_MAX as usize]);
        assert_eq!(read.len(), 1);
        let error = read[0].as_ref().expect_err("too long").to_string();
        assert_eq!(error, "benchmark line 1: longer than 65536 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let lines = bytes.split(|b| *b == b'\n').count();
            prop_assert!(events(&bytes).len() <= lines);
        }
    }
}
