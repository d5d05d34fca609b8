//! A deflated member of an archive, read as if it lay there unpacked, without unpacking it to disk or to memory.
//!
//! Going forward inflates and forgets; the last part stays, so that small steps back cost nothing. A bigger step back starts again, a few
//! times at most. Scanning is arranged to go forward: headers, section table at the end, then once more in order of position.

use std::cell::RefCell;
use std::io;

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

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
    state: RefCell<State>,
}

struct State {
    inflate: Box<InflateState>,
    input: Vec<u8>,
    /// What of the input is not used yet.
    unused: std::ops::Range<usize>,
    /// Where the rest of the input is.
    next: u64,
    /// The last bytes that came out, and where the first of them belongs.
    output: Vec<u8>,
    start: u64,
    restarts: u32,
}

impl State {
    fn new(restarts: u32) -> Self {
        Self {
            inflate: InflateState::new_boxed(DataFormat::Raw),
            input: vec![0; STEP],
            unused: 0..0,
            next: 0,
            output: Vec::with_capacity(KEPT + STEP),
            start: 0,
            restarts,
        }
    }

    fn end(&self) -> u64 {
        self.start + self.output.len() as u64
    }

    /// Inflates some more; nothing more is there when it gives false.
    fn advance(&mut self, packed: &dyn Source) -> io::Result<bool> {
        if self.unused.is_empty() {
            let filled = packed.read_at(self.next, &mut self.input)?;
            self.next += filled as u64;
            self.unused = 0..filled;
        }
        if self.output.len() > KEPT {
            let surplus = self.output.len() - KEPT / 2;
            self.output.drain(..surplus);
            self.start += surplus as u64;
        }
        let before = self.output.len();
        self.output.resize(before + STEP, 0);
        let input = &self.input[self.unused.clone()];
        let result = inflate(&mut self.inflate, input, &mut self.output[before..], MZFlush::None);
        self.output.truncate(before + result.bytes_written);
        self.unused.start += result.bytes_consumed;
        let stuck = result.bytes_written == 0 && result.bytes_consumed == 0;
        match result.status {
            Ok(MZStatus::Ok) => Ok(!stuck),
            Ok(_) => Ok(result.bytes_written > 0),
            Err(_) if stuck && self.unused.is_empty() => Ok(false),
            Err(error) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("not deflated data ({error:?})"),
            )),
        }
    }
}

impl<'a> Inflated<'a> {
    /// A member of `len` bytes, from its deflated form.
    pub fn new(packed: &'a dyn Source, len: u64) -> Self {
        Self { packed, len, state: RefCell::new(State::new(0)) }
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
            *state = State::new(state.restarts + 1);
        }
        let mut filled = 0;
        while filled < count {
            let wanted = at + filled as u64;
            if wanted < state.end() {
                let have = &state.output[(wanted - state.start) as usize..];
                let step = have.len().min(count - filled);
                into[filled..filled + step].copy_from_slice(&have[..step]);
                filled += step;
            } else if !state.advance(self.packed)? {
                break;
            }
        }
        Ok(filled)
    }

    fn forward_only(&self) -> bool {
        true
    }
}
