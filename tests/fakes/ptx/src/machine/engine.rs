//! What engines beside the warps do with shared memory.

use std::ops::Range;

use super::clocks::Clocks;
use super::shared::{Shared, Who};
use super::window::{IN_FLIGHT, Window};
use crate::fault::{Done, FaultKind, Trouble};

/// Bytes an engine moves at once.
pub(super) const CHUNK: usize = 16;

/// Chunks of a block's window that an engine may still read.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// The group of instructions it belongs to.
    pub(super) group: u32,
    /// Offsets of chunks.
    pub(super) chunks: Vec<u32>,
    /// When it was told to.
    pub(super) since: u32,
    pub(super) line: u32,
}

impl Window {
    /// Notes that an engine reads a chunk, told to by some warps.
    fn engine_reads(
        &mut self,
        clocks: &Clocks,
        at: u64,
        (engine, warps): (usize, Range<usize>),
        who: Who,
    ) -> Done {
        let range = self.range(at, CHUNK, who.lane)?;
        for index in self.cells_of(at, range.len()) {
            let cell = self.cells[index];
            if cell.written == 0 || cell.written == IN_FLIGHT {
                return Err(self.bad_read(index, who));
            }
            let thread = cell.writer & 0x7fff;
            let writer = usize::from(thread) >> 5;
            for warp in warps.clone() {
                let ordered = cell.written < clocks.row(warp)[writer] || thread == who.number();
                // A warpgroup comes to its instruction as a whole, a store is one lane's.
                if !ordered && (writer != warp || warps.len() == 1) {
                    return Err(self.bad_read(index, who));
                }
                if !clocks.proxy_sees(warp, writer, thread, cell.written) {
                    return Err(self.not_fenced(index, who));
                }
            }
            let time = self.times(index) + self.agents.warps + engine;
            self.exact[time] = IN_FLIGHT;
        }
        Ok(())
    }

    #[cold]
    fn not_fenced(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let (writer, line) = (self.thread(cell.writer), cell.write_line);
        let what = format!(
            "has {place} read asynchronously, which {writer} wrote in line {line} with no fence.proxy.async after it"
        );
        Trouble::at(FaultKind::Race, who.lane, what)
    }
}

impl Shared {
    /// Has an engine of the running block read chunks, told to by some of its warps; gives what to end when that has been waited for.
    pub(super) fn begin_reading(
        &mut self,
        chunks: Vec<u32>,
        (engine, warps): (usize, Range<usize>),
        group: u32,
        who: Who,
    ) -> Done<Reading> {
        let window = &mut self.windows[self.rank];
        for chunk in &chunks {
            let engine = (engine, warps.clone());
            window.engine_reads(&self.clocks, (*chunk).into(), engine, who)?;
        }
        Ok(Reading { group, chunks, since: self.clocks.now(), line: who.line })
    }

    /// A reading has been waited for.
    pub(super) fn end_reading(&mut self, reading: &Reading, engine: usize) -> Done {
        let (rank, now) = (self.rank, self.clocks.now());
        let window = &mut self.windows[rank];
        for chunk in &reading.chunks {
            for index in window.cells_of((*chunk).into(), CHUNK) {
                let cell = window.cells[index];
                if cell.written > reading.since {
                    let (place, line) = (window.place(index), reading.line);
                    let what = format!(
                        "{place} was written in line {} while line {line} read it asynchronously",
                        cell.write_line
                    );
                    return Err(Trouble::new(FaultKind::InFlight, what));
                }
                let time = window.times(index) + window.agents.warps + engine;
                window.exact[time] = now;
            }
        }
        Ok(())
    }

    /// Copies bytes to the window of a block; they land on its `mbarrier`.
    pub(super) fn deliver(
        &mut self,
        (rank, at): (usize, u64),
        bytes: &[u8],
        barrier: u64,
        who: Who,
    ) -> Done {
        self.check_alive(rank, who)?;
        let agent = self.copies_of(barrier, who)?;
        let window = &mut self.windows[rank];
        for (chunk, at) in bytes.chunks(CHUNK).zip((at..).step_by(CHUNK)) {
            let range = window.range(at, CHUNK, who.lane)?;
            for index in window.cells_of(at, CHUNK) {
                window.check_write(self.clocks.view(who.warp), index, who)?;
                window.set_written(index, self.clocks.now(), (agent << 5) as u16, who.line);
            }
            window.bytes[range].copy_from_slice(chunk);
        }
        self.land_on(barrier, bytes.len() as i64, who)
    }
}
