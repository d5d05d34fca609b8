//! What one instruction does to a whole warp, where lanes do not see each other: tables from mnemonics to functions.
//!
//! A register is the value of all 32 lanes, so that the compiler makes vector instructions of every loop. Rejected:
//! interpreting lane by lane, which costs a dispatch per lane and is twenty times slower.

mod compare;
mod convert;
mod float;
mod half;
mod integer;
mod wide;

use std::collections::HashMap;
use std::sync::OnceLock;

pub(crate) use float::{flush, saturate};

/// Lanes of a warp.
pub(crate) const WARP: usize = 32;
/// A register of up to 32 bits in every lane; narrower values are zero-extended.
pub(crate) type Words = [u32; WARP];
/// A register of 64 bits in every lane.
pub(crate) type Longs = [u64; WARP];

/// A function of lanes, by its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lanes {
    /// 32 → 32
    Unary32(fn(&Words, &mut Words)),
    /// 32, 32 → 32
    Binary32(fn(&Words, &Words, &mut Words)),
    /// 32, 32, 32 → 32
    Ternary32(fn(&Words, &Words, &Words, &mut Words)),
    /// 32, 32, 32, 32 → 32
    Quaternary32(fn([&Words; 4], &mut Words)),
    /// 64 → 64
    Unary64(fn(&Longs, &mut Longs)),
    /// 64, 64 → 64
    Binary64(fn(&Longs, &Longs, &mut Longs)),
    /// 64, 64, 64 → 64
    Ternary64(fn(&Longs, &Longs, &Longs, &mut Longs)),
    /// 32 → 64
    Widen1(fn(&Words, &mut Longs)),
    /// 32, 32 → 64
    Widen2(fn(&Words, &Words, &mut Longs)),
    /// 32, 32, 64 → 64
    Widen3(fn(&Words, &Words, &Longs, &mut Longs)),
    /// 64 → 32
    Narrow1(fn(&Longs, &mut Words)),
    /// 64, 32 → 64
    Shift64(fn(&Longs, &Words, &mut Longs)),
    /// 64, 32, 32 → 64
    Extract64(fn(&Longs, &Words, &Words, &mut Longs)),
    /// 64, 64, 32, 32 → 64
    Insert64(fn(&Longs, &Longs, &Words, &Words, &mut Longs)),
    /// 32, 32 → predicate
    Compare32(fn(&Words, &Words) -> u32),
    /// 64, 64 → predicate
    Compare64(fn(&Longs, &Longs) -> u32),
}

/// Register file an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum File {
    /// Up to 32 bits.
    Word,
    /// 64 bits.
    Long,
    /// Predicates.
    Predicate,
}

impl Lanes {
    /// Files of the destination and of the sources.
    pub(crate) fn shape(&self) -> (File, &'static [File]) {
        use File::{Long as L, Predicate as P, Word as W};
        match self {
            Self::Unary32(_) => (W, &[W]),
            Self::Binary32(_) => (W, &[W, W]),
            Self::Ternary32(_) => (W, &[W, W, W]),
            Self::Quaternary32(_) => (W, &[W, W, W, W]),
            Self::Unary64(_) => (L, &[L]),
            Self::Binary64(_) => (L, &[L, L]),
            Self::Ternary64(_) => (L, &[L, L, L]),
            Self::Widen1(_) => (L, &[W]),
            Self::Widen2(_) => (L, &[W, W]),
            Self::Widen3(_) => (L, &[W, W, L]),
            Self::Narrow1(_) => (W, &[L]),
            Self::Shift64(_) => (L, &[L, W]),
            Self::Extract64(_) => (L, &[L, W, W]),
            Self::Insert64(_) => (L, &[L, L, W, W]),
            Self::Compare32(_) => (P, &[W, W]),
            Self::Compare64(_) => (P, &[L, L]),
        }
    }
}

impl Lanes {
    /// Whether the result is 64 bits wide.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        matches!(
            self,
            Self::Unary64(_)
                | Self::Binary64(_)
                | Self::Ternary64(_)
                | Self::Widen1(_)
                | Self::Widen2(_)
                | Self::Widen3(_)
                | Self::Shift64(_)
                | Self::Extract64(_)
                | Self::Insert64(_)
        )
    }
}

/// Rows of a table: mnemonics, separated by spaces, that mean the same; and the function.
type Rows = &'static [(&'static str, Lanes)];

/// All tables, row by row.
fn tables() -> impl Iterator<Item = &'static (&'static str, Lanes)> {
    let tables: [Rows; 11] = [
        integer::ROWS,
        integer::SHIFTS,
        wide::ROWS,
        float::ROWS,
        float::ROUNDED,
        float::APPROXIMATE,
        half::ROWS,
        compare::ROWS,
        compare::SHORT,
        convert::ROWS,
        convert::PAIRS,
    ];
    tables.into_iter().flatten()
}

/// The function of a mnemonic, where lanes do not see each other.
pub(crate) fn find(mnemonic: &str) -> Option<Lanes> {
    static TABLE: OnceLock<HashMap<&'static str, Lanes>> = OnceLock::new();
    let names = |row: &'static (&'static str, Lanes)| row.0.split(' ').map(|name| (name, row.1));
    TABLE.get_or_init(|| tables().flat_map(names).collect()).get(mnemonic).copied()
}

/// Makes a [`Lanes`] of a function of one lane's values.
macro_rules! lanes {
    (w1 $f:expr) => {
        $crate::lanes::Lanes::Unary32(|a, d| {
            let f: fn(u32) -> u32 = $f;
            for (d, a) in d.iter_mut().zip(a) {
                *d = f(*a);
            }
        })
    };
    (w2 $f:expr) => {
        $crate::lanes::Lanes::Binary32(|a, b, d| {
            let f: fn(u32, u32) -> u32 = $f;
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = f(*a, *b);
            }
        })
    };
    (w3 $f:expr) => {
        $crate::lanes::Lanes::Ternary32(|a, b, c, d| {
            let f: fn(u32, u32, u32) -> u32 = $f;
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = f(*a, *b, *c);
            }
        })
    };
    (w4 $f:expr) => {
        $crate::lanes::Lanes::Quaternary32(|[a, b, c, e], d| {
            let f: fn(u32, u32, u32, u32) -> u32 = $f;
            for ((((d, a), b), c), e) in d.iter_mut().zip(a).zip(b).zip(c).zip(e) {
                *d = f(*a, *b, *c, *e);
            }
        })
    };
    (l1 $f:expr) => {
        $crate::lanes::Lanes::Unary64(|a, d| {
            let f: fn(u64) -> u64 = $f;
            for (d, a) in d.iter_mut().zip(a) {
                *d = f(*a);
            }
        })
    };
    (l2 $f:expr) => {
        $crate::lanes::Lanes::Binary64(|a, b, d| {
            let f: fn(u64, u64) -> u64 = $f;
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = f(*a, *b);
            }
        })
    };
    (l3 $f:expr) => {
        $crate::lanes::Lanes::Ternary64(|a, b, c, d| {
            let f: fn(u64, u64, u64) -> u64 = $f;
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = f(*a, *b, *c);
            }
        })
    };
    (widen1 $f:expr) => {
        $crate::lanes::Lanes::Widen1(|a, d| {
            let f: fn(u32) -> u64 = $f;
            for (d, a) in d.iter_mut().zip(a) {
                *d = f(*a);
            }
        })
    };
    (widen2 $f:expr) => {
        $crate::lanes::Lanes::Widen2(|a, b, d| {
            let f: fn(u32, u32) -> u64 = $f;
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = f(*a, *b);
            }
        })
    };
    (widen3 $f:expr) => {
        $crate::lanes::Lanes::Widen3(|a, b, c, d| {
            let f: fn(u32, u32, u64) -> u64 = $f;
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = f(*a, *b, *c);
            }
        })
    };
    (narrow1 $f:expr) => {
        $crate::lanes::Lanes::Narrow1(|a, d| {
            let f: fn(u64) -> u32 = $f;
            for (d, a) in d.iter_mut().zip(a) {
                *d = f(*a);
            }
        })
    };
    (shift64 $f:expr) => {
        $crate::lanes::Lanes::Shift64(|a, b, d| {
            let f: fn(u64, u32) -> u64 = $f;
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = f(*a, *b);
            }
        })
    };
    (extract64 $f:expr) => {
        $crate::lanes::Lanes::Extract64(|a, b, c, d| {
            let f: fn(u64, u32, u32) -> u64 = $f;
            for (((d, a), b), c) in d.iter_mut().zip(a).zip(b).zip(c) {
                *d = f(*a, *b, *c);
            }
        })
    };
    (insert64 $f:expr) => {
        $crate::lanes::Lanes::Insert64(|a, b, c, e, d| {
            let f: fn(u64, u64, u32, u32) -> u64 = $f;
            for ((((d, a), b), c), e) in d.iter_mut().zip(a).zip(b).zip(c).zip(e) {
                *d = f(*a, *b, *c, *e);
            }
        })
    };
    (p32 $f:expr) => {
        $crate::lanes::Lanes::Compare32(|a, b| {
            let f: fn(u32, u32) -> bool = $f;
            let mut mask = 0;
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                mask |= u32::from(f(*a, *b)) << lane;
            }
            mask
        })
    };
    (p64 $f:expr) => {
        $crate::lanes::Lanes::Compare64(|a, b| {
            let f: fn(u64, u64) -> bool = $f;
            let mut mask = 0;
            for (lane, (a, b)) in a.iter().zip(b).enumerate() {
                mask |= u32::from(f(*a, *b)) << lane;
            }
            mask
        })
    };
}
pub(crate) use lanes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mnemonic_stands_twice() {
        let mut names: Vec<&str> = tables().flat_map(|row| row.0.split(' ')).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
