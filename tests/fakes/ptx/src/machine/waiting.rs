//! Instructions that wait until something has happened, which other warps go on to do.

use super::access::by_space;
use super::barrier::Phase;
use super::hands::Hands;
use super::registers::lanes_of;
use super::warp::Warp;
use crate::decode::generic_base;
use crate::fault::{Done, FaultKind, Trouble};
use crate::parse::syntax::Space;
use crate::program::{Address, BarrierAct, BarrierWait, Op, Place, Reg};

impl Warp<'_> {
    /// Addresses of a barrier, which must lie in shared memory.
    fn barrier_addresses(&self, address: &Address, active: u32) -> Done<[u64; 32]> {
        let mut addresses = self.registers.addresses(address);
        match by_space(address.space, &mut addresses, active)[..] {
            [(Space::Shared, _)] => Ok(addresses),
            _ => Err(Trouble::new(FaultKind::Bounds, "an mbarrier outside shared memory")),
        }
    }

    /// Lanes for which the wait of an instruction is over.
    pub(super) fn is_over(
        &mut self,
        op: &Op,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done<u32> {
        match op {
            Op::MBarrierWait(wait) => self.test_barrier(wait, active, line, hands),
            Op::AwaitPredecessor => Ok(if hands.predecessor_ended { active } else { 0 }),
            _ => Ok(if hands.shared.cluster_has_met(self.agent)? { active } else { 0 }),
        }
    }

    fn test_barrier(
        &mut self,
        wait: &BarrierWait,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done<u32> {
        let addresses = self.barrier_addresses(&wait.address, active)?;
        // Before one of them learns something for the warp.
        for lane in lanes_of(active) {
            hands.shared.find_barrier(addresses[lane], self.who(lane, line, false))?;
        }
        let mut over = 0;
        for lane in lanes_of(active) {
            let phase = match (wait.parity, wait.state) {
                (Some(parity), _) => Phase::Parity(self.registers.word(parity)[lane]),
                (None, Some(state)) => Phase::State(self.registers.long(state)[lane]),
                (None, None) => continue,
            };
            let who = self.who(lane, line, false);
            over |= u32::from(hands.shared.has_ended(addresses[lane], phase, who)?) << lane;
        }
        Ok(over)
    }

    /// What an instruction waits for, for a message.
    pub(super) fn describe_wait(&self, op: &Op, lane: usize, hands: &Hands<'_>) -> String {
        match op {
            Op::MBarrierWait(wait) => match self.barrier_addresses(&wait.address, 1 << lane) {
                Ok(addresses) => hands.shared.describe_barrier(addresses[lane]),
                Err(_) => "an mbarrier".to_owned(),
            },
            _ => hands.shared.describe_cluster(),
        }
    }

    /// Everything about `mbarrier`s that does not wait.
    pub(super) fn mbarrier(
        &mut self,
        address: &Address,
        act: BarrierAct,
        (active, line): (u32, u32),
        hands: &mut Hands<'_>,
    ) -> Done {
        let addresses = self.barrier_addresses(address, active)?;
        for lane in lanes_of(active) {
            let (at, who) = (addresses[lane], self.who(lane, line, false));
            let word = |register| self.registers.word(register)[lane];
            let shared = &mut *hands.shared;
            match act {
                BarrierAct::Init(count) => shared.init_barrier(at, word(count), who)?,
                BarrierAct::Invalidate => shared.end_barrier(at, who)?,
                BarrierAct::Expect(bytes) => shared.expect_bytes(at, word(bytes).into(), who)?,
                BarrierAct::Complete(bytes) => {
                    shared.expect_bytes(at, -i64::from(word(bytes)), who)?;
                }
                BarrierAct::Arrive { count, bytes, state } => {
                    let before = shared.arrive_at(at, (word(count), word(bytes)), who)?;
                    if let Some(state) = state {
                        self.registers.set_long(state, &[before; 32], 1 << lane);
                    }
                }
                BarrierAct::ArriveCopies { counted } => {
                    self.async_wait(None, 1 << lane, hands);
                    let arrivals = u32::from(counted);
                    hands.shared.arrive_at(at, (arrivals, 0), who)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn fence_proxy(&mut self, active: u32, hands: &mut Hands<'_>) {
        let whole = active == self.live();
        hands.shared.clocks.fence_proxy(self.agent, lanes_of(active), whole);
        self.fence_barriers(active, hands);
    }

    pub(super) fn fence_barriers(&mut self, active: u32, hands: &mut Hands<'_>) {
        for lane in lanes_of(active) {
            hands.shared.fence_barriers(self.who(lane, 0, false).number());
        }
    }

    /// `mapa`
    pub(super) fn map_address(
        &mut self,
        (d, a): (Place, Place),
        rank: Reg,
        generic: bool,
        active: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut addresses = self.registers.wide(a);
        let base = if generic { generic_base(Space::Shared) } else { 0 };
        for lane in lanes_of(active) {
            let rank = u64::from(self.registers.word(rank)[lane]);
            if rank as usize >= hands.shared.windows.len() {
                let what = format!("block {rank} of a cluster of {}", hands.shared.windows.len());
                return Err(Trouble::at(FaultKind::Bounds, lane, what));
            }
            let at = addresses[lane].wrapping_sub(base);
            addresses[lane] = base + hands.shared.mapped(at, rank);
        }
        self.registers.set_wide(d, &addresses, active);
        Ok(())
    }
}
