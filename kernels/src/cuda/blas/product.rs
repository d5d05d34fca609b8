use half::f16;

use super::status::BlasError;
use crate::gpu::{MachineError, Slot};

/// Number formats as cuBLAS numbers them: `cudaDataType`, library_types.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// binary32.
    F32 = 0,
    /// binary16.
    F16 = 2,
    /// Signed byte.
    I8 = 3,
    /// Signed 32-bit integer.
    I32 = 10,
    /// bfloat16.
    Bf16 = 14,
    /// FP8 with four bits of exponent.
    E4m3 = 28,
}

impl Kind {
    /// Bytes of one.
    pub fn bytes(self) -> u64 {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 | Self::E4m3 => 1,
        }
    }

    /// As cuBLAS' tables write it: `16F`.
    pub fn id(self) -> &'static str {
        match self {
            Self::F32 => "32F",
            Self::F16 => "16F",
            Self::I8 => "8I",
            Self::I32 => "32I",
            Self::Bf16 => "16BF",
            Self::E4m3 => "8F_E4M3",
        }
    }
}

/// What is computed in: `cublasComputeType_t`, from CUDA 11 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Compute {
    /// binary16.
    F16 = 64,
    /// binary32.
    F32 = 68,
    /// 32-bit integers.
    I32 = 72,
}

impl Compute {
    /// As cuBLAS' tables write it: `32F`.
    pub fn id(self) -> &'static str {
        self.scale().id()
    }

    /// The format of the two factors.
    pub(super) fn scale(self) -> Kind {
        match self {
            Self::F16 => Kind::F16,
            Self::F32 => Kind::F32,
            Self::I32 => Kind::I32,
        }
    }

    /// One and zero in that format.
    pub(super) fn factors(self) -> [[u8; 4]; 2] {
        let half = |bits: u16| {
            let [low, high] = bits.to_ne_bytes();
            [low, high, 0, 0]
        };
        match self {
            Self::F16 => [half(f16::ONE.to_bits()), [0; 4]],
            Self::F32 => [1.0_f32.to_ne_bytes(), [0; 4]],
            Self::I32 => [1_i32.to_ne_bytes(), [0; 4]],
        }
    }
}

/// One product of matrices that lie column by column: C = Aᵀ·B, as every linear layer asks for it, or C = A·B.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Rows of C; columns of A as it lies, or rows where it is not transposed.
    pub m: u32,
    /// Columns of C and B.
    pub n: u32,
    /// Rows of A and B as they lie; columns of an A that is not transposed.
    pub k: u32,
    /// Whether A is transposed.
    pub transposed: bool,
    /// Format of A and B.
    pub from: Kind,
    /// Format of C.
    pub to: Kind,
    /// What is computed in.
    pub compute: Compute,
    /// Whether sums of fp8 may stay in the tensor cores' own, shorter format (`CUBLASLT_MATMUL_DESC_FAST_ACCUM`).
    pub fast_sums: bool,
    /// Elements from one column to the next: of A, B and C.
    pub strides: [u32; 3],
    /// Where they begin: A, B and C.
    pub places: [Slot; 3],
}

impl Product {
    /// Bytes each operand takes from where it begins.
    pub fn bytes(&self) -> [u64; 3] {
        let of = |rows: u32, columns: u32, stride: u32, kind: Kind| {
            let last = u64::from(columns.saturating_sub(1)) * u64::from(stride);
            (last + u64::from(rows)) * kind.bytes()
        };
        let [a, b, c] = self.strides;
        [
            of(self.first().0, self.first().1, a, self.from),
            of(self.k, self.n, b, self.from),
            of(self.m, self.n, c, self.to),
        ]
    }

    /// Rows and columns of A as it lies.
    fn first(&self) -> (u32, u32) {
        if self.transposed { (self.k, self.m) } else { (self.m, self.k) }
    }

    /// Sizes and strides as the C interface wants them; what does not fit, and columns that overlap, are refused.
    pub(super) fn numbers(&self) -> Result<[i32; 6], BlasError> {
        let [a, b, c] = self.strides;
        let number = |value: u32| i32::try_from(value).ok().filter(|value| *value > 0);
        let all = [self.m, self.n, self.k, a, b, c].map(number);
        let rows = number(self.first().0);
        match all {
            [Some(m), Some(n), Some(k), Some(a), Some(b), Some(c)]
                if Some(a) >= rows && b >= k && c >= m =>
            {
                Ok([m, n, k, a, b, c])
            }
            _ => Err(MachineError::refused(format!(
                "a product of {}×{}×{} with strides {a}, {b}, {c} cannot be",
                self.m, self.n, self.k
            ))
            .into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::BufferId;

    fn product(m: u32, n: u32, k: u32, strides: [u32; 3]) -> Product {
        let places = [Slot { buffer: BufferId(0), offset: 0 }; 3];
        let (from, to, compute) = (Kind::F16, Kind::F16, Compute::F32);
        let (transposed, fast_sums) = (true, false);
        Product { m, n, k, transposed, from, to, compute, fast_sums, strides, places }
    }

    #[test]
    fn the_last_column_ends_an_operand() {
        assert_eq!(product(64, 32, 16, [16, 16, 64]).bytes(), [2048, 1024, 4096]);
        assert_eq!(product(4, 3, 2, [8, 9, 10]).bytes(), [52, 40, 48]);
        // Two columns of four instead of four of two: 8 + 4 elements.
        let plain = Product { transposed: false, ..product(4, 3, 2, [8, 9, 10]) };
        assert_eq!((plain.bytes(), plain.numbers()), ([24, 40, 48], Ok([4, 3, 2, 8, 9, 10])));
        assert!(Product { strides: [3, 9, 10], ..plain }.numbers().is_err());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(product(4, 3, 2, [2, 2, 4]).numbers(), Ok([4, 3, 2, 2, 2, 4]));
        for bad in [
            product(0, 3, 2, [2, 2, 4]),
            product(4, 3, 2, [1, 2, 4]),
            product(4, 3, 2, [2, 1, 4]),
            product(4, 3, 2, [2, 2, 3]),
            product(4, 3, 2, [u32::MAX, 2, 4]),
        ] {
            assert!(bad.numbers().is_err(), "{bad:?}");
        }
    }

    /// IEEE 754: 1.0 is 0x3c00 in binary16 and 0x3f800000 in binary32.
    #[test]
    fn factors_are_one_and_zero() {
        assert_eq!(Compute::F16.factors()[0], [0x00, 0x3c, 0, 0]);
        assert_eq!(Compute::F32.factors()[0], [0, 0, 0x80, 0x3f]);
        assert_eq!(Compute::I32.factors(), [[1, 0, 0, 0], [0; 4]]);
    }
}
