use std::str::FromStr;

use half::f16;
use half::slice::HalfFloatSliceExt;
use serde::{Deserialize, Serialize};

use crate::named::{find, named};

named! {
    /// Number formats of the CPU paths: what the weights are stored in, and with it the activations.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Format in
    /// Every [`Format`] with its id.
    FORMATS {
        /// binary32 weights and activations.
        Fp32 = "fp32",
        /// binary16 weights and activations, fp32 accumulation.
        Fp16 = "fp16",
        /// bfloat16 weights and activations, fp32 accumulation.
        Bf16 = "bf16",
        /// 4-bit weights in groups of 128 with an fp16 scale, fp32 accumulation, fp16 activations: the default of
        /// Marlin-class w4a16 kernels, and therefore with fp16's range.
        Int4 = "int4",
    }
}

impl Format {
    /// What activations are stored in.
    pub fn storage(self) -> Storage {
        match self {
            Self::Fp32 => Storage::Fp32,
            Self::Fp16 | Self::Int4 => Storage::Fp16,
            Self::Bf16 => Storage::Bf16,
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        find(FORMATS, text, "a format of the benchmark")
    }
}

/// Rounding of a stored activation.
///
/// Activations are carried in fp32 buffers whose values are rounded to the format at every store: the numbers are those of
/// 16-bit buffers, infinities included, and one decoder serves all formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As computed.
    Fp32,
    /// Nearest binary16; beyond 65 504 (by half a step) infinite.
    Fp16,
    /// Nearest bfloat16.
    Bf16,
}

/// Numbers rounded at a time, on the stack.
const CHUNK: usize = 256;

impl Storage {
    /// Rounds in place.
    pub fn round(self, values: &mut [f32]) {
        match self {
            Self::Fp32 => {}
            Self::Fp16 => {
                let mut stored = [f16::ZERO; CHUNK];
                for chunk in values.chunks_mut(CHUNK) {
                    let stored = &mut stored[..chunk.len()];
                    stored.convert_from_f32_slice(chunk);
                    stored.convert_to_f32_slice(chunk);
                }
            }
            Self::Bf16 => values.iter_mut().for_each(|v| *v = nearest_bf16(*v)),
        }
    }
}

/// The nearest bfloat16, ties to even; without a branch, so that vectors can do it.
pub(super) fn nearest_bf16(value: f32) -> f32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let quiet = bits | 0x0040_0000;
    f32::from_bits(if value.is_nan() { quiet } else { rounded } & 0xffff_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The `half` crate is the independent witness, over every upper half and the lower halves around a tie.
    #[test]
    fn bf16_rounding_agrees_with_the_half_crate() {
        for upper in 0..=u32::from(u16::MAX) {
            for lower in [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff] {
                let value = f32::from_bits(upper << 16 | lower);
                let want = half::bf16::from_f32(value);
                assert_eq!(nearest_bf16(value).to_bits() >> 16, u32::from(want.to_bits()));
            }
        }
    }

    /// Limits from IEEE 754: 65 520 is the smallest number that rounds to infinity in binary16.
    #[test]
    fn fp16_overflows_where_ieee_says_and_bf16_does_not() {
        let mut values = [65_504.0, 65_519.99, 65_520.0, -68_706.3, 1e-8, f32::NAN];
        Storage::Fp16.round(&mut values);
        assert_eq!(values[..5], [65_504.0, 65_504.0, f32::INFINITY, f32::NEG_INFINITY, 0.0]);
        assert!(values[5].is_nan());
        let mut values = [65_520.0, -68_706.3, 257.0 / 256.0, f32::INFINITY];
        Storage::Bf16.round(&mut values);
        assert_eq!(values, [65_536.0, -68_608.0, 1.0, f32::INFINITY]);
    }

    #[test]
    fn whole_buffers_are_rounded_past_the_chunk() {
        let mut values = vec![1.000_01; 2 * CHUNK + 3];
        Storage::Fp16.round(&mut values);
        assert!(values.iter().all(|v| *v == 1.0));
    }

    #[test]
    fn ids_read_back() {
        for (format, id) in FORMATS {
            assert_eq!(id.parse(), Ok(*format));
        }
        let error = "fp8".parse::<Format>().expect_err("not a format");
        assert!(error.contains("fp32, fp16, bf16, int4"), "{error}");
    }
}
