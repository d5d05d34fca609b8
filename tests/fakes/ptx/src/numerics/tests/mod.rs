//! The arithmetic against what it must be: rational numbers worked out elsewhere (`oracle/`), wider integers, the host's own types, and the ISA's tables.

mod approx;
mod bits;
mod convert;
mod float;
mod integer;
mod narrow;
mod rounding;
mod short;

use super::exact::Rounding;

/// The rounding modes of arithmetic, in the order of `rounding.txt`.
const MODES: [Rounding; 4] = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];

const NAN: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 1 << 31;
const ONE: u32 = 0x3f80_0000;

/// `f32` operands at the edges of every class, without their signs.
const EDGES: [u32; 14] = [
    0,
    1,
    0x007f_ffff,
    0x0080_0000,
    0x0080_0001,
    0x3eff_ffff,
    0x3f00_0000,
    ONE,
    0x3f80_0001,
    0x4b00_0001,
    0x7f7f_ffff,
    INFINITY,
    0x7f80_0001,
    0x7fc0_0000,
];

/// [`EDGES`] with both signs.
fn edges() -> impl Iterator<Item = u32> + Clone {
    EDGES.into_iter().flat_map(|bits| [bits, bits | SIGN])
}

/// Bits of the host's result as PTX gives them: NaN canonical.
fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}
