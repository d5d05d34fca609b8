//! 16-bit floats to and from `f32`, by bits: the inner loop of half the kernels.
//!
//! `half` does the same; it is kept as the oracle instead, and it carries NaN payloads where NVIDIA's conversions return the canonical one.

/// The NaN that 16-bit arithmetic and conversions return (PTX ISA 9.7.4).
pub const NAN: u16 = 0x7fff;

/// The value of an `f16`.
#[inline]
pub fn f16_value(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    let sign = u32::from(bits & 0x8000) << 16;
    // 2^112 is the distance of the two exponent biases, subnormals included.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    f32::from_bits(scaled.to_bits() | special | sign)
}

/// The value of a `bf16`.
#[inline]
pub fn bf16_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest `f16`, ties to even.
#[inline]
pub fn f16_nearest(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let magnitude = value.to_bits() & 0x7fff_ffff;
    let rounded = match magnitude {
        0x7f80_0001.. => return NAN,
        // From 65536 on; what lies between 65520 and it carries over below.
        0x4780_0000.. => 0x7c00,
        // The last place of 0.5 is the last place of a subnormal f16.
        ..0x3880_0000 => (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000,
        _ => ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112 << 10),
    };
    sign | rounded as u16
}

/// The nearest `bf16`, ties to even.
#[inline]
pub fn bf16_nearest(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        return NAN;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// `f32` of an `f64` so that rounding it once more to 22 bits or fewer equals rounding the `f64` once: inexact results get an odd last bit
/// (Boldo and Melquiond, "When double rounding is odd", 2005).
#[inline]
pub fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    let truncated = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f32::from_bits(truncated | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::half::{bf16, f16};
    use proptest::prelude::*;
    use warpscope_kernels::{nearest_bf16, nearest_f16};

    #[test]
    fn every_16_bit_value_is_what_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let (own, oracle) = (f16_value(bits), f16::from_bits(bits).to_f32());
            assert!(
                own.to_bits() == oracle.to_bits() || own.is_nan() && oracle.is_nan(),
                "f16 {bits:04x}"
            );
            let (own, oracle) = (bf16_value(bits), bf16::from_bits(bits).to_f32());
            assert!(
                own.to_bits() == oracle.to_bits() || own.is_nan() && oracle.is_nan(),
                "bf16 {bits:04x}"
            );
        }
    }

    fn agrees(bits: u32) {
        let value = f32::from_bits(bits);
        if value.is_nan() {
            assert_eq!((f16_nearest(value), bf16_nearest(value)), (NAN, NAN));
            return;
        }
        assert_eq!(f16_nearest(value), f16::from_f32(value).to_bits(), "f16 of {value:e}");
        assert_eq!(bf16_nearest(value), bf16::from_f32(value).to_bits(), "bf16 of {value:e}");
    }

    /// Every tie and both its neighbours, for both types.
    #[test]
    fn ties_and_their_neighbours_round_as_the_half_crate_does() {
        for upper in 0..=u16::MAX {
            for lower in [0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001, 0xffff] {
                agrees(u32::from(upper) << 16 | lower);
            }
        }
    }

    proptest! {
        #[test]
        fn any_value_rounds_as_the_half_crate_does(bits: u32) {
            agrees(bits);
        }

        #[test]
        fn rounding_to_odd_first_saves_the_second_rounding(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(f16_nearest(to_odd(value)), nearest_f16(value).to_bits());
            prop_assert_eq!(bf16_nearest(to_odd(value)), nearest_bf16(value).to_bits());
        }
    }
}
