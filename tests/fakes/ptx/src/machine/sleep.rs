//! Lanes that wait for what other warps do, and what must not be left behind when a warp ends.

use super::hands::Hands;
use super::warp::{Stop, Warp};
use crate::fault::{Done, FaultKind, Trouble};
use crate::program::{Inst, Op};

/// Lanes with one program counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) pc: u32,
    pub(super) mask: u32,
    /// For other lanes, to do its next instruction with them.
    pub(super) waits: bool,
    pub(super) sleep: Sleep,
}

/// Whether a group waits for something to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sleep {
    Awake,
    /// Until there are other changes than those so far.
    Since(u64),
    /// No longer: nothing else goes on.
    TimedOut,
}

impl Group {
    pub(super) fn new(pc: u32, mask: u32) -> Self {
        Self { pc, mask, waits: false, sleep: Sleep::Awake }
    }

    pub(super) fn is_asleep(&self, changes: u64) -> bool {
        self.sleep == Sleep::Since(changes)
    }
}

impl Warp<'_> {
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
    pub(super) fn check_end(&self) -> Done {
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

    #[inline]
    pub(super) fn check_touched(&self) -> Done {
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
    pub(super) fn wait(
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
}
