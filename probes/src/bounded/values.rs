//! Streams of JSON values and other lines.
//!
//! A value is a line, or the lines from a `{` alone to the next `}` alone, as `jq .` and other pretty-printers write it. What is damaged
//! costs itself only: a value that breaks off ends before the next line that is not indented.

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};

const MARK: &[u8] = b"\xef\xbb\xbf";

/// One line, or the lines of one pretty-printed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// Its first line, counted from 1.
    pub line: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its bytes without the last line feed; none where they are more than the limit. A line of hundreds of megabytes comes in several
    /// such values, so that the caller can give up.
    pub bytes: Option<&'a [u8]>,
}

/// Reads values one after the other and holds one at a time.
#[derive(Debug)]
pub struct Values<R> {
    input: R,
    longest: usize,
    /// What was read and is not given yet, after the value given last.
    pub(super) text: Vec<u8>,
    /// Bytes and lines of the value given last.
    given: (usize, u64),
    /// Where the text stands in the input.
    line: u64,
    offset: u64,
    /// Whether the rest of a line that is too long comes next.
    in_long_line: bool,
}

/// What a line that was read is.
#[derive(PartialEq, Eq)]
enum Next {
    Line,
    /// Longer than the limit; so many bytes of it were skipped.
    TooLong(u64),
    End,
}

/// Most bytes that are skipped before the caller is asked whether to go on: a line may have no end.
const STEP: u64 = 64 << 20;

impl<R: BufRead> Values<R> {
    /// Reads values of at most `longest` bytes from the current position of `input`.
    pub fn new(input: R, longest: usize) -> Self {
        Self {
            input,
            longest,
            text: Vec::new(),
            given: (0, 0),
            line: 1,
            offset: 0,
            in_long_line: false,
        }
    }

    /// Bytes up to the end of the value given last.
    pub fn position(&self) -> u64 {
        self.offset + self.given.0 as u64
    }

    /// The next value, blank lines included; `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "the value borrows the buffer it lies in")]
    pub fn next(&mut self) -> io::Result<Option<Value<'_>>> {
        let (bytes, lines) = std::mem::take(&mut self.given);
        self.text.drain(..bytes);
        self.offset += bytes as u64;
        self.line += lines;
        if self.text.is_empty() {
            match self.read_line()? {
                Next::Line => {}
                Next::TooLong(bytes) => return Ok(Some(self.too_long(bytes, 1))),
                Next::End => return Ok(None),
            }
        }
        self.drop_mark();
        if self.text.trim_ascii_end() != b"{" {
            return Ok(Some(self.give(self.text.len(), 1)));
        }
        self.spread()
    }

    /// Reads on to the end of a value whose first line is a brace.
    fn spread(&mut self) -> io::Result<Option<Value<'_>>> {
        for lines in 1.. {
            let start = self.text.len();
            match self.read_line()? {
                Next::Line => {}
                Next::TooLong(bytes) => {
                    return Ok(Some(self.too_long(start as u64 + bytes, lines + 1)));
                }
                Next::End => return Ok(Some(self.give(start, lines))),
            }
            let line = &self.text[start..];
            if line.trim_ascii_end() == b"}" {
                return Ok(Some(self.give(self.text.len(), lines + 1)));
            }
            if !line[0].is_ascii_whitespace() {
                return Ok(Some(self.give(start, lines)));
            }
            if self.text.len() > self.longest {
                return Ok(Some(self.too_long(self.text.len() as u64, lines + 1)));
            }
        }
        Ok(None)
    }

    fn give(&mut self, bytes: usize, lines: u64) -> Value<'_> {
        self.given = (bytes, lines);
        let value = &self.text[..bytes];
        let value = value.strip_suffix(b"\n").unwrap_or(value);
        Value { line: self.line, offset: self.offset, bytes: Some(value) }
    }

    /// Lets go of what was read, with the memory it took.
    fn too_long(&mut self, bytes: u64, lines: u64) -> Value<'_> {
        let value = Value { line: self.line, offset: self.offset, bytes: None };
        self.text = Vec::new();
        self.offset += bytes;
        self.line += lines - u64::from(self.in_long_line);
        value
    }

    /// Appends one line with its line feed. Of one that is too long the rest is skipped, as far as a step goes.
    fn read_line(&mut self) -> io::Result<Next> {
        if self.in_long_line {
            return Ok(match self.skip()? {
                0 => Next::End,
                skipped => Next::TooLong(skipped),
            });
        }
        let most = self.longest as u64 + 1;
        let read = self.input.by_ref().take(most).read_until(b'\n', &mut self.text)?;
        Ok(match read {
            0 => Next::End,
            _ if read as u64 == most && self.text.last() != Some(&b'\n') => {
                Next::TooLong(read as u64 + self.skip()?)
            }
            _ => Next::Line,
        })
    }

    fn skip(&mut self) -> io::Result<u64> {
        let mut skipped = 0;
        while skipped < STEP {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() || chunk.contains(&b'\n') {
                self.in_long_line = false;
                return Ok(skipped + self.input.skip_until(b'\n')? as u64);
            }
            let count = chunk.len();
            self.input.consume(count);
            skipped += count as u64;
        }
        self.in_long_line = true;
        Ok(skipped)
    }

    /// A byte order mark stands where a file begins, and that may be in the middle of another one.
    fn drop_mark(&mut self) {
        if self.text.starts_with(MARK) {
            self.text.drain(..MARK.len());
            self.offset += MARK.len() as u64;
        }
    }
}

/// What could not be read, counted; of the first it is known where it stands and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many values.
    pub count: u64,
    /// Line of the first, and what is wrong with it.
    pub first: Option<(u64, String)>,
}

impl Skipped {
    /// Counts one more.
    pub fn add(&mut self, line: u64, why: impl fmt::Display) {
        self.count += 1;
        self.first.get_or_insert_with(|| {
            let mut why = why.to_string();
            // A JSON reader counts lines from the beginning of the value.
            why.truncate(why.find(" at line ").unwrap_or(why.len()));
            (line, why)
        });
    }

    /// Why a value without bytes was skipped.
    pub const TOO_LONG: &str = "longer than any that warpscope writes";
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = if self.count == 1 { "line" } else { "lines" };
        write!(f, "{} damaged {lines} skipped", self.count)?;
        match &self.first {
            Some((line, why)) if self.count == 1 => write!(f, ": line {line}: {why}"),
            Some((line, why)) => write!(f, ", the first at line {line}: {why}"),
            None => Ok(()),
        }
    }
}
