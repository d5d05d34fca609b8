//! JSON Lines between two processes, read within a limit: the other one may crash or send anything.

use std::io::{self, BufRead, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use warpscope_probes::bounded::Values;

/// Longest command or event; a report is about 2 kB.
pub const LINE_MAX: usize = 64 << 10;

/// A line that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LineError {
    /// Line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads one line, counted from 1.
pub fn parse<T: DeserializeOwned>(line: u64, bytes: &[u8]) -> Result<T, LineError> {
    serde_json::from_slice(bytes).map_err(|error| LineError { line, reason: error.to_string() })
}

/// Values of a stream, one per line. Ends with the stream, after a failed read or a line that is too long, and before one that breaks off: its writer died.
pub struct Lines<R, T> {
    values: Option<Values<R>>,
    longest: usize,
    /// The last one read.
    line: u64,
    value: PhantomData<T>,
}

impl<R: BufRead, T: DeserializeOwned> Lines<R, T> {
    /// Reads lines of at most so many bytes.
    pub fn new(input: R, longest: usize) -> Self {
        Self { values: Some(Values::new(input, longest)), longest, line: 0, value: PhantomData }
    }
}

impl<R: BufRead, T: DeserializeOwned> Iterator for Lines<R, T> {
    type Item = Result<T, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let values = self.values.as_mut()?;
        let (line, end, parsed) = match values.next() {
            Ok(None) => {
                self.values = None;
                return None;
            }
            Err(error) => {
                self.values = None;
                return Some(Err(LineError { line: self.line + 1, reason: error.to_string() }));
            }
            Ok(Some(value)) => {
                let end = value.offset + value.bytes.map_or(0, <[u8]>::len) as u64;
                (value.line, end, value.bytes.map(|bytes| parse(value.line, bytes)))
            }
        };
        let is_whole = values.position() > end;
        self.line = line;
        if parsed.is_some() && is_whole {
            return parsed;
        }
        self.values = None;
        let reason = format!("a line is too long: more than {} bytes", self.longest);
        parsed.is_none().then_some(Err(LineError { line, reason }))
    }
}

/// Reads the next line of a stream into `line`; false at its end, and where a line breaks off. A line that is longer than `longest` bytes
/// is cut, so that it does not parse.
pub async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    longest: usize,
) -> bool {
    line.clear();
    let count = input.take(longest as u64).read_until(b'\n', line).await;
    count.is_ok_and(|count| count == longest || line.last() == Some(&b'\n'))
}

/// A value as a line.
pub fn to_line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes a value as a line and flushes it.
pub fn write(output: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    output.write_all(&to_line(value)?)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Ceiling, WorkerEvent};
    use super::*;

    fn events(bytes: &[u8]) -> Vec<Result<WorkerEvent, LineError>> {
        Lines::new(bytes, LINE_MAX).collect()
    }

    #[test]
    fn good_lines_are_read_and_bad_ones_numbered() {
        let ceiling = Ceiling { read_bytes_per_s: Some(2e10), fp32_flop_per_s: 1e11 };
        let good = to_line(&WorkerEvent::Ceiling(ceiling)).expect("serialises");
        let text = [&good[..], b"nonsense\n{\"event\":\"started\"}\n{\"event\":\"st"].concat();
        let read = events(&text);
        assert_eq!(read[0], Ok(WorkerEvent::Ceiling(ceiling)));
        assert_eq!(read[1].as_ref().map_err(|e| e.line), Err(2));
        assert_eq!(read[2], Ok(WorkerEvent::Started));
        assert_eq!(read.len(), 3, "the last line broke off");
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let read = events(&vec![b'x'; 3 * LINE_MAX]);
        assert_eq!(read.len(), 1);
        let error = read[0].as_ref().expect_err("too long").to_string();
        assert_eq!(error, "line 1: a line is too long: more than 65536 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let lines = bytes.split(|b| *b == b'\n').count();
            prop_assert!(events(&bytes).len() <= lines);
        }
    }
}
