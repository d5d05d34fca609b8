use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Number formats a GPU can or cannot compute in. The order is the order on screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dtype {
    /// IEEE binary64.
    Fp64,
    /// IEEE binary32.
    Fp32,
    /// binary32 storage, 10-bit mantissa in the tensor core.
    Tf32,
    /// IEEE binary16.
    Fp16,
    /// bfloat16: binary32's exponent, 7-bit mantissa.
    Bf16,
    /// FP8, 4-bit exponent, 3-bit mantissa.
    Fp8E4m3,
    /// FP8, 5-bit exponent, 2-bit mantissa.
    Fp8E5m2,
    /// OCP MXFP8: FP8 with a shared power-of-two scale per 32.
    Mxfp8,
    /// FP6, either layout.
    Fp6,
    /// 8-bit integer matrix multiply.
    Int8,
    /// 4-bit integer matrix multiply in the tensor core itself.
    Int4,
    /// 4-bit weights, 16-bit activations (w4a16).
    Int4Weight,
    /// FP4 e2m1 without block scale.
    Fp4,
    /// NVFP4: e2m1 with an FP8 scale per 16.
    Nvfp4,
    /// OCP MXFP4: e2m1 with a power-of-two scale per 32.
    Mxfp4,
}

/// Every [`Dtype`] with its stable id and the label used on screen.
pub const DTYPES: &[(Dtype, &str, &str)] = &[
    (Dtype::Fp64, "fp64", "FP64"),
    (Dtype::Fp32, "fp32", "FP32"),
    (Dtype::Tf32, "tf32", "TF32"),
    (Dtype::Fp16, "fp16", "FP16"),
    (Dtype::Bf16, "bf16", "BF16"),
    (Dtype::Fp8E4m3, "fp8_e4m3", "FP8"),
    (Dtype::Fp8E5m2, "fp8_e5m2", "FP8 e5m2"),
    (Dtype::Mxfp8, "mxfp8", "MXFP8"),
    (Dtype::Fp6, "fp6", "FP6"),
    (Dtype::Int8, "int8", "INT8"),
    (Dtype::Int4, "int4", "INT4"),
    (Dtype::Int4Weight, "int4_weight", "W4A16"),
    (Dtype::Fp4, "fp4", "FP4"),
    (Dtype::Nvfp4, "nvfp4", "NVFP4"),
    (Dtype::Mxfp4, "mxfp4", "MXFP4"),
];

impl Dtype {
    fn row(self) -> &'static (Dtype, &'static str, &'static str) {
        DTYPES.iter().find(|row| row.0 == self).expect("every dtype has a row")
    }

    /// Stable lower-case id, as in rule and fact files.
    pub fn id(self) -> &'static str {
        self.row().1
    }

    /// Upper-case label for the screen.
    pub fn label(self) -> &'static str {
        self.row().2
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        DTYPES.iter().find(|row| row.1 == text).map(|row| row.0).ok_or_else(|| {
            let known: Vec<_> = DTYPES.iter().map(|row| row.1).collect();
            format!("{text:?} is not a dtype; known: {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_serde_agrees() {
        for (dtype, id, _) in DTYPES {
            assert_eq!(id.parse(), Ok(*dtype));
            assert_eq!(DTYPES.iter().filter(|row| row.1 == *id).count(), 1);
        }
        assert!("fp17".parse::<Dtype>().is_err());
    }
}
