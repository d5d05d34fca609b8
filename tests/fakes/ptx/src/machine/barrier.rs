//! `mbarrier`s: PTX ISA 8.8, 9.7.13.15 "mbarrier". Phases complete when all arrivals and all bytes that were announced have come.
//!
//! A phase carries what its arrivals knew, and which copies landed; who waits for it takes that over. So what is read without waiting for the right
//! phase is out of order, however early the interpreter let the bytes land.

use std::collections::BTreeMap;

use super::clocks::{BARRIERS, Known};
use super::shared::{Shared, Who};
use super::window::{BARRIER, IN_FLIGHT};
use crate::fault::{Done, FaultKind, Trouble};

/// Most arrivals, and most bytes, of a phase.
const MOST: i64 = (1 << 20) - 1;
/// Bytes of one.
const BYTES: usize = 8;

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    /// Its copies are told from those of others by this.
    number: usize,
    expected: i64,
    pending: i64,
    /// Bytes announced that have not come; below zero where they came first.
    bytes: i64,
    /// Phases completed.
    phase: u64,
    gathering: Known,
    completed: Known,
    /// The thread that initialised it, and when.
    made: (u16, u32),
    /// Where copies may use it, how many meetings of the cluster must be over for others to use it, too, in whatever order those put memory.
    fenced: Option<u64>,
}

/// Those of a block, by their offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers {
    live: BTreeMap<u64, Barrier>,
    numbers: BTreeMap<u64, usize>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The end of a phase of this parity.
    Parity(u32),
    /// The end of the phase in which the state was taken.
    State(u64),
}

impl Shared {
    fn number_of(&mut self, rank: usize, at: u64) -> Done<usize> {
        let numbers = &mut self.barriers[rank].numbers;
        let next = numbers.len();
        let number = *numbers.entry(at).or_insert(next);
        if number < BARRIERS {
            return Ok(number);
        }
        let what =
            format!("more than {BARRIERS} mbarriers in a block, which the interpreter lacks");
        Err(Trouble::new(FaultKind::Limit, what))
    }

    /// `mbarrier.init`
    pub(super) fn init_barrier(&mut self, address: u64, count: u32, who: Who) -> Done {
        let (rank, at) = self.split(address);
        let range = self.windows[rank].range(at, BYTES, who.lane)?;
        if !(1..=MOST).contains(&i64::from(count)) {
            let what = format!("an mbarrier of {count} arrivals");
            return Err(Trouble::at(FaultKind::Barrier, who.lane, what));
        }
        if self.barriers[rank].live.contains_key(&at) {
            let what = format!("the mbarrier at byte {at} is there already");
            return Err(Trouble::at(FaultKind::Barrier, who.lane, what));
        }
        for index in self.windows[rank].cells_of(at, range.len()) {
            let cell = self.windows[rank].cells[index];
            if (cell.written, cell.writer) != (IN_FLIGHT, BARRIER) {
                self.windows[rank].check_write(self.clocks.view(who.warp), index, who)?;
                self.windows[rank].set_written(index, IN_FLIGHT, BARRIER, who.line);
            }
        }
        let nothing = self.clocks.nothing();
        let barrier = Barrier {
            number: self.number_of(rank, at)?,
            expected: count.into(),
            pending: count.into(),
            bytes: 0,
            phase: 0,
            gathering: nothing.clone(),
            completed: nothing,
            made: (who.number(), self.clocks.now()),
            fenced: None,
        };
        self.barriers[rank].live.insert(at, barrier);
        Ok(())
    }

    /// `mbarrier.inval`: the bytes are as if nobody had written them.
    pub(super) fn end_barrier(&mut self, address: u64, who: Who) -> Done {
        let (rank, at) = self.find_barrier(address, who)?;
        self.barriers[rank].live.remove(&at);
        for index in self.windows[rank].cells_of(at, BYTES) {
            let shared = (at & !15..(at & !15) + 16)
                .any(|near| self.barriers[rank].live.contains_key(&near));
            if !shared {
                self.windows[rank].set_written(index, 0, 0, who.line);
            }
        }
        Ok(())
    }

    /// Where the `mbarrier` of an address is, if a thread may use it.
    pub(super) fn find_barrier(&self, address: u64, who: Who) -> Done<(usize, u64)> {
        let (rank, at) = self.split(address);
        self.windows[rank].range(at, BYTES, who.lane)?;
        self.check_alive(rank, who)?;
        let Some(barrier) = self.barriers[rank].live.get(&at) else {
            let what = format!("there is no mbarrier at byte {at} of shared memory");
            return Err(Trouble::at(FaultKind::Uninitialised, who.lane, what));
        };
        let (maker, when) = barrier.made;
        let met = barrier.fenced.is_some_and(|phases| self.has_met(who.warp, phases));
        if !met
            && maker != who.number()
            && when >= self.clocks.row(who.warp)[usize::from(maker) >> 5]
        {
            let maker = self.windows[rank].thread(maker);
            let what = format!(
                "uses the mbarrier at byte {at}, which {maker} initialised with no barrier between"
            );
            return Err(Trouble::at(FaultKind::Race, who.lane, what));
        }
        Ok((rank, at))
    }

    fn barrier(&mut self, rank: usize, at: u64) -> &mut Barrier {
        self.barriers[rank].live.get_mut(&at).expect("was just found")
    }

    /// The agent whose copies an `mbarrier` counts, which must have been made known to the asynchronous proxy.
    pub(super) fn copies_of(&self, address: u64, who: Who) -> Done<usize> {
        let (rank, at) = self.find_barrier(address, who)?;
        let barrier = &self.barriers[rank].live[&at];
        if barrier.fenced.is_none() {
            let what = format!(
                "copies on the mbarrier at byte {at}, after whose initialisation there was no fence.mbarrier_init or fence.proxy.async"
            );
            return Err(Trouble::at(FaultKind::Race, who.lane, what));
        }
        Ok(self.clocks.agents.copies(rank, barrier.number))
    }

    /// A thread has made the `mbarrier`s it initialised known to the cluster and to the asynchronous proxy.
    pub(super) fn fence_barriers(&mut self, thread: u16) {
        let meeting = self.next_meeting(usize::from(thread) >> 5);
        let all = self.barriers.iter_mut().flat_map(|of_block| of_block.live.values_mut());
        let own = all.filter(|barrier| barrier.made.0 == thread && barrier.fenced.is_none());
        own.for_each(|barrier| barrier.fenced = Some(meeting));
    }

    /// Announces bytes: `mbarrier.expect_tx`. Negative: they have come (`complete_tx`).
    pub(super) fn expect_bytes(&mut self, address: u64, bytes: i64, who: Who) -> Done {
        let (rank, at) = self.find_barrier(address, who)?;
        let barrier = self.barrier(rank, at);
        barrier.bytes += bytes;
        let open = barrier.bytes;
        if open.abs() > MOST {
            let what = format!("{open} bytes are awaited by the mbarrier at byte {at}");
            return Err(Trouble::at(FaultKind::Barrier, who.lane, what));
        }
        self.turn_over(rank, at);
        Ok(())
    }

    /// So many arrivals, and bytes they announce; gives the state before.
    pub(super) fn arrive_at(
        &mut self,
        address: u64,
        (arrivals, bytes): (u32, u32),
        who: Who,
    ) -> Done<u64> {
        let (rank, at) = self.find_barrier(address, who)?;
        let known = self.clocks.release(who.warp);
        let barrier = self.barrier(rank, at);
        let state = barrier.phase;
        barrier.bytes += i64::from(bytes);
        let (pending, open) = (barrier.pending - i64::from(arrivals), barrier.bytes);
        if pending < 0 || open.abs() > MOST {
            let expected = barrier.expected;
            let what = format!(
                "more than {expected} arrivals in a phase of the mbarrier at byte {at}, where {open} bytes are awaited"
            );
            return Err(Trouble::at(FaultKind::Barrier, who.lane, what));
        }
        barrier.pending = pending;
        for (mine, theirs) in barrier.gathering.iter_mut().zip(&known) {
            *mine = (*mine).max(*theirs);
        }
        self.turn_over(rank, at);
        Ok(state)
    }

    /// Bytes that an engine copied have landed.
    pub(super) fn land_on(&mut self, address: u64, bytes: i64, who: Who) -> Done {
        let agent = self.copies_of(address, who)?;
        let (rank, at) = self.split(address);
        let mut gathering = std::mem::take(&mut self.barrier(rank, at).gathering);
        let now = self.clocks.tick();
        self.clocks.note(&mut gathering, agent, now);
        self.barrier(rank, at).gathering = gathering;
        self.expect_bytes(address, -bytes, who)
    }

    fn turn_over(&mut self, rank: usize, at: u64) {
        let nothing = self.clocks.nothing();
        let barrier = self.barrier(rank, at);
        if barrier.pending == 0 && barrier.bytes == 0 {
            barrier.phase += 1;
            barrier.pending = barrier.expected;
            barrier.completed = std::mem::replace(&mut barrier.gathering, nothing);
            self.changes += 1;
        }
    }

    /// Whether a phase has ended; who waits then knows what those who arrived did.
    pub(super) fn has_ended(&mut self, address: u64, phase: Phase, who: Who) -> Done<bool> {
        let (rank, at) = self.find_barrier(address, who)?;
        let barrier = &self.barriers[rank].live[&at];
        let ended = match phase {
            Phase::Parity(parity) => u64::from(parity & 1) != barrier.phase & 1,
            Phase::State(state) => barrier.phase > state,
        };
        if ended {
            self.clocks.acquire(who.warp, &barrier.completed);
        }
        Ok(ended)
    }

    /// What an `mbarrier` lacks, for a message.
    pub(super) fn describe_barrier(&self, address: u64) -> String {
        let (rank, at) = self.split(address);
        match self.barriers[rank].live.get(&at) {
            Some(barrier) => format!(
                "the mbarrier at byte {at}, whose phase {} lacks {} of {} arrivals and {} bytes",
                barrier.phase, barrier.pending, barrier.expected, barrier.bytes
            ),
            None => format!("an mbarrier at byte {at}, where there is none"),
        }
    }
}
