//! What the blocks of a cluster wait for together: `barrier.cluster`, and blocks that have ended.

use super::clocks::Known;
use super::shared::{Shared, Who};
use crate::fault::{Done, FaultKind, Trouble};

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathering {
    /// Warps that have not arrived in this phase.
    due: usize,
    /// Warps that run.
    alive: Vec<bool>,
    /// In which phase a warp arrived that has not waited since.
    arrived: Vec<Option<u64>>,
    /// Phases that had ended when a warp last waited for one.
    met: Vec<u64>,
    phase: u64,
    known: Known,
    completed: Known,
}

impl Gathering {
    pub(super) fn new(warps: usize, nothing: Known) -> Self {
        Self {
            due: warps,
            alive: vec![true; warps],
            arrived: vec![None; warps],
            met: vec![0; warps],
            phase: 0,
            known: nothing.clone(),
            completed: nothing,
        }
    }
}

impl Shared {
    /// `barrier.cluster.arrive`
    pub(super) fn arrive_in_cluster(&mut self, warp: usize, relaxed: bool) -> Done {
        let gathering = &self.gathering;
        if gathering.arrived[warp].is_some() {
            let what = "arrives at the barrier of the cluster twice without waiting";
            return Err(Trouble::new(FaultKind::Barrier, what));
        }
        self.gathering.arrived[warp] = Some(self.gathering.phase);
        if !relaxed {
            let known = self.clocks.release(warp);
            for (mine, theirs) in self.gathering.known.iter_mut().zip(&known) {
                *mine = (*mine).max(*theirs);
            }
        }
        self.one_less_due();
        Ok(())
    }

    fn one_less_due(&mut self) {
        let nothing = self.clocks.nothing();
        let gathering = &mut self.gathering;
        gathering.due -= 1;
        if gathering.due == 0 {
            gathering.phase += 1;
            gathering.due = gathering.alive.iter().filter(|alive| **alive).count();
            gathering.completed = std::mem::replace(&mut gathering.known, nothing);
            self.changes += 1;
        }
    }

    /// `barrier.cluster.wait`: whether it is over.
    pub(super) fn cluster_has_met(&mut self, warp: usize) -> Done<bool> {
        let Some(arrived) = self.gathering.arrived[warp] else {
            let what = "waits at the barrier of the cluster without having arrived";
            return Err(Trouble::new(FaultKind::Barrier, what));
        };
        let met = self.gathering.phase > arrived;
        if met {
            self.gathering.arrived[warp] = None;
            self.gathering.met[warp] = self.gathering.phase;
            self.clocks.acquire(warp, &self.gathering.completed);
        }
        Ok(met)
    }

    /// How many phases must have ended for others to have met a warp after what it does now.
    pub(super) fn next_meeting(&self, warp: usize) -> u64 {
        let Gathering { phase, arrived, .. } = &self.gathering;
        if arrived[warp] == Some(*phase) { phase + 2 } else { phase + 1 }
    }

    /// Whether a warp has waited for the end of so many phases.
    pub(super) fn has_met(&self, warp: usize, phases: u64) -> bool {
        self.gathering.met[warp] >= phases
    }

    /// A warp has ended, which counts as its arrival.
    pub(super) fn end_warp(&mut self, warp: usize) {
        self.gathering.alive[warp] = false;
        if self.gathering.arrived[warp] != Some(self.gathering.phase) {
            self.one_less_due();
        }
    }

    /// How many warps have not arrived, for a message.
    pub(super) fn describe_cluster(&self) -> String {
        format!("the barrier of the cluster, at which {} warps are missing", self.gathering.due)
    }

    /// Whether the shared memory of a block is still there.
    pub(super) fn check_alive(&self, rank: usize, who: Who) -> Done {
        let mut warps = self.clocks.agents.warps_of(rank);
        if warps.any(|warp| self.gathering.alive[warp]) {
            return Ok(());
        }
        let what = format!("uses shared memory of block {rank} of the cluster, which has ended");
        Err(Trouble::at(FaultKind::Bounds, who.lane, what))
    }
}
