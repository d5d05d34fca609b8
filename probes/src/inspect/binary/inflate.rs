//! A deflated member of an archive, read as if it lay there unpacked, without unpacking it to disk or to memory.
//!
//! Going forward inflates and forgets; the last part stays, so that small steps back cost nothing. A bigger step back starts again, a few
//! times at most. Scanning is arranged to go forward: headers, section table at the end, then once more in order of position.

use std::cell::RefCell;
use std::io::{self, BufReader, Read};

use flate2::bufread::DeflateDecoder;

use super::source::Source;

/// What stays of the bytes that were passed.
const KEPT: usize = 512 * 1024;

/// How much is inflated at a time.
const STEP: usize = 64 * 1024;

/// How often reading may start again. A library needs it once or twice; more is a file made to take time.
const MOST_RESTARTS: u32 = 6;

/// A deflated member.
pub struct Inflated<'a> {
    packed: &'a dyn Source,
    len: u64,
    state: RefCell<State<'a>>,
}

/// A source from its start on.
struct Stream<'a> {
    source: &'a dyn Source,
    at: u64,
}

impl Read for Stream<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let filled = self.source.read_at(self.at, into)?;
        self.at += filled as u64;
        Ok(filled)
    }
}

struct State<'a> {
    inflate: DeflateDecoder<BufReader<Stream<'a>>>,
    /// The last bytes that came out, and where the first of them belongs.
    output: Vec<u8>,
    start: u64,
    restarts: u32,
}

impl<'a> State<'a> {
    fn new(packed: &'a dyn Source, restarts: u32) -> Self {
        let stream = BufReader::with_capacity(STEP, Stream { source: packed, at: 0 });
        let output = Vec::with_capacity(KEPT + STEP);
        Self { inflate: DeflateDecoder::new(stream), output, start: 0, restarts }
    }

    fn end(&self) -> u64 {
        self.start + self.output.len() as u64
    }

    /// Inflates some more; nothing more is there when it gives false.
    fn advance(&mut self) -> io::Result<bool> {
        if self.output.len() > KEPT {
            let surplus = self.output.len() - KEPT / 2;
            self.output.drain(..surplus);
            self.start += surplus as u64;
        }
        let before = self.output.len();
        self.output.resize(before + STEP, 0);
        let read = self.inflate.read(&mut self.output[before..]);
        self.output.truncate(before + read.as_ref().map_or(0, |count| *count));
        match read {
            // Cut short: what is missing is told by where it was looked for.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            read => read.map(|count| count > 0),
        }
    }
}

impl<'a> Inflated<'a> {
    /// A member of `len` bytes, from its deflated form.
    pub fn new(packed: &'a dyn Source, len: u64) -> Self {
        Self { packed, len, state: RefCell::new(State::new(packed, 0)) }
    }
}

impl Source for Inflated<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.borrow_mut();
        let count =
            usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX).min(into.len());
        if at < state.start {
            if state.restarts == MOST_RESTARTS {
                return Err(io::Error::other(
                    "a compressed member that would have to be unpacked again and again",
                ));
            }
            *state = State::new(self.packed, state.restarts + 1);
        }
        let mut filled = 0;
        while filled < count {
            let wanted = at + filled as u64;
            if wanted < state.end() {
                let have = &state.output[(wanted - state.start) as usize..];
                let step = have.len().min(count - filled);
                into[filled..filled + step].copy_from_slice(&have[..step]);
                filled += step;
            } else if !state.advance()? {
                break;
            }
        }
        Ok(filled)
    }

    fn forward_only(&self) -> bool {
        true
    }
}
