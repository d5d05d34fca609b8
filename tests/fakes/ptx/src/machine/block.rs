//! A block: its warps by turns, and the barriers at which they meet.

use super::hands::Hands;
use super::registers::{ALL, Constants, lanes_of};
use super::shared::Known;
use super::warp::{Pause, Warp};
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
    Finished,
}

/// A block's warps and barriers; used again for the next block.
pub(super) struct Block<'a> {
    program: &'a Program,
    threads: u32,
    warps: Vec<Warp<'a>>,
    states: Vec<State>,
    barriers: [Barrier; BARRIERS],
    /// The warp looked at last, for a message.
    current: usize,
}

impl<'a> Block<'a> {
    pub(super) fn new(program: &'a Program, constants: &'a Constants, threads: u32) -> Self {
        let count = threads.div_ceil(32);
        let lanes = |warp: u32| {
            let left = threads - 32 * warp;
            if left >= 32 { ALL } else { (1 << left) - 1 }
        };
        let warp = |number: u32| Warp::new(number as usize, lanes(number), program, constants);
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
    pub(super) fn restart(&mut self, hands: &mut Hands<'_>) {
        hands.shared.clear();
        self.barriers = Default::default();
        self.states.fill(State::Ready);
        self.warps.iter_mut().for_each(Warp::restart);
    }

    /// Runs the block to its end.
    pub(super) fn run(&mut self, hands: &mut Hands<'_>) -> Done {
        loop {
            let mut ran = false;
            for index in 0..self.warps.len() {
                if self.states[index] == State::Ready {
                    self.current = index;
                    ran = true;
                    match self.warps[index].run(hands)? {
                        Pause::Finished => self.states[index] = State::Finished,
                        Pause::Barrier => self.arrive(index, hands)?,
                        Pause::Turn => {}
                    }
                }
            }
            if !ran {
                break;
            }
        }
        match self.states.iter().position(|state| *state == State::Waiting) {
            None => Ok(()),
            Some(waiting) => Err(self.stuck(waiting)),
        }
    }

    /// Line of the instruction at fault, and a thread of it.
    pub(super) fn place(&self, lane: Option<u32>) -> (u32, u32) {
        let warp = &self.warps[self.current];
        let line = self.program.code.get(warp.at as usize).map_or(0, |inst| inst.line);
        let lane = lane.unwrap_or_else(|| warp.live().trailing_zeros() & 31);
        (line, 32 * self.current as u32 + lane)
    }

    #[cold]
    fn stuck(&mut self, waiting: usize) -> Box<Trouble> {
        self.current = waiting;
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
        barrier.known.push(hands.shared.arrive(index));
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
            hands.shared.meet();
        } else {
            hands.shared.leave(&barrier.known, barrier.waiting.iter().copied());
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
