//! Data that is about normal, from a hash: the same numbers on the device and here.
//!
//! Zeros were rejected: they cost a tensor core less power and flatter it.

use half::{bf16, f16};

use super::scan::scan;
use crate::gpu::family::stream::check_aligned;
use crate::gpu::{DeviceFacts, Element, Launch, Slot};
use crate::model::hash;

/// Sum of the four 16-bit fields of the hash, centred, over 2^15: standard deviation 1.15, at most 4.
fn number(word: u64) -> f32 {
    let sum: u64 = (0..4).map(|field| word >> (16 * field) & 0xffff).sum();
    (sum as f32 - 131_070.0) * (1.0 / 32_768.0)
}

/// The bytes [`noise`] writes.
pub fn noise_bytes(element: Element, count: usize, seed: u32) -> Vec<u8> {
    let one = |index: usize| {
        let word = hash(u64::from(seed), index as u64);
        match element {
            Element::F64 => f64::from(number(word)).to_le_bytes().to_vec(),
            Element::F32 => number(word).to_le_bytes().to_vec(),
            Element::F16 => f16::from_f32(number(word)).to_le_bytes().to_vec(),
            Element::Bf16 => bf16::from_f32(number(word)).to_le_bytes().to_vec(),
            Element::I32 | Element::U32 => ((word >> 32) as u32).to_le_bytes().to_vec(),
            Element::U8 => vec![(word >> 56) as u8],
        }
    };
    (0..count).flat_map(one).collect()
}

/// Writes so many elements: floating-point ones about normal, integers even over their range.
pub fn noise(
    facts: &DeviceFacts,
    to: Slot,
    element: Element,
    count: u32,
    seed: u32,
) -> Result<Launch, String> {
    let entry = match element {
        Element::F64 => "noise_f64",
        Element::F32 => "noise_f32",
        Element::F16 => "noise_f16",
        Element::Bf16 => "noise_bf16",
        Element::I32 | Element::U32 => "noise_u32",
        Element::U8 => "noise_u8",
    };
    check_aligned(&[to])?;
    let args = [to.into(), count.into(), seed.into()];
    Ok(scan(facts, entry, u64::from(count) * element.bytes() as u64 / 16, args))
}
