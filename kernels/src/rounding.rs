//! binary64 to 16-bit floats, rounded once.
//!
//! [`f16::from_f64`] and [`bf16::from_f64`] drop the lower word of a binary64 or go through binary32, so a value just beside a tie is taken for one.
//! Rounding to odd first keeps it apart (Boldo and Melquiond, "When double rounding is odd", 2005).

use half::{bf16, f16};

/// The nearest binary16, ties to even.
pub fn nearest_f16(value: f64) -> f16 {
    f16::from_f32(to_odd(value))
}

/// The nearest bfloat16, ties to even.
pub fn nearest_bf16(value: f64) -> bf16 {
    bf16::from_f32(to_odd(value))
}

/// The binary32 towards zero, its last bit set where it is not the value.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if value.is_nan() || f64::from(near) == value {
        return near;
    }
    let beyond = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(beyond)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEEE 754, 4.3.1, to nearest, ties to even: a binary64 and its code in 16 bits.
    fn assert_codes(code: fn(f64) -> u16, rows: &[(u64, u16)]) {
        for (value, want) in rows {
            let value = f64::from_bits(*value);
            assert_eq!(code(value), *want, "{value:e}");
            assert_eq!(code(-value), want | 0x8000, "{:e}", -value);
        }
    }

    #[test]
    fn binary16_is_rounded_once() {
        assert_codes(
            |value| nearest_f16(value).to_bits(),
            &[
                (0x40a0_0200_0000_0000, 0x6800), // 2049 lies halfway between 2048 and 2050
                (0x40a0_0200_0000_0001, 0x6801), // its neighbour does not: binary32 makes it 2049
                (0x40a0_05ff_ffff_ffff, 0x6801), // just below 2051, halfway to 2052
                (0x40ef_fdff_ffff_ffff, 0x7bff), // just below 65 520, where infinity begins
                (0x40ef_fe00_0000_0000, 0x7c00),
                (0x7e37_e43c_8800_759c, 0x7c00), // 1e300
                (0x3e60_0000_0000_0000, 0x0000), // 2^-25, half of the least subnormal
                (0x3e60_0000_0000_0001, 0x0001),
            ],
        );
    }

    #[test]
    fn bfloat16_is_rounded_once() {
        assert_codes(
            |value| nearest_bf16(value).to_bits(),
            &[
                (0x40e5_9000_0000_0000, 0x472c), // 44 160 lies halfway between 44 032 and 44 288
                (0x40e5_9000_0000_0001, 0x472d),
                (0x3ff0_0000_0000_0001, 0x3f80),
                (0x47ef_efff_ffff_ffff, 0x7f7f), // just below where infinity begins
                (0x47ef_f000_0000_0000, 0x7f80),
            ],
        );
    }

    #[test]
    fn no_number_stays_none() {
        assert!(nearest_f16(f64::NAN).is_nan() && nearest_bf16(f64::NAN).is_nan());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "shows why it is")]
    fn half_takes_a_neighbour_of_a_tie_for_one() {
        let beside_a_tie = f64::from_bits(0x40e5_9000_0000_0001);
        assert_eq!(bf16::from_f64(beside_a_tie).to_bits(), 0x472c);
    }
}
