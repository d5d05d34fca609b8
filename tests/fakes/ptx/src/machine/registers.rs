//! Registers of a warp: every one holds all lanes.

use std::cell::Cell;

use crate::decode::CONSTANTS;
use crate::lanes::{Longs, WARP, Words};
use crate::program::{ALWAYS, Place, Program, Reg, Test};

/// Values that stay the same over a launch: immediates and addresses.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    pub(crate) words: Vec<Words>,
    pub(crate) longs: Vec<Longs>,
}

/// The registers of one warp.
#[derive(Debug)]
pub(crate) struct Registers<'a> {
    constants: &'a Constants,
    words: Vec<Words>,
    longs: Vec<Longs>,
    predicates: Vec<u32>,
    /// Of words that a product in flight has: one more than its group. Empty where there was none.
    frozen: Vec<u32>,
    /// Whether some are.
    guarded: bool,
    /// Of words, whether other instructions than products had them since the last `wgmma.fence`. Empty where there are no products.
    accessed: Vec<Cell<bool>>,
    /// One that was touched nevertheless.
    touched: Cell<Option<Reg>>,
}

/// All lanes.
pub(crate) const ALL: u32 = u32::MAX;

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

impl<'a> Registers<'a> {
    pub(crate) fn new(program: &Program, constants: &'a Constants) -> Self {
        let watched = if program.group_products { program.words } else { 0 };
        let mut registers = Self {
            constants,
            words: vec![[0; WARP]; program.words],
            longs: vec![[0; WARP]; program.longs],
            predicates: vec![0; program.predicates],
            frozen: Vec::new(),
            guarded: false,
            accessed: vec![Cell::new(false); watched],
            touched: Cell::new(None),
        };
        registers.clear();
        registers
    }

    /// Back to zeros, as a new warp begins.
    pub(crate) fn clear(&mut self) {
        self.words.fill([0; WARP]);
        self.longs.fill([0; WARP]);
        self.predicates.fill(0);
        self.frozen.clear();
        self.guarded = false;
        self.fence();
        self.predicates[usize::from(ALWAYS)] = ALL;
    }

    #[inline]
    pub(crate) fn word(&self, register: Reg) -> &Words {
        match register.checked_sub(CONSTANTS) {
            None => {
                if !self.accessed.is_empty() {
                    self.look(register);
                }
                &self.words[usize::from(register)]
            }
            Some(constant) => &self.constants.words[usize::from(constant)],
        }
    }

    fn look(&self, register: Reg) {
        if self.guarded && self.frozen[usize::from(register)] != 0 {
            self.touched.set(Some(register));
        }
        self.accessed[usize::from(register)].set(true);
    }

    /// `wgmma.fence`: what was accessed so far is ordered before products.
    pub(crate) fn fence(&mut self) {
        self.accessed.fill(Cell::new(false));
    }

    /// Whether a word was accessed that no fence orders before a product.
    pub(crate) fn is_unordered(&self, register: Reg) -> bool {
        self.accessed.get(usize::from(register)).is_some_and(Cell::get)
    }

    /// A word that a product takes or gives, be it in flight.
    pub(crate) fn fragment(&self, register: Reg) -> &Words {
        match register.checked_sub(CONSTANTS) {
            None => &self.words[usize::from(register)],
            Some(constant) => &self.constants.words[usize::from(constant)],
        }
    }

    /// Replaces a word that a product gives.
    pub(crate) fn set_fragment(&mut self, register: Reg, value: &Words) {
        self.words[usize::from(register)] = *value;
    }

    /// A word may not be touched until the products of a group have been waited for.
    pub(crate) fn freeze(&mut self, register: Reg, group: u32) {
        self.frozen.resize(self.words.len(), 0);
        if let Some(frozen) = self.frozen.get_mut(usize::from(register)) {
            (*frozen, self.guarded) = (group + 1, true);
        }
    }

    /// Products of groups before this one have been waited for.
    pub(crate) fn thaw(&mut self, group: u32) {
        for frozen in &mut self.frozen {
            *frozen = if *frozen > group { *frozen } else { 0 };
        }
        self.guarded = self.frozen.iter().any(|frozen| *frozen != 0);
    }

    /// Whether a product in flight has some.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded
    }

    /// A register that was touched though a product in flight has it.
    pub(crate) fn take_touched(&self) -> Option<Reg> {
        self.touched.take()
    }

    #[inline]
    pub(crate) fn long(&self, register: Reg) -> &Longs {
        match register.checked_sub(CONSTANTS) {
            None => &self.longs[usize::from(register)],
            Some(constant) => &self.constants.longs[usize::from(constant)],
        }
    }

    #[inline]
    pub(crate) fn predicate(&self, register: Reg) -> u32 {
        self.predicates[usize::from(register)]
    }

    #[inline]
    pub(crate) fn test(&self, test: Test) -> u32 {
        self.predicate(test.predicate) ^ test.flip
    }

    #[inline]
    pub(crate) fn set_word(&mut self, register: Reg, value: &Words, mask: u32) {
        if !self.accessed.is_empty() {
            self.look(register);
        }
        let target = &mut self.words[usize::from(register)];
        if mask == ALL {
            *target = *value;
            return;
        }
        for (lane, (target, value)) in target.iter_mut().zip(value).enumerate() {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            *target = *target & keep | *value & !keep;
        }
    }

    #[inline]
    pub(crate) fn set_long(&mut self, register: Reg, value: &Longs, mask: u32) {
        let target = &mut self.longs[usize::from(register)];
        if mask == ALL {
            *target = *value;
            return;
        }
        for (lane, (target, value)) in target.iter_mut().zip(value).enumerate() {
            let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
            *target = *target & keep | *value & !keep;
        }
    }

    #[inline]
    pub(crate) fn set_predicate(&mut self, register: Reg, value: u32, mask: u32) {
        let target = &mut self.predicates[usize::from(register)];
        *target = *target & !mask | value & mask;
    }

    /// The value of either file, zero-extended. Loops: of `map` over arrays the compiler makes no vectors.
    #[inline]
    pub(crate) fn wide(&self, place: Place) -> Longs {
        match place {
            Place::Word(register) => {
                let mut wide = [0; WARP];
                for (wide, word) in wide.iter_mut().zip(self.word(register)) {
                    *wide = (*word).into();
                }
                wide
            }
            Place::Long(register) => *self.long(register),
        }
    }

    /// Writes to either file, cut to its size.
    #[inline]
    pub(crate) fn set_wide(&mut self, place: Place, value: &Longs, mask: u32) {
        match place {
            Place::Word(register) => {
                let mut words = [0; WARP];
                for (word, value) in words.iter_mut().zip(value) {
                    *word = *value as u32;
                }
                self.set_word(register, &words, mask);
            }
            Place::Long(register) => self.set_long(register, value, mask),
        }
    }
}
