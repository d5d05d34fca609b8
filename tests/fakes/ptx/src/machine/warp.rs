//! A warp: lanes in groups that have the same program counter.
//!
//! Of the groups that can go on, the one furthest back does; groups that meet become one. Compilers lay code out so that this brings lanes together
//! where their ways join, and nothing may depend on it: since Volta, PTX promises no more. An instruction that names lanes waits until they are there,
//! at the same line, as the strictest hardware wants it. Rejected: a stack of reconvergence points, which needs the control-flow graph and hangs where
//! lanes wait for each other.

use std::sync::atomic::Ordering;

use super::engine::Reading;
use super::hands::Hands;
use super::registers::{ALL, Constants, Registers, lanes_of};
use super::warpgroup::Products;
use crate::fault::{Done, FaultKind, Trouble};
use crate::program::{Inst, Kind, Op, Program, Reg};

/// Backward branches after which a warp lets others go on: one may be waiting for them.
const TURN: u32 = 1 << 16;
/// Of so many choices of a group, one falls on the foremost: the others may be waiting for it.
const ROTATION: u32 = 1 << 10;

/// Lanes with one program counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// For other lanes, to do its next instruction with them.
    waits: bool,
    sleep: Sleep,
}

/// Whether a group waits for something to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Awake,
    /// Until there are other changes than those so far.
    Since(u64),
    /// No longer: nothing else goes on.
    TimedOut,
}

impl Group {
    fn new(pc: u32, mask: u32) -> Self {
        Self { pc, mask, waits: false, sleep: Sleep::Awake }
    }

    fn is_asleep(&self, changes: u64) -> bool {
        self.sleep == Sleep::Since(changes)
    }
}

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// All its lanes have exited.
    Finished,
    /// It is at a barrier.
    Barrier,
    /// Others should have a turn.
    Turn,
    /// It waits for something others do.
    Asleep,
    /// It is at an instruction for its warpgroup.
    Group,
}

/// Whether a group goes on.
enum Stop {
    /// The groups have changed.
    Regroup,
    Pause(Pause),
}

/// A copy on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) address: u64,
    pub(super) bytes: u8,
    pub(super) group: u32,
}

/// What one lane has on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights {
    pub(super) open: u32,
    pub(super) all: Vec<Flight>,
}

/// What one lane has bulk copies read.
#[derive(Clone, Debug, Default)]
pub(super) struct Stores {
    pub(super) open: u32,
    pub(super) all: Vec<Reading>,
}

/// A warp of a block.
#[derive(Debug)]
pub(super) struct Warp<'a> {
    pub(super) number: usize,
    /// Its number among the warps of the cluster.
    pub(super) agent: usize,
    pub(super) registers: Registers<'a>,
    pub(super) local: Vec<u8>,
    pub(super) flights: Vec<Flights>,
    pub(super) stores: Vec<Stores>,
    pub(super) products: Products,
    groups: Vec<Group>,
    /// Lanes that exist.
    pub(super) lanes: u32,
    choices: u32,
    /// Index of the instruction done last.
    pub(super) at: u32,
}

impl<'a> Warp<'a> {
    pub(super) fn new(
        (agent, number): (usize, usize),
        lanes: u32,
        program: &Program,
        constants: &'a Constants,
    ) -> Self {
        Self {
            number,
            agent,
            registers: Registers::new(program, constants),
            local: vec![0; 32 * program.local_bytes as usize],
            flights: vec![Flights::default(); 32],
            stores: vec![Stores::default(); 32],
            products: Products::default(),
            groups: Vec::new(),
            lanes,
            choices: 0,
            at: 0,
        }
    }

    /// As a new block begins.
    pub(super) fn restart(&mut self) {
        self.registers.clear();
        self.local.fill(0);
        for flights in &mut self.flights {
            (flights.open, flights.all) = (0, Vec::new());
        }
        self.stores.fill(Stores::default());
        self.products = Products::default();
        self.groups = vec![Group::new(0, self.lanes)];
        self.choices = 0;
    }

    /// Lanes that have not exited.
    pub(super) fn live(&self) -> u32 {
        self.groups.iter().fold(0, |all, group| all | group.mask)
    }

    /// Goes past the barrier it waited at.
    pub(super) fn pass(&mut self) {
        for group in &mut self.groups {
            group.pc += 1;
        }
    }

    /// Runs until nothing is left to do alone.
    pub(super) fn run(&mut self, hands: &mut Hands<'_>) -> Done<Pause> {
        let mut turns = TURN;
        loop {
            self.merge();
            if self.groups.is_empty() {
                self.check_end()?;
                return Ok(Pause::Finished);
            }
            let Some(chosen) = self.choose(hands)? else { return Ok(Pause::Asleep) };
            match self.run_group(chosen, hands, &mut turns)? {
                Stop::Regroup if turns > 0 => {}
                Stop::Regroup => return Ok(Pause::Turn),
                Stop::Pause(pause) => return Ok(pause),
            }
        }
    }

    /// Groups that are at the same place become one.
    fn merge(&mut self) {
        self.groups.retain(|group| group.mask != 0);
        if self.groups.len() < 2 {
            return;
        }
        self.groups.sort_by_key(|group| group.pc);
        self.groups.dedup_by(|later, first| {
            let same = later.pc == first.pc;
            if same {
                *first = Group::new(first.pc, first.mask | later.mask);
            }
            same
        });
    }

    /// The group that goes on; none where some wait for what others do.
    fn choose(&mut self, hands: &Hands<'_>) -> Done<Option<usize>> {
        self.choices += 1;
        let changes = hands.shared.changes;
        let can = |group: &Group| !group.waits && !group.is_asleep(changes);
        let mut ready = (0..self.groups.len()).filter(|index| can(&self.groups[*index]));
        let rotate = self.groups.len() > 1 && self.choices.is_multiple_of(ROTATION);
        let chosen = if rotate { ready.next_back() } else { ready.next() };
        if chosen.is_none() && !self.groups.iter().any(|group| group.is_asleep(changes)) {
            return Err(self.stuck(&hands.program.code));
        }
        Ok(chosen)
    }

    /// Whether it only waits for something to happen.
    pub(super) fn is_asleep(&self, changes: u64) -> bool {
        let asleep = |group: &Group| group.waits || group.is_asleep(changes);
        self.groups.iter().all(asleep) && self.groups.iter().any(|group| !group.waits)
    }

    /// Ends all waits; whether there were any.
    pub(super) fn hurry(&mut self) -> bool {
        let mut any = false;
        for group in &mut self.groups {
            if let Sleep::Since(_) = group.sleep {
                (group.sleep, any) = (Sleep::TimedOut, true);
            }
        }
        any
    }

    /// Where each group that sleeps is, and one of its lanes.
    pub(super) fn sleepers(&self) -> impl Iterator<Item = (u32, usize)> {
        let asleep = self.groups.iter().filter(|group| group.sleep != Sleep::Awake);
        asleep.map(|group| (group.pc, group.mask.trailing_zeros() as usize))
    }

    /// Nothing may be in flight when a warp ends.
    fn check_end(&self) -> Done {
        if self.registers.is_guarded() {
            let what = "ends before its wgmma.mma_async were waited for";
            return Err(Trouble::new(FaultKind::InFlight, what));
        }
        match self.stores.iter().position(|stores| !stores.all.is_empty()) {
            Some(lane) => {
                let what = "ends before its bulk copies were waited for, which may still read shared memory";
                Err(Trouble::at(FaultKind::InFlight, lane, what))
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn stuck(&mut self, code: &[Inst]) -> Box<Trouble> {
        let first = self.groups[0];
        self.at = first.pc;
        let line = |group: &Group| code[group.pc as usize].line;
        let mut what = format!("lanes {:08x} wait for others of their warp", first.mask);
        for group in &self.groups[1..] {
            what += &format!("; lanes {:08x} wait in line {}", group.mask, line(group));
        }
        let gone = self.lanes & !self.live();
        if gone != 0 {
            what += &format!("; lanes {gone:08x} have exited");
        }
        Trouble::at(FaultKind::Divergence, first.mask.trailing_zeros() as usize, what)
    }

    fn run_group(&mut self, chosen: usize, hands: &mut Hands<'_>, turns: &mut u32) -> Done<Stop> {
        let program = hands.program;
        let Group { mut pc, mask, .. } = self.groups[chosen];
        // Groups behind wait; with the first one ahead this one may meet.
        let ahead = self.groups.iter().filter(|group| group.pc > pc).map(|group| group.pc).min();
        let meeting = ahead.unwrap_or(u32::MAX);
        loop {
            if pc == meeting {
                self.groups[chosen].pc = pc;
                return Ok(Stop::Regroup);
            }
            let inst = &program.code[pc as usize];
            let active = mask & (self.registers.predicate(inst.guard) ^ inst.flip);
            self.at = pc;
            hands.count()?;
            if active == 0 {
                pc += 1;
                continue;
            }
            program.executed[pc as usize].store(true, Ordering::Relaxed);
            if inst.kind == Kind::Alone {
                self.alone(inst, active, hands)?;
                self.check_touched()?;
                pc += 1;
                continue;
            }
            self.groups[chosen].pc = pc;
            let stop = match inst.kind {
                Kind::Control => self.turn(inst, chosen, active),
                Kind::Waiting => self.wait(inst, chosen, active, hands)?,
                _ => self.meet(inst, chosen, active, hands)?,
            };
            self.check_touched()?;
            match stop {
                None => pc = self.groups[chosen].pc,
                Some(Stop::Regroup) => {
                    *turns = turns.saturating_sub(1);
                    return Ok(Stop::Regroup);
                }
                Some(stop) => return Ok(stop),
            }
        }
    }

    /// Goes elsewhere, some lanes perhaps not. A group that is alone and stays whole just goes on, except that it stops for breath now and then.
    fn turn(&mut self, inst: &Inst, chosen: usize, active: u32) -> Option<Stop> {
        let pc = self.groups[chosen].pc;
        match &inst.op {
            Op::Branch(target) => {
                if self.groups.len() == 1 && self.groups[chosen].mask == active {
                    self.groups[chosen].pc = *target;
                    return if *target > pc { None } else { self.breath() };
                }
                self.split(chosen, active, *target);
            }
            Op::Call(target, link) => {
                self.registers.set_word(*link, &[pc + 1; 32], active);
                self.split(chosen, active, *target);
            }
            Op::Return(link) => {
                let targets = *self.registers.word(*link);
                lanes_of(active).for_each(|lane| self.split(chosen, 1 << lane, targets[lane]));
            }
            Op::BranchIndexed(index, targets) => {
                let index = *self.registers.word(*index);
                let last = targets.len().saturating_sub(1);
                let target = |lane: usize| targets[(index[lane] as usize).min(last)];
                lanes_of(active).for_each(|lane| self.split(chosen, 1 << lane, target(lane)));
            }
            _ => self.groups[chosen].mask &= !active,
        }
        // Those who did not go are past it.
        self.groups[chosen].pc = pc + 1;
        self.wake();
        Some(Stop::Regroup)
    }

    fn check_touched(&self) -> Done {
        if !self.registers.is_guarded() {
            return Ok(());
        }
        match self.registers.take_touched() {
            None => Ok(()),
            Some(_) => {
                let what = "touches a register of a wgmma.mma_async that has not been waited for";
                Err(Trouble::new(FaultKind::InFlight, what))
            }
        }
    }

    /// Goes on where what it waits for has happened, or says that it has not where nothing else goes on.
    fn wait(
        &mut self,
        inst: &Inst,
        chosen: usize,
        active: u32,
        hands: &mut Hands<'_>,
    ) -> Done<Option<Stop>> {
        let over = self.is_over(&inst.op, active, inst.line, hands)?;
        let tests = matches!(inst.op, Op::MBarrierWait(_));
        let gives_up = tests && self.groups[chosen].sleep == Sleep::TimedOut;
        if over == 0 && !gives_up {
            self.groups[chosen].sleep = Sleep::Since(hands.shared.changes);
            return Ok(Some(Stop::Regroup));
        }
        if let Op::MBarrierWait(wait) = &inst.op {
            self.registers.set_predicate(wait.d, over, active);
        }
        let group = &mut self.groups[chosen];
        (group.sleep, group.pc) = (Sleep::Awake, group.pc + 1);
        Ok(None)
    }

    fn breath(&mut self) -> Option<Stop> {
        self.choices += 1;
        self.choices.is_multiple_of(TURN).then_some(Stop::Pause(Pause::Turn))
    }

    /// An instruction of several lanes, if all are there. Those whose predicate does not hold go on.
    fn meet(
        &mut self,
        inst: &Inst,
        chosen: usize,
        active: u32,
        hands: &mut Hands<'_>,
    ) -> Done<Option<Stop>> {
        let Group { pc, mask, .. } = self.groups[chosen];
        let needed = self.needs(&inst.op, active)?;
        if active != mask {
            self.split(chosen, mask & !active, pc + 1);
            self.wake();
            return Ok(Some(Stop::Regroup));
        }
        if needed & !mask != 0 {
            self.groups[chosen].waits = true;
            return Ok(Some(Stop::Regroup));
        }
        if let Op::Barrier { .. } = inst.op {
            return Ok(Some(Stop::Pause(Pause::Barrier)));
        }
        if inst.kind == Kind::Group {
            return Ok(Some(Stop::Pause(Pause::Group)));
        }
        self.collective(inst, mask, hands)?;
        self.groups[chosen].pc = pc + 1;
        Ok(None)
    }

    /// Lanes that must be there for an instruction.
    fn needs(&self, op: &Op, active: u32) -> Done<u32> {
        let live = self.live();
        match op {
            Op::Barrier { threads: None, .. } if live != self.lanes => {
                let gone = self.lanes & !live;
                let what = format!("lanes {gone:08x} of the warp exited before the barrier");
                Err(Trouble::new(FaultKind::Barrier, what))
            }
            Op::Barrier { .. } | Op::ClusterArrive(_) => Ok(live),
            Op::WarpSync(mask)
            | Op::Shuffle { mask, .. }
            | Op::Vote { mask, .. }
            | Op::MatchAny { mask, .. }
            | Op::MatchAll { mask, .. }
            | Op::Reduce { mask, .. }
            | Op::Elect { mask, .. } => Ok(self.named(*mask, active)? & live),
            _ if live == ALL => Ok(ALL),
            _ => {
                let what = format!("lanes {:08x} of the warp are missing", !live);
                Err(Trouble::new(FaultKind::Divergence, what))
            }
        }
    }

    /// The lanes that the lanes of a group name.
    fn named(&self, mask: Reg, active: u32) -> Done<u32> {
        let masks = self.registers.word(mask);
        let mut all = 0;
        for lane in lanes_of(active) {
            if masks[lane] >> lane & 1 == 0 {
                let what = format!("the mask {:08x} does not name the lane itself", masks[lane]);
                return Err(Trouble::at(FaultKind::Divergence, lane, what));
            }
            all |= masks[lane];
        }
        Ok(all)
    }

    /// Some lanes of a group go elsewhere; the others stay.
    fn split(&mut self, chosen: usize, going: u32, target: u32) {
        self.groups[chosen].mask &= !going;
        self.groups.push(Group::new(target, going));
    }

    /// What was waited for may be there, or never come.
    fn wake(&mut self) {
        for group in &mut self.groups {
            group.waits = false;
        }
    }
}
