//! Number formats of the micro decoder, by the names users give them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use warpscope_kernels::cpu::{FORMATS, Format};

/// Number formats of the benchmark's four paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathDtype {
    /// binary32 weights and activations.
    Fp32,
    /// binary16 weights and activations, fp32 accumulation, fp16 outputs.
    Fp16,
    /// bfloat16 weights and activations, fp32 accumulation, bf16 outputs.
    Bf16,
    /// 4-bit weights in groups of 128, 16-bit activations (w4a16).
    Int4,
}

impl PathDtype {
    /// Stable id: `bf16`.
    pub fn id(self) -> &'static str {
        self.format().id()
    }

    /// The kernels' name for it.
    pub fn format(self) -> Format {
        match self {
            Self::Fp32 => Format::Fp32,
            Self::Fp16 => Format::Fp16,
            Self::Bf16 => Format::Bf16,
            Self::Int4 => Format::Int4,
        }
    }
}

impl From<Format> for PathDtype {
    fn from(format: Format) -> Self {
        match format {
            Format::Fp32 => Self::Fp32,
            Format::Fp16 => Self::Fp16,
            Format::Bf16 => Self::Bf16,
            Format::Int4 => Self::Int4,
        }
    }
}

impl FromStr for PathDtype {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = || FORMATS.iter().map(|row| row.1).collect();
        let error = |_| OptionError { what: "dtype", given: text.to_owned(), known: known() };
        text.parse::<Format>().map(Self::from).map_err(error)
    }
}

/// A value that names nothing the benchmark knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} {given:?}; known: {}", known.join(", "))]
pub struct OptionError {
    /// What was asked for: `device`.
    pub what: &'static str,
    /// The value given.
    pub given: String,
    /// Values that would do.
    pub known: Vec<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_json() {
        for (format, id) in FORMATS {
            let dtype = PathDtype::from(*format);
            assert_eq!((dtype.id(), dtype.format()), (*id, *format));
            assert_eq!(serde_json::to_string(&dtype).expect("serialises"), format!("\"{id}\""));
        }
    }
}
