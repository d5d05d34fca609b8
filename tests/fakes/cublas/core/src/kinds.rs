//! Number formats, compute types and operations, by the numbers of `library_types.h` and `cublas_api.h`.

use half::{bf16, f16};

/// `cudaDataType_t`, those that occur in products of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// binary32.
    F32,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 8-bit integer.
    I8,
    /// 32-bit integer.
    I32,
    /// 4 bits of exponent, 3 of mantissa; no infinity.
    E4m3,
    /// 5 bits of exponent, 2 of mantissa.
    E5m2,
}

use Kind::{Bf16, E4m3, E5m2, F16, F32, I8, I32};

/// Number, format, name in a scenario, bytes.
const KINDS: &[(u32, Kind, &str, usize)] = &[
    (0, F32, "32f", 4),
    (2, F16, "16f", 2),
    (3, I8, "8i", 1),
    (10, I32, "32i", 4),
    (14, Bf16, "16bf", 2),
    (28, E4m3, "e4m3", 1),
    (29, E5m2, "e5m2", 1),
];

impl Kind {
    /// The format of a number of `cudaDataType_t`; `None` for those that are not simulated.
    pub fn of(number: u32) -> Option<Self> {
        KINDS.iter().find(|entry| entry.0 == number).map(|entry| entry.1)
    }

    /// The format of a name: `16bf`.
    pub fn named(name: &str) -> Option<Self> {
        KINDS.iter().find(|entry| entry.2 == name).map(|entry| entry.1)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        KINDS.iter().find(|entry| entry.1 == self).map_or(0, |entry| entry.3)
    }

    /// Whether it has 8 bits and an exponent.
    pub fn is_f8(self) -> bool {
        matches!(self, E4m3 | E5m2)
    }

    /// The value of an element, little-endian.
    pub fn read(self, bytes: &[u8]) -> f64 {
        let two = || u16::from_le_bytes([bytes[0], bytes[1]]);
        let four = || [bytes[0], bytes[1], bytes[2], bytes[3]];
        match self {
            F32 => f32::from_le_bytes(four()).into(),
            F16 => f16::from_bits(two()).to_f64(),
            Bf16 => bf16::from_bits(two()).to_f64(),
            I8 => f64::from(bytes[0] as i8),
            I32 => i32::from_le_bytes(four()).into(),
            E4m3 => small(bytes[0], 4, 3),
            E5m2 => small(bytes[0], 5, 2),
        }
    }

    /// Writes a value as an element, rounded to nearest, ties to even.
    pub fn write(self, value: f64, place: &mut [u8]) {
        match self {
            F32 => place.copy_from_slice(&(value as f32).to_le_bytes()),
            // By way of binary32, in which the sum was made.
            F16 => place.copy_from_slice(&f16::from_f32(value as f32).to_le_bytes()),
            Bf16 => place.copy_from_slice(&bf16::from_f32(value as f32).to_le_bytes()),
            I32 => place.copy_from_slice(&(value as i32).to_le_bytes()),
            I8 | E4m3 | E5m2 => unreachable!("no rule allows it as a result"),
        }
    }
}

/// A float of 8 bits. OCP 8-bit Floating Point Specification 1.0: of E4M3 only all ones is not a number, and nothing is infinite.
fn small(bits: u8, exponent_bits: u32, mantissa_bits: u32) -> f64 {
    let mantissa = u32::from(bits) & ((1 << mantissa_bits) - 1);
    let exponent = (u32::from(bits) >> mantissa_bits) & ((1 << exponent_bits) - 1);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let top = exponent == (1 << exponent_bits) - 1;
    let scale = |power: i32| f64::from(power).exp2();
    let value = match (exponent_bits, top, mantissa) {
        (4, true, 7) => f64::NAN,
        (5, true, 0) => f64::INFINITY,
        (5, true, _) => f64::NAN,
        _ if exponent == 0 => f64::from(mantissa) * scale(1 - bias - mantissa_bits as i32),
        _ => {
            f64::from(mantissa + (1 << mantissa_bits))
                * scale(exponent as i32 - bias - mantissa_bits as i32)
        }
    };
    sign * value
}

/// `cublasComputeType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Sums in binary16.
    F16,
    /// Sums in binary32.
    F32,
    /// Sums in binary32, factors may be rounded to a shorter format.
    Fast,
    /// Sums in 32-bit integers.
    I32,
}

impl Compute {
    /// The compute type of a number; pedantic ones are not told apart.
    pub fn of(number: u32) -> Option<Self> {
        Some(match number {
            64 | 65 => Self::F16,
            68 | 69 => Self::F32,
            74 | 75 | 77 => Self::Fast,
            72 | 73 => Self::I32,
            _ => return None,
        })
    }

    /// The format of alpha and beta.
    pub fn scale(self) -> Kind {
        match self {
            Self::F16 => F16,
            Self::F32 | Self::Fast => F32,
            Self::I32 => I32,
        }
    }
}

/// Whether an operand is transposed, by `cublasOperation_t`; what is real has itself as conjugate.
pub fn transposed(operation: u32) -> Option<bool> {
    match operation {
        0 => Some(false),
        1 | 2 => Some(true),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OCP 8-bit Floating Point Specification 1.0, table 1: the largest, the smallest normal, the smallest subnormal.
    #[test]
    fn floats_of_8_bits_are_those_of_the_specification() {
        for (kind, bits, want) in [
            (E4m3, 0x7e, 448.0),
            (E4m3, 0x08, 0.015_625),
            (E4m3, 0x01, 0.001_953_125),
            (E4m3, 0xb8, -1.0),
            (E5m2, 0x7b, 57344.0),
            (E5m2, 0x04, 6.103_515_625e-5),
            (E5m2, 0x01, 1.525_878_906_25e-5),
            (E5m2, 0x7c, f64::INFINITY),
            (E5m2, 0xbc, -1.0),
        ] {
            assert_eq!(kind.read(&[bits]).to_bits(), f64::to_bits(want), "{kind:?} {bits:#x}");
        }
        assert!(E4m3.read(&[0x7f]).is_nan() && E4m3.read(&[0xff]).is_nan());
        assert!(E5m2.read(&[0x7d]).is_nan());
    }

    #[test]
    fn what_is_written_is_read_back() {
        for kind in [F32, F16, Bf16, I32] {
            let mut place = vec![0; kind.bytes()];
            for value in [0.0, 1.0, -3.0, 96.0] {
                kind.write(value, &mut place);
                assert_eq!(kind.read(&place).to_bits(), f64::to_bits(value), "{kind:?}");
            }
        }
        let mut place = [0; 2];
        F16.write(1e5, &mut place);
        assert_eq!(F16.read(&place).to_bits(), f64::INFINITY.to_bits());
    }
}
