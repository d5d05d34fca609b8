//! 16-bit floats, alone and in pairs.

use super::float::{MAX, MAX_NAN, MIN, MIN_NAN};
use super::{Rows, lanes};
use crate::numerics::approx::{Function, approx_16};
use crate::numerics::exact::Rounding;
use crate::numerics::float::{
    Bf16, F16, Modifiers, abs, add, fma, mul, neg, pairwise, select_16, sub,
};

const RN: Modifiers =
    Modifiers { rounding: Rounding::Nearest, flush: false, saturate: false, relu: false };
const FTZ: Modifiers = Modifiers { flush: true, ..RN };
const SAT: Modifiers = Modifiers { saturate: true, ..RN };
const RELU: Modifiers = Modifiers { relu: true, ..RN };

/// Rows of a binary operation: one element, and two side by side.
macro_rules! one {
    ($f:expr) => {
        lanes!(w2 | x, y | u32::from($f(x as u16, y as u16)))
    };
}
macro_rules! two {
    ($f:expr) => {
        lanes!(w2 | x, y | pairwise([x, y], |[x, y]| $f(x, y)))
    };
}
macro_rules! one3 {
    ($t:ty, $m:expr) => {
        lanes!(w3 | x, y, z | u32::from(fma::<$t>(x as u16, y as u16, z as u16, $m)))
    };
}
macro_rules! two3 {
    ($t:ty, $m:expr) => {
        lanes!(w3 | x, y, z | pairwise([x, y, z], |[x, y, z]| fma::<$t>(x, y, z, $m)))
    };
}

pub(super) const ROWS: Rows = &[
    ("add.f16", one!(|x, y| add::<F16>(x, y, RN))),
    ("sub.f16", one!(|x, y| sub::<F16>(x, y, RN))),
    ("mul.f16", one!(|x, y| mul::<F16>(x, y, RN))),
    ("fma.f16", one3!(F16, RN)),
    ("fma.relu.f16", one3!(F16, RELU)),
    ("fma.sat.f16", one3!(F16, SAT)),
    ("add.f16x2", two!(|x, y| add::<F16>(x, y, RN))),
    ("sub.f16x2", two!(|x, y| sub::<F16>(x, y, RN))),
    ("mul.f16x2", two!(|x, y| mul::<F16>(x, y, RN))),
    ("fma.f16x2", two3!(F16, RN)),
    ("fma.relu.f16x2", two3!(F16, RELU)),
    ("fma.sat.f16x2", two3!(F16, SAT)),
    ("add.ftz.f16x2", two!(|x, y| add::<F16>(x, y, FTZ))),
    ("mul.ftz.f16x2", two!(|x, y| mul::<F16>(x, y, FTZ))),
    ("fma.ftz.f16x2", two3!(F16, FTZ)),
    ("add.bf16", one!(|x, y| add::<Bf16>(x, y, RN))),
    ("sub.bf16", one!(|x, y| sub::<Bf16>(x, y, RN))),
    ("mul.bf16", one!(|x, y| mul::<Bf16>(x, y, RN))),
    ("fma.bf16", one3!(Bf16, RN)),
    ("fma.relu.bf16", one3!(Bf16, RELU)),
    ("add.bf16x2", two!(|x, y| add::<Bf16>(x, y, RN))),
    ("sub.bf16x2", two!(|x, y| sub::<Bf16>(x, y, RN))),
    ("mul.bf16x2", two!(|x, y| mul::<Bf16>(x, y, RN))),
    ("fma.bf16x2", two3!(Bf16, RN)),
    ("fma.relu.bf16x2", two3!(Bf16, RELU)),
    ("min.f16", one!(|x, y| select_16::<F16>(x, y, MIN))),
    ("max.f16", one!(|x, y| select_16::<F16>(x, y, MAX))),
    ("min.NaN.f16", one!(|x, y| select_16::<F16>(x, y, MIN_NAN))),
    ("max.NaN.f16", one!(|x, y| select_16::<F16>(x, y, MAX_NAN))),
    ("min.f16x2", two!(|x, y| select_16::<F16>(x, y, MIN))),
    ("max.f16x2", two!(|x, y| select_16::<F16>(x, y, MAX))),
    ("min.NaN.f16x2", two!(|x, y| select_16::<F16>(x, y, MIN_NAN))),
    ("max.NaN.f16x2", two!(|x, y| select_16::<F16>(x, y, MAX_NAN))),
    ("min.bf16", one!(|x, y| select_16::<Bf16>(x, y, MIN))),
    ("max.bf16", one!(|x, y| select_16::<Bf16>(x, y, MAX))),
    ("min.bf16x2", two!(|x, y| select_16::<Bf16>(x, y, MIN))),
    ("max.bf16x2", two!(|x, y| select_16::<Bf16>(x, y, MAX))),
    ("neg.f16", lanes!(w1 | x | u32::from(neg::<F16>(x as u16, false)))),
    ("abs.f16", lanes!(w1 | x | u32::from(abs::<F16>(x as u16, false)))),
    ("neg.bf16", lanes!(w1 | x | u32::from(neg::<Bf16>(x as u16, false)))),
    ("abs.bf16", lanes!(w1 | x | u32::from(abs::<Bf16>(x as u16, false)))),
    ("neg.f16x2 neg.bf16x2", lanes!(w1 | x | x ^ 0x8000_8000)),
    ("abs.f16x2 abs.bf16x2", lanes!(w1 | x | x & 0x7fff_7fff)),
    (
        "tanh.approx.f16",
        lanes!(w1 | x | u32::from(approx_16::<F16>(Function::Tanh, x as u16, false))),
    ),
    (
        "tanh.approx.f16x2",
        lanes!(w1 | x | pairwise([x], |[x]| approx_16::<F16>(Function::Tanh, x, false))),
    ),
    (
        "ex2.approx.f16",
        lanes!(w1 | x | u32::from(approx_16::<F16>(Function::Exp2, x as u16, false))),
    ),
    (
        "ex2.approx.f16x2",
        lanes!(w1 | x | pairwise([x], |[x]| approx_16::<F16>(Function::Exp2, x, false))),
    ),
];
