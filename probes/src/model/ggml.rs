//! Tensor types of GGUF files: number, name, values in a block, bytes of a block.
//!
//! Source: ggml's type table as the `gguf` package 0.19 has it (`GGML_QUANT_SIZES`), read 2026-11.

/// One row per type, in order of its number.
const TYPES: &[(u32, &str, u64, u64)] = &[
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 40),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
];

/// A tensor type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Type {
    pub(super) name: &'static str,
    block: u64,
    bytes: u64,
}

impl Type {
    /// The type of this number, if it is known.
    pub(super) fn of(number: u32) -> Option<Self> {
        let row = TYPES.iter().find(|row| row.0 == number)?;
        Some(Self { name: row.1, block: row.2, bytes: row.3 })
    }

    /// Bytes of so many values; `None` where they overflow.
    pub(super) fn size(self, values: u64) -> Option<u64> {
        values.div_ceil(self.block).checked_mul(self.bytes)
    }

    /// Whether several values share a scale.
    pub(super) fn is_quantised(self) -> bool {
        self.block > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits per value as published for the formats: 4.5 for Q4_0, 6.5625 for Q6_K, …
    #[test]
    fn sizes_are_the_published_bits_per_value() {
        for (name, bits) in [
            ("F32", 32.0),
            ("F16", 16.0),
            ("BF16", 16.0),
            ("Q4_0", 4.5),
            ("Q4_1", 5.0),
            ("Q5_0", 5.5),
            ("Q5_1", 6.0),
            ("Q8_0", 8.5),
            ("Q2_K", 2.625),
            ("Q3_K", 3.4375),
            ("Q4_K", 4.5),
            ("Q5_K", 5.5),
            ("Q6_K", 6.5625),
            ("Q8_K", 9.125),
            ("IQ1_S", 1.5625),
            ("IQ1_M", 1.75),
            ("IQ2_XXS", 2.0625),
            ("IQ2_XS", 2.3125),
            ("IQ2_S", 2.5625),
            ("IQ3_XXS", 3.0625),
            ("IQ3_S", 3.4375),
            ("IQ4_XS", 4.25),
            ("IQ4_NL", 4.5),
            ("TQ1_0", 1.6875),
            ("TQ2_0", 2.0625),
            ("MXFP4", 4.25),
            ("NVFP4", 4.5),
            ("Q1_0", 1.125),
        ] {
            let row = TYPES.iter().find(|row| row.1 == name).expect(name);
            assert_eq!(row.3 as f64 * 8.0 / row.2 as f64, bits, "{name}");
        }
    }

    #[test]
    fn numbers_are_unique_and_sizes_do_not_overflow() {
        assert!(TYPES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let f64_type = Type::of(28).expect("is there");
        assert_eq!((f64_type.size(u64::MAX), Type::of(4)), (None, None));
        assert_eq!(Type::of(12).and_then(|kind| kind.size(257)), Some(288));
    }
}
