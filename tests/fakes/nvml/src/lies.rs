//! Answers no driver should give, and a damaged or foreign library may.

use std::any::TypeId;
use std::cell::Cell;
use std::ffi::c_void;

use crate::scenario::{asks_a_value, with};

/// Kinds of lies, each a scenario word: `lies:counts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// There are 2^32 - 1 boards, fans and MIG instances.
    Counts,
    /// Asked how long it is, every list has 2^32 - 1 items.
    Lists,
    /// A list that was written is 2^32 - 1 items long.
    Overfull,
    /// Texts fill their buffers and do not end.
    Endless,
    /// Texts are no UTF-8.
    Encoding,
    /// Every bit of every value is set.
    Values,
    /// Twice the memory there is is used.
    Memory,
}

const WORDS: &[(&str, Lie)] = &[
    ("counts", Lie::Counts),
    ("lists", Lie::Lists),
    ("overfull", Lie::Overfull),
    ("endless", Lie::Endless),
    ("encoding", Lie::Encoding),
    ("values", Lie::Values),
    ("memory", Lie::Memory),
];

impl Lie {
    /// Reads what follows `lies:`.
    pub fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|row| row.0 == word).map(|row| row.1)
    }

    /// Whether the scenario has it.
    pub(crate) fn is_told(self) -> bool {
        with(|state| state.scenario.lies.contains(&self))
    }

    /// A count, or the lie about it.
    pub(crate) fn or(self, truth: u32) -> u32 {
        if self.is_told() { u32::MAX } else { truth }
    }
}

thread_local! {
    static FUNCTION: Cell<&'static str> = const { Cell::new("") };
}

/// Notes the function this thread is in.
pub(crate) fn enter(function: &'static str) {
    FUNCTION.set(function);
}

/// Whether what is about to be written is to be a lie. Pointers are never lied about: nothing could follow.
pub(crate) fn about_a_value<T: 'static>() -> bool {
    let pointer = TypeId::of::<T>() == TypeId::of::<*mut c_void>();
    !pointer && asks_a_value(FUNCTION.get()) && Lie::Values.is_told()
}

/// The bytes of a text, or of the lie in its place.
pub(crate) fn text(truth: &[u8], room: usize) -> Vec<u8> {
    match () {
        () if Lie::Endless.is_told() => vec![b'A'; room],
        () if Lie::Encoding.is_told() => b"\xff\xfe\xc3\x28\0".to_vec(),
        () => truth.to_vec(),
    }
}

/// The bytes of a text in a structure.
pub(crate) fn field<const N: usize>(truth: [u8; N]) -> [u8; N] {
    let mut bytes = [0; N];
    for (place, byte) in bytes.iter_mut().zip(text(&truth, N)) {
        *place = byte;
    }
    bytes
}
