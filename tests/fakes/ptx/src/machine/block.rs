//! A block: its warps by turns, and the barriers at which they meet.

use super::clocks::Known;
use super::hands::Hands;
use super::registers::{ALL, Constants, lanes_of};
use super::warp::{Pause, Warp};
use super::warpgroup::GROUP;
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::WARP;
use crate::program::{BarrierKind, Op, Program};

/// Barriers a block has.
const BARRIERS: usize = 16;

/// A barrier and who has come.
#[derive(Debug, Default)]
struct Barrier {
    /// Threads that must come; 0 while nobody has.
    expected: u32,
    arrived: u32,
    known: Vec<Known>,
    waiting: Vec<usize>,
    /// Threads whose predicate holds, of those who reduce.
    yes: u32,
    reducing: u32,
}

/// What a warp is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    /// For its warpgroup.
    Gathering,
    Finished,
}

/// A block's warps and barriers; used again for the next block.
pub(super) struct Block<'a> {
    pub(super) program: &'a Program,
    threads: u32,
    pub(super) warps: Vec<Warp<'a>>,
    states: Vec<State>,
    barriers: [Barrier; BARRIERS],
    /// The warp looked at last, for a message.
    current: usize,
}

impl<'a> Block<'a> {
    pub(super) fn new(
        program: &'a Program,
        constants: &'a Constants,
        threads: u32,
        rank: usize,
    ) -> Self {
        let count = threads.div_ceil(32);
        let lanes = |warp: u32| {
            let left = threads - 32 * warp;
            if left >= 32 { ALL } else { (1 << left) - 1 }
        };
        let warp = |number: u32| {
            let agent = rank * count as usize + number as usize;
            Warp::new((agent, number as usize), lanes(number), program, constants)
        };
        Self {
            program,
            threads,
            warps: (0..count).map(warp).collect(),
            states: vec![State::Ready; count as usize],
            barriers: Default::default(),
            current: 0,
        }
    }

    /// Registers to fill before the block begins.
    pub(super) fn warps(&mut self) -> &mut [Warp<'a>] {
        &mut self.warps
    }

    /// Makes the block new.
    pub(super) fn restart(&mut self) {
        self.barriers = Default::default();
        self.states.fill(State::Ready);
        self.warps.iter_mut().for_each(Warp::restart);
    }

    /// Lets every warp run that can; whether any could.
    pub(super) fn round(&mut self, hands: &mut Hands<'_>) -> Done<bool> {
        let mut ran = false;
        for index in 0..self.warps.len() {
            let asleep = self.warps[index].is_asleep(hands.shared.changes);
            if self.states[index] != State::Ready || asleep {
                continue;
            }
            self.current = index;
            ran = true;
            match self.warps[index].run(hands)? {
                Pause::Finished => {
                    self.states[index] = State::Finished;
                    hands.shared.end_warp(self.warps[index].agent);
                }
                Pause::Barrier => self.arrive(index, hands)?,
                Pause::Group => self.gather(index, hands)?,
                Pause::Turn | Pause::Asleep => {}
            }
        }
        Ok(ran)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.states.iter().all(|state| *state == State::Finished)
    }

    /// Ends all waits that can end without what they wait for; whether there were any.
    pub(super) fn hurry(&mut self) -> bool {
        self.warps.iter_mut().fold(false, |any, warp| warp.hurry() | any)
    }

    /// Whether a warp waits for the launch in front.
    pub(super) fn awaits_predecessor(&self) -> bool {
        let awaits = |at: u32| matches!(self.program.code[at as usize].op, Op::AwaitPredecessor);
        self.warps.iter().any(|warp| warp.sleepers().any(|(at, _)| awaits(at)))
    }

    /// A warp has come to an instruction for its warpgroup.
    fn gather(&mut self, index: usize, hands: &mut Hands<'_>) -> Done {
        self.states[index] = State::Gathering;
        let group = index / GROUP;
        let all = GROUP * group..(GROUP * group + GROUP).min(self.warps.len());
        if self.states[all.clone()].iter().all(|state| *state == State::Gathering) {
            self.act_together(group, hands)?;
            self.states[all].fill(State::Ready);
        }
        Ok(())
    }

    /// Line of the instruction at fault, and a thread of it.
    pub(super) fn place(&self, lane: Option<u32>) -> (u32, u32) {
        let warp = &self.warps[self.current];
        let line = self.program.code.get(warp.at as usize).map_or(0, |inst| inst.line);
        let lane = lane.unwrap_or_else(|| warp.live().trailing_zeros() & 31);
        (line, 32 * self.current as u32 + lane)
    }

    /// Why it does not go on, if it has not ended.
    #[cold]
    pub(super) fn stuck(&mut self, hands: &Hands<'_>) -> Option<Box<Trouble>> {
        let first = self.states.iter().position(|state| *state != State::Finished)?;
        let waiting = self.states.iter().position(|state| *state == State::Waiting);
        self.current = waiting.unwrap_or(first);
        let mut trouble = match waiting {
            Some(waiting) => self.stuck_at_barrier(waiting),
            None => Trouble::new(FaultKind::Barrier, ""),
        };
        for (number, warp) in self.warps.iter().enumerate() {
            let line = |at: u32| self.program.code[at as usize].line;
            let mut say = |what: String| {
                let between = if trouble.what.is_empty() { "" } else { "; " };
                trouble.what += &format!("{between}{what}");
            };
            if self.states[number] == State::Gathering {
                say(format!("warp {number} waits for its warpgroup in line {}", line(warp.at)));
            }
            for (at, lane) in warp.sleepers() {
                let awaited = warp.describe_wait(&self.program.code[at as usize].op, lane, hands);
                say(format!("warp {number} waits in line {} for {awaited}", line(at)));
            }
        }
        Some(trouble)
    }

    #[cold]
    fn stuck_at_barrier(&mut self, waiting: usize) -> Box<Trouble> {
        let here = self.barriers.iter().position(|barrier| barrier.waiting.contains(&waiting));
        let number = here.unwrap_or_default();
        let barrier = &self.barriers[number];
        let mut what = format!(
            "barrier {number} waits for {} threads, and {} have come",
            barrier.expected, barrier.arrived
        );
        let gone = self.states.iter().filter(|state| **state == State::Finished).count();
        if gone > 0 {
            what += &format!("; {gone} of {} warps have exited", self.warps.len());
        }
        for (other, _) in
            self.states.iter().enumerate().filter(|(_, state)| **state == State::Waiting)
        {
            if !barrier.waiting.contains(&other) {
                let line = self.program.code[self.warps[other].at as usize].line;
                what += &format!("; warp {other} waits at another in line {line}");
            }
        }
        Trouble::new(FaultKind::Barrier, what)
    }

    /// A whole warp has come to a barrier.
    fn arrive(&mut self, index: usize, hands: &mut Hands<'_>) -> Done {
        let warp = &self.warps[index];
        let Op::Barrier { id, threads, kind } = &self.program.code[warp.at as usize].op else {
            return Ok(());
        };
        let uniform = |register| {
            let values: &[u32; WARP] = warp.registers.word(register);
            let mut lanes = lanes_of(warp.live());
            let first = lanes.next().map_or(0, |lane| values[lane]);
            match lanes.find(|lane| values[*lane] != first) {
                None => Ok(first),
                Some(lane) => Err(Trouble::at(
                    FaultKind::Barrier,
                    lane,
                    "lanes of a warp name different barriers",
                )),
            }
        };
        let number = uniform(*id)? as usize;
        let everyone = self.threads.next_multiple_of(32);
        let expected = threads.map_or(Ok(everyone), uniform)?;
        if number >= BARRIERS
            || expected == 0
            || !expected.is_multiple_of(32)
            || expected > everyone
        {
            let what = format!("barrier {number} for {expected} of {everyone} threads");
            return Err(Trouble::new(FaultKind::Barrier, what));
        }
        let barrier = &mut self.barriers[number];
        if barrier.expected != 0 && barrier.expected != expected {
            let what = format!(
                "barrier {number} is asked for {expected} threads and for {}",
                barrier.expected
            );
            return Err(Trouble::new(FaultKind::Barrier, what));
        }
        barrier.expected = expected;
        barrier.arrived += 32;
        barrier.known.push(hands.shared.clocks.release(self.warps[index].agent));
        if let BarrierKind::Count(_, test) | BarrierKind::And(_, test) | BarrierKind::Or(_, test) =
            *kind
        {
            let live = warp.live();
            barrier.yes += (warp.registers.test(test) & live).count_ones();
            barrier.reducing += live.count_ones();
        }
        if *kind == BarrierKind::Arrive {
            self.warps[index].pass();
        } else {
            barrier.waiting.push(index);
            self.states[index] = State::Waiting;
        }
        if self.barriers[number].arrived >= expected {
            self.complete(number, hands);
        }
        Ok(())
    }

    /// Everyone has come: those who wait go on.
    fn complete(&mut self, number: usize, hands: &mut Hands<'_>) {
        let barrier = std::mem::take(&mut self.barriers[number]);
        if barrier.waiting.len() == self.warps.len() {
            hands.shared.clocks.meet(hands.shared.rank);
        } else {
            let agents = barrier.waiting.iter().map(|index| self.warps[*index].agent);
            hands.shared.clocks.leave(&barrier.known, agents);
        }
        for index in barrier.waiting {
            let warp = &mut self.warps[index];
            if let Op::Barrier { kind, .. } = &self.program.code[warp.at as usize].op {
                let live = warp.live();
                let predicate = |held: bool| if held { ALL } else { 0 };
                match *kind {
                    BarrierKind::Count(d, _) => {
                        warp.registers.set_word(d, &[barrier.yes; WARP], live)
                    }
                    BarrierKind::And(d, _) => {
                        let all = barrier.yes == barrier.reducing;
                        warp.registers.set_predicate(d, predicate(all), live);
                    }
                    BarrierKind::Or(d, _) => {
                        warp.registers.set_predicate(d, predicate(barrier.yes > 0), live);
                    }
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
            warp.pass();
            self.states[index] = State::Ready;
        }
    }
}
