//! Instructions that every lane does for itself.

use super::hands::Hands;
use super::registers::Registers;
use super::warp::Warp;
use crate::decode::space_of_address;
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::{Lanes, WARP, flush, saturate};
use crate::numerics::convert::{Conversion, convert};
use crate::program::{Adjust, CARRY, Carry, Inst, Logic, Op, Place, Reg, Test};

impl Warp<'_> {
    pub(super) fn alone(&mut self, inst: &Inst, active: u32, hands: &mut Hands<'_>) -> Done {
        let registers = &mut self.registers;
        match &inst.op {
            Op::Lanes(f, d, s) => registers.apply(*f, *d, *s, active),
            Op::Adjusted { f, d, s, adjust } => {
                registers.apply_adjusted(*f, *d, *s, *adjust, active)
            }
            Op::Convert { d, a, conversion, bits } => {
                registers.convert(*d, *a, conversion, *bits, active)
            }
            Op::Compare { f, flush, d, complement, s, with } => {
                let held = registers.compare(*f, *s, *flush);
                registers.set_compared(*d, *complement, held, *with, active);
            }
            Op::Predicate { logic, d, a, b } => {
                let value = combine(*logic, registers.test(*a), registers.test(*b));
                registers.set_predicate(*d, value, active);
            }
            Op::Select { d, a, b, test } => {
                let held = registers.test(*test);
                registers.choose(*d, *a, *b, held, active);
            }
            Op::SelectSign { d, a, b, c, float } => {
                let negative =
                    |c: u32| if *float { f32::from_bits(c) < 0.0 } else { (c as i32) < 0 };
                let held = mask_of(registers.word(*c).map(|c| !negative(c)));
                registers.choose(*d, *a, *b, held, active);
            }
            Op::Spread { d, yes, test } => {
                let held = registers.test(*test);
                let value =
                    std::array::from_fn(|lane| if held >> lane & 1 == 1 { *yes } else { 0 });
                registers.set_word(*d, &value, active);
            }
            Op::Carry32(carry, d, s) => registers.carry32(*carry, *d, *s, active),
            Op::Carry64(carry, d, s) => registers.carry64(*carry, *d, *s, active),
            Op::Pack { d, parts, bits } => registers.pack(*d, parts, *bits, active),
            Op::Unpack { parts, a, bits } => registers.unpack(parts, *a, *bits, active),
            Op::Clock { d, shift } => registers.set_wide(*d, &[hands.done >> shift; WARP], active),
            Op::ActiveMask(d) => registers.set_word(*d, &[active; WARP], active),
            Op::IsSpace { d, a, space } => {
                let value =
                    mask_of(registers.long(*a).map(|address| space_of_address(address) == *space));
                registers.set_predicate(*d, value, active);
            }
            Op::Load(access) => self.load(access, active, inst.line, hands)?,
            Op::Store(access) => self.store(access, active, inst.line, hands)?,
            Op::Atomic(atomic) => self.atomic(atomic, active, inst.line, hands)?,
            Op::AsyncCopy(copy) => self.async_copy(copy, active, inst.line, hands)?,
            Op::AsyncCommit => self.async_commit(active),
            Op::AsyncWait(groups) => self.async_wait(*groups, active, hands),
            Op::MBarrier(address, act) => {
                self.mbarrier(address, *act, (active, inst.line), hands)?;
            }
            Op::FenceProxy => self.fence_proxy(active, hands),
            Op::FenceBarriers => self.fence_barriers(active, hands),
            Op::BulkCopy(copy) => self.bulk_copy(copy, active, inst.line, hands)?,
            Op::BulkPrefetch(part) => self.bulk_prefetch(part, active, hands)?,
            Op::BulkCommit => self.bulk_commit(active),
            Op::BulkWait(groups) => self.bulk_wait(*groups, active, hands)?,
            Op::MapAddress { d, a, rank, generic } => {
                self.map_address((*d, *a), *rank, *generic, active, hands)?;
            }
            Op::LetSuccessorStart => hands.let_go |= 1 << hands.shared.rank,
            Op::Trap => return Err(Trouble::new(FaultKind::Trap, "the kernel stopped itself")),
            _ => {}
        }
        Ok(())
    }
}

fn mask_of(lanes: [bool; WARP]) -> u32 {
    lanes.iter().enumerate().fold(0, |mask, (lane, held)| mask | u32::from(*held) << lane)
}

fn combine(logic: Logic, a: u32, b: u32) -> u32 {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

impl Registers<'_> {
    #[inline]
    fn apply(&mut self, f: Lanes, d: Reg, [s, t, u, v]: [Reg; 4], active: u32) {
        let (mut word, mut long) = ([0; WARP], [0; WARP]);
        match f {
            Lanes::Unary32(f) => f(self.word(s), &mut word),
            Lanes::Binary32(f) => f(self.word(s), self.word(t), &mut word),
            Lanes::Ternary32(f) => f(self.word(s), self.word(t), self.word(u), &mut word),
            Lanes::Quaternary32(f) => {
                f([self.word(s), self.word(t), self.word(u), self.word(v)], &mut word);
            }
            Lanes::Narrow1(f) => f(self.long(s), &mut word),
            Lanes::Unary64(f) => f(self.long(s), &mut long),
            Lanes::Binary64(f) => f(self.long(s), self.long(t), &mut long),
            Lanes::Ternary64(f) => f(self.long(s), self.long(t), self.long(u), &mut long),
            Lanes::Widen1(f) => f(self.word(s), &mut long),
            Lanes::Widen2(f) => f(self.word(s), self.word(t), &mut long),
            Lanes::Widen3(f) => f(self.word(s), self.word(t), self.long(u), &mut long),
            Lanes::Shift64(f) => f(self.long(s), self.word(t), &mut long),
            Lanes::Extract64(f) => f(self.long(s), self.word(t), self.word(u), &mut long),
            Lanes::Insert64(f) => {
                f(self.long(s), self.long(t), self.word(u), self.word(v), &mut long)
            }
            Lanes::Compare32(f) => {
                let held = f(self.word(s), self.word(t));
                return self.set_predicate(d, held, active);
            }
            Lanes::Compare64(f) => {
                let held = f(self.long(s), self.long(t));
                return self.set_predicate(d, held, active);
            }
        }
        match f.is_long() {
            true => self.set_long(d, &long, active),
            false => self.set_word(d, &word, active),
        }
    }

    /// binary32 with `ftz` or `sat`; other shapes have neither and are not decoded to this.
    fn apply_adjusted(&mut self, f: Lanes, d: Reg, s: [Reg; 4], adjust: Adjust, active: u32) {
        let mut out = [0; WARP];
        let [a, b, c] = [s[0], s[1], s[2]].map(|register| {
            let mut value = *self.word(register);
            if adjust.operands {
                flush(&mut value);
            }
            value
        });
        match f {
            Lanes::Unary32(f) => f(&a, &mut out),
            Lanes::Binary32(f) => f(&a, &b, &mut out),
            Lanes::Ternary32(f) => f(&a, &b, &c, &mut out),
            _ => return self.apply(f, d, s, active),
        }
        if adjust.result {
            flush(&mut out);
        }
        if adjust.saturate {
            saturate(&mut out);
        }
        self.set_word(d, &out, active);
    }

    fn convert(&mut self, d: Place, a: Place, conversion: &Conversion, bits: u32, active: u32) {
        let keep = u64::MAX >> (64 - bits);
        let value = self.wide(a).map(|value| convert(value, conversion) & keep);
        self.set_wide(d, &value, active);
    }

    fn compare(&self, f: Lanes, s: [Reg; 2], flushes: bool) -> u32 {
        match f {
            Lanes::Compare32(f) if flushes => {
                let [a, b] = s.map(|register| {
                    let mut value = *self.word(register);
                    flush(&mut value);
                    value
                });
                f(&a, &b)
            }
            Lanes::Compare32(f) => f(self.word(s[0]), self.word(s[1])),
            Lanes::Compare64(f) => f(self.long(s[0]), self.long(s[1])),
            _ => 0,
        }
    }

    fn set_compared(
        &mut self,
        d: Reg,
        complement: Option<Reg>,
        held: u32,
        with: Option<(Logic, Test)>,
        active: u32,
    ) {
        let with = with.map(|(logic, test)| (logic, self.test(test)));
        let combined = |held: u32| with.map_or(held, |(logic, other)| combine(logic, held, other));
        self.set_predicate(d, combined(held), active);
        if let Some(complement) = complement {
            self.set_predicate(complement, combined(!held), active);
        }
    }

    fn choose(&mut self, d: Place, a: Place, b: Place, held: u32, active: u32) {
        match (d, a, b) {
            (Place::Word(d), Place::Word(a), Place::Word(b)) => {
                let mut value = *self.word(b);
                let a = self.word(a);
                for (lane, (value, a)) in value.iter_mut().zip(a).enumerate() {
                    let keep = (held >> lane & 1).wrapping_sub(1);
                    *value = *value & keep | *a & !keep;
                }
                self.set_word(d, &value, active);
            }
            _ => {
                let (a, b) = (self.wide(a), self.wide(b));
                let pick = |lane: usize| if held >> lane & 1 == 1 { a[lane] } else { b[lane] };
                self.set_wide(d, &std::array::from_fn(pick), active);
            }
        }
    }

    fn carry32(&mut self, carry: Carry, d: Reg, [a, b]: [Reg; 2], active: u32) {
        let incoming = if carry.reads { self.predicate(CARRY) } else { 0 };
        let (a, b) = (self.word(a), self.word(b));
        let sum = |lane: usize| {
            let (a, b, c) =
                (i64::from(a[lane]), i64::from(b[lane]), i64::from(incoming >> lane & 1));
            if carry.subtract { a - b - c } else { a + b + c }
        };
        let sums: [i64; WARP] = std::array::from_fn(sum);
        self.set_word(d, &sums.map(|sum| sum as u32), active);
        if carry.writes {
            self.set_predicate(CARRY, mask_of(sums.map(|sum| sum >> 32 & 1 == 1)), active);
        }
    }

    fn carry64(&mut self, carry: Carry, d: Reg, [a, b]: [Reg; 2], active: u32) {
        let incoming = if carry.reads { self.predicate(CARRY) } else { 0 };
        let (a, b) = (self.long(a), self.long(b));
        let sum = |lane: usize| {
            let (a, b, c) =
                (i128::from(a[lane]), i128::from(b[lane]), i128::from(incoming >> lane & 1));
            if carry.subtract { a - b - c } else { a + b + c }
        };
        let sums: [i128; WARP] = std::array::from_fn(sum);
        self.set_long(d, &sums.map(|sum| sum as u64), active);
        if carry.writes {
            self.set_predicate(CARRY, mask_of(sums.map(|sum| sum >> 64 & 1 == 1)), active);
        }
    }

    fn pack(&mut self, d: Place, parts: &[Place], bits: u32, active: u32) {
        let keep = u64::MAX >> (64 - bits);
        let mut value = [0; WARP];
        for (index, part) in parts.iter().enumerate() {
            let part = self.wide(*part);
            for (value, part) in value.iter_mut().zip(part) {
                *value |= (part & keep) << (bits * index as u32);
            }
        }
        self.set_wide(d, &value, active);
    }

    fn unpack(&mut self, parts: &[Option<Place>], a: Place, bits: u32, active: u32) {
        let keep = u64::MAX >> (64 - bits);
        let whole = self.wide(a);
        for (index, part) in parts.iter().enumerate() {
            if let Some(part) = part {
                let value = whole.map(|whole| whole >> (bits * index as u32) & keep);
                self.set_wide(*part, &value, active);
            }
        }
    }
}
