//! Operands of conformance cases: exact numbers in any storage format.

use half::{bf16, f16};

use crate::gpu::Element;
use crate::model::hash;

/// Numbers as they are stored, rounded to nearest.
pub(super) fn encode(element: Element, values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let one = |value: f32| match element {
        Element::F32 => value.to_le_bytes().to_vec(),
        Element::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
        Element::Bf16 => bf16::from_f32(value).to_le_bytes().to_vec(),
        Element::U32 => (value as u32).to_le_bytes().to_vec(),
        Element::F64 | Element::I32 | Element::U8 => unreachable!("no operand is stored so"),
    };
    values.into_iter().flat_map(one).collect()
}

/// A number about normal with standard deviation 1, from a hash of the seed; the fourth sum of uniform numbers.
pub(super) fn normal(index: usize, seed: u64) -> f32 {
    let word = hash(seed, index as u64).to_le_bytes();
    let sum: f32 = word.chunks_exact(2).map(|b| f32::from(u16::from_le_bytes([b[0], b[1]]))).sum();
    (sum / 65_536.0 - 2.0) * 3.0_f32.sqrt()
}

/// So many of them as they are stored.
pub(super) fn noise(element: Element, count: usize, seed: u64) -> Vec<u8> {
    encode(element, (0..count).map(|index| normal(index, seed)))
}

/// Words as they are stored.
pub(super) fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What a NaN is that a GPU computed, in each format.
///
/// PTX ISA, "Floating-point Instructions": NaN payloads are not preserved, single-precision results are 0x7fffffff.
pub(super) fn nan(element: Element) -> Vec<u8> {
    match element {
        Element::F32 => 0x7fff_ffff_u32.to_le_bytes().to_vec(),
        _ => 0x7fff_u16.to_le_bytes().to_vec(),
    }
}

/// Largest relative error of a kernel that only rounds its result: kernels with sums have a limit of their own.
pub(super) fn rounding_limit(element: Element) -> f64 {
    match element {
        Element::F16 => 3e-4,
        Element::Bf16 => 2.5e-3,
        _ => 1e-6,
    }
}

/// TunedConfigs the entry of a storage format, in the order f32, f16, bf16.
pub(super) fn of_storage<T>(element: Element, [f32, f16, bf16]: [T; 3]) -> Result<T, String> {
    match element {
        Element::F32 => Ok(f32),
        Element::F16 => Ok(f16),
        Element::Bf16 => Ok(bf16),
        _ => Err(format!("no kernel stores its numbers as {element:?}")),
    }
}
