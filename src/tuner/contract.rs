//! What a kernel has to compute, how that is checked, and how much work it is.

use std::collections::BTreeMap;

use super::check::{Accuracy, Numbers};
use super::command_line::CommandLine;

/// Kinds of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// C = A·B: `m n k`.
    Gemm,
    /// y = W·x: `n` rows, `k` columns.
    Gemv,
    /// C = A·W with 4-bit weights in groups of 128 and a 16-bit scale: `m n k`.
    W4a16,
    /// softmax(Q·Kᵀ)·V: `batch heads seq dim`.
    Attention,
    /// One output for each of `n` inputs.
    Elementwise,
    /// Whatever the reference computes.
    Reference,
}

/// Every [`Work`] with its word in a spec.
pub(super) const WORKS: &[(Work, &str)] = &[
    (Work::Gemm, "gemm"),
    (Work::Gemv, "gemv"),
    (Work::W4a16, "w4a16"),
    (Work::Attention, "attention"),
    (Work::Elementwise, "elementwise"),
    (Work::Reference, "reference"),
];

/// How a result is known to be right.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// The program compares by itself and says `error=` on its lines; the largest that is still right.
    Error(f64),
    /// The same, the largest being that of the number format.
    Format,
    /// `checksum=` on its lines against those of the reference.
    Checksum(CommandLine, Accuracy),
    /// The file `{output}` against the one that the reference writes.
    Output(CommandLine, Accuracy, Numbers),
}

/// What a kernel has to compute.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// Kind of work.
    pub work: Work,
    /// How a result is known to be right.
    pub check: Check,
}

/// How much one piece of work is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount {
    /// Floating-point operations.
    pub flops: Option<f64>,
    /// Bytes that have to be moved at least.
    pub bytes: Option<f64>,
}

/// Bits of one number; `None` for formats nobody told.
fn bits(dtype: Option<&str>) -> Option<f64> {
    const BITS: &[(&str, f64)] = &[
        ("fp64", 64.0),
        ("fp32", 32.0),
        ("tf32", 32.0),
        ("fp16", 16.0),
        ("bf16", 16.0),
        ("fp8", 8.0),
        ("int8", 8.0),
    ];
    let dtype = dtype?;
    BITS.iter().find(|row| row.0 == dtype).map(|row| row.1)
}

impl Work {
    /// Its word in a spec.
    pub fn word(self) -> &'static str {
        WORKS.iter().find(|row| row.0 == self).expect("every kind has a row").1
    }

    /// The kind of a word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        WORKS.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// The work of one shape; what is not known of it stays unknown. Operands are counted once, as if caches were endless.
    pub fn amount(self, shape: &BTreeMap<String, String>, dtype: Option<&str>) -> Amount {
        let size = |name: &str| shape.get(name).and_then(|text| text.parse::<f64>().ok());
        let of = |names: [&str; 3]| Some((size(names[0])?, size(names[1])?, size(names[2])?));
        let number = bits(dtype).map(|bits| bits / 8.0);
        match self {
            Self::Gemm => of(["m", "n", "k"]).map_or(Amount::default(), |(m, n, k)| Amount {
                flops: Some(2.0 * m * n * k),
                bytes: number.map(|bytes| (m * k + k * n + m * n) * bytes),
            }),
            Self::Gemv => Amount {
                flops: size("n").zip(size("k")).map(|(n, k)| 2.0 * n * k),
                bytes: size("n")
                    .zip(size("k"))
                    .zip(number)
                    .map(|((n, k), bytes)| (n * k + n + k) * bytes),
            },
            Self::W4a16 => of(["m", "n", "k"]).map_or(Amount::default(), |(m, n, k)| Amount {
                flops: Some(2.0 * m * n * k),
                bytes: Some(n * k / 2.0 + n * k / 128.0 * 2.0 + (m * k + m * n) * 2.0),
            }),
            Self::Attention => attention(&size, number),
            Self::Elementwise => Amount {
                flops: None,
                bytes: size("n").zip(number).map(|(n, bytes)| 2.0 * n * bytes),
            },
            Self::Reference => Amount::default(),
        }
    }
}

/// Not causal: both products over the whole square.
fn attention(size: &dyn Fn(&str) -> Option<f64>, number: Option<f64>) -> Amount {
    let all = ["batch", "heads", "seq", "dim"].map(size);
    let [Some(batch), Some(heads), Some(seq), Some(dim)] = all else { return Amount::default() };
    let rows = batch * heads * seq;
    Amount {
        flops: Some(4.0 * rows * seq * dim),
        bytes: number.map(|bytes| 4.0 * rows * dim * bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(
        work: Work,
        shape: &[(&str, u32)],
        dtype: Option<&str>,
    ) -> (Option<f64>, Option<f64>) {
        let shape = shape.iter().map(|(name, size)| ((*name).to_owned(), size.to_string()));
        let amount = work.amount(&shape.collect(), dtype);
        (amount.flops, amount.bytes)
    }

    /// By hand: 2·2·3·4 = 48 and (2·4 + 4·3 + 2·3)·2 = 52; a 4-bit matrix of 2 × 128 takes 128 bytes and two scales.
    #[test]
    fn work_is_that_of_the_textbook() {
        let mnk = [("m", 2), ("n", 3), ("k", 4)];
        assert_eq!(amount(Work::Gemm, &mnk, Some("bf16")), (Some(48.0), Some(52.0)));
        assert_eq!(amount(Work::Gemm, &mnk, None), (Some(48.0), None));
        let nk = [("n", 3), ("k", 4)];
        assert_eq!(amount(Work::Gemv, &nk, Some("fp32")), (Some(24.0), Some(76.0)));
        let packed = [("m", 1), ("n", 2), ("k", 128)];
        let bytes = 128.0 + 4.0 + (128.0 + 2.0) * 2.0;
        assert_eq!(amount(Work::W4a16, &packed, None), (Some(512.0), Some(bytes)));
        let heads = [("batch", 1), ("heads", 2), ("seq", 8), ("dim", 4)];
        assert_eq!(
            amount(Work::Attention, &heads, Some("fp16")),
            (Some(4.0 * 16.0 * 8.0 * 4.0), Some(512.0))
        );
        assert_eq!(amount(Work::Elementwise, &[("n", 10)], Some("fp64")), (None, Some(160.0)));
        assert_eq!(amount(Work::Gemm, &[("m", 2)], Some("fp32")), (None, None));
    }
}
