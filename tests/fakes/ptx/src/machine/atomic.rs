//! Atomics: lane after lane, in order.

use super::access::{by_space, check_aligned, stray};
use super::hands::Hands;
use super::registers::lanes_of;
use super::warp::Warp;
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::{Lanes, WARP};
use crate::numerics::exact::Rounding;
use crate::numerics::float::{Modifiers, add_f32, add_f64};
use crate::parse::syntax::Space;
use crate::program::{Atom, Atomic};

impl Warp<'_> {
    pub(super) fn atomic(
        &mut self,
        atomic: &Atomic,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut addresses = self.registers.addresses(&atomic.address);
        let operand = self.registers.wide(atomic.operand);
        let second = atomic.second.map_or([0; WARP], |second| self.registers.wide(second));
        let size = usize::from(atomic.bytes);
        let mut old = [0; WARP];
        for (space, lanes) in by_space(atomic.address.space, &mut addresses, active) {
            for lane in lanes_of(lanes) {
                let address = addresses[lane];
                let place = match space {
                    Space::Shared => {
                        let who = self.who(lane, line, true);
                        hands.shared.read(address, size, who)?;
                        hands.shared.write(address, size, who)?
                    }
                    Space::Local | Space::Param => {
                        let what = "an atomic outside global and shared memory";
                        return Err(Trouble::at(FaultKind::Bounds, lane, what));
                    }
                    Space::Generic | Space::Global | Space::Const => {
                        check_aligned(address, size, lane)?;
                        if hands.memory.writable(address, size).is_none() {
                            return Err(stray(hands.memory, address, size, lane, "updates"));
                        }
                        hands.memory.writable(address, size).unwrap_or_default()
                    }
                };
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(place);
                old[lane] = u64::from_le_bytes(bytes);
                let flush = space != Space::Shared;
                let new = updated(atomic, old[lane], operand[lane], second[lane], flush);
                place.copy_from_slice(&new.to_le_bytes()[..size]);
            }
        }
        if let Some(place) = atomic.old {
            self.registers.set_wide(place, &old, active);
        }
        Ok(())
    }
}

/// The new value of an atomic. Global binary32 sums flush subnormals, shared ones keep them (PTX ISA, `atom`).
fn updated(atomic: &Atomic, old: u64, x: u64, y: u64, flush: bool) -> u64 {
    let rn = Modifiers { rounding: Rounding::Nearest, flush, saturate: false, relu: false };
    let wide = atomic.bytes == 8;
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
    match atomic.kind {
        Atom::Add => old.wrapping_add(x),
        Atom::Min => old.min(x),
        Atom::Max => old.max(x),
        Atom::MinSigned => signed(old).min(signed(x)) as u64,
        Atom::MaxSigned => signed(old).max(signed(x)) as u64,
        Atom::And => old & x,
        Atom::Or => old | x,
        Atom::Xor => old ^ x,
        Atom::Exchange => x,
        Atom::CompareSwap => {
            if old == x {
                y
            } else {
                old
            }
        }
        Atom::Increment => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        Atom::Decrement => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        Atom::AddF32 => add_f32(old as u32, x as u32, rn).into(),
        Atom::AddF64 => add_f64(old, x, Rounding::Nearest),
        Atom::Add16(Lanes::Binary32(add)) => {
            let mut sum = [0; WARP];
            add(&[old as u32; WARP], &[x as u32; WARP], &mut sum);
            sum[0].into()
        }
        Atom::Add16(_) => old,
    }
}
