//! What is said of accesses to shared memory that collide.

use super::window::{BARRIER, IN_FLIGHT, MANY, STRONG, Who, Window};
use crate::fault::{FaultKind, Trouble};

impl Window {
    /// Threads have numbers in messages: those of their warp and lane.
    pub(super) fn thread(&self, number: u16) -> String {
        let number = number & !STRONG;
        let (lane, agent) = (number & 31, usize::from(number >> 5));
        match self.local(agent) {
            Some(warp) => format!("lane {lane} of warp {warp}"),
            None => format!("lane {lane} of warp {} of another block", agent % self.agents.warps),
        }
    }

    pub(super) fn place(&self, index: usize) -> String {
        format!("byte {} of shared memory", index << self.shift)
    }

    #[cold]
    pub(super) fn bad_read(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let (line, writer) = (cell.write_line, self.thread(cell.writer));
        let (kind, what) = match cell.written {
            0 => (FaultKind::Uninitialised, format!("reads {place}, which nobody wrote")),
            _ if self.is_bulk(cell.writer) => (
                FaultKind::InFlight,
                format!("reads {place}, which the bulk copy of line {line} may not have reached"),
            ),
            IN_FLIGHT if cell.writer == BARRIER => {
                (FaultKind::Race, format!("reads {place}, where an mbarrier lies"))
            }
            IN_FLIGHT => (
                FaultKind::InFlight,
                format!(
                    "reads {place}, which the asynchronous copy of line {line} by {writer} may not have reached"
                ),
            ),
            _ => (
                FaultKind::Race,
                format!(
                    "reads {place}, which {writer} wrote in line {line} with no barrier between"
                ),
            ),
        };
        Trouble::at(kind, who.lane, what)
    }

    /// Whether a bulk copy wrote it.
    fn is_bulk(&self, writer: u16) -> bool {
        writer != BARRIER && self.agents.is_engine(usize::from(writer & !STRONG) >> 5)
    }

    #[cold]
    pub(super) fn bad_write(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let (line, writer) = (cell.write_line, self.thread(cell.writer));
        let (kind, what) = match cell.written {
            _ if self.is_bulk(cell.writer) => (
                FaultKind::InFlight,
                format!("writes {place}, which the bulk copy of line {line} may be writing"),
            ),
            IN_FLIGHT if cell.writer == BARRIER => {
                (FaultKind::Race, format!("writes {place}, where an mbarrier lies"))
            }
            IN_FLIGHT => (
                FaultKind::InFlight,
                format!(
                    "writes {place}, which the asynchronous copy of line {line} by {writer} may be writing"
                ),
            ),
            _ => (
                FaultKind::Race,
                format!(
                    "writes {place}, which {writer} wrote in line {line} with no barrier between"
                ),
            ),
        };
        Trouble::at(kind, who.lane, what)
    }

    #[cold]
    pub(super) fn write_after_read(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let reader = match cell.reader & !STRONG {
            MANY => "another lane".to_owned(),
            reader => self.thread(reader),
        };
        let what = format!(
            "writes {place}, which {reader} read in line {} with no barrier between",
            cell.read_line
        );
        Trouble::at(FaultKind::Race, who.lane, what)
    }

    #[cold]
    pub(super) fn write_under_engine(&self, index: usize, pending: bool, who: Who) -> Box<Trouble> {
        let place = self.place(index);
        let what = match pending {
            true => format!("writes {place}, which an asynchronous instruction may still read"),
            false => format!(
                "writes {place}, which an asynchronous instruction read, with no wait and barrier between"
            ),
        };
        Trouble::at(FaultKind::InFlight, who.lane, what)
    }
}
