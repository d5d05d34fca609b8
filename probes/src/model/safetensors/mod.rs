//! The header of a safetensors file: eight bytes of length, then JSON that names every tensor with its type and place.
//!
//! The JSON is folded into sums while it is read; no tensor is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// The format's own limit.
const MOST_HEADER: u64 = 100_000_000;
/// Types are short words; a longer one is none.
const LONGEST_TYPE: usize = 16;
/// There are some twenty types; a file with more invents them.
const MOST_TYPES: usize = 64;

/// Types that weights are saved in unquantised, with ours and their bytes.
const FLOATS: &[(&str, &str, u64)] =
    &[("BF16", "bf16", 2), ("F16", "fp16", 2), ("F32", "fp32", 4), ("F64", "fp64", 8)];

/// What a header, or several, say of the weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Weights {
    /// Number of tensors.
    pub(super) tensors: u64,
    /// Bytes by type.
    pub(super) types: BTreeMap<String, u64>,
}

impl Weights {
    /// Reads the header at the start of a file.
    pub(super) fn read(mut reader: impl Read) -> Result<Self, String> {
        let mut length = [0; 8];
        let cut = |error| format!("ends within its header; download it again ({error})");
        reader.read_exact(&mut length).map_err(cut)?;
        let length = u64::from_le_bytes(length);
        if length > MOST_HEADER {
            return Err(format!(
                "is no safetensors file: it would begin with a header of {length} bytes"
            ));
        }
        let mut bytes = Vec::new();
        reader.take(length).read_to_end(&mut bytes).map_err(cut)?;
        if bytes.len() as u64 != length {
            return Err("ends within its header; download it again".to_owned());
        }
        let header: Header = serde_json::from_slice(&bytes)
            .map_err(|error| format!("has a header that is not understood: {error}"))?;
        Ok(header.0)
    }

    /// Adds those of another file of the same model.
    pub(super) fn add(&mut self, other: &Self) {
        self.tensors = self.tensors.saturating_add(other.tensors);
        for (kind, bytes) in &other.types {
            let sum = self.types.entry(kind.clone()).or_default();
            *sum = sum.saturating_add(*bytes);
        }
    }

    /// Bytes of all tensors.
    pub(super) fn bytes(&self) -> u64 {
        self.types.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The type most values that are not quantised have.
    pub(super) fn checkpoint_dtype(&self) -> Option<&'static str> {
        let values = |row: &&(&str, &str, u64)| self.types.get(row.0).map_or(0, |all| all / row.2);
        let most = FLOATS.iter().max_by_key(values)?;
        (values(&most) > 0).then_some(most.1)
    }

    /// Types with the largest first, in words.
    pub(super) fn words(&self) -> String {
        let mut types: Vec<_> = self.types.iter().collect();
        types.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
        let names: Vec<_> = types.iter().map(|(kind, _)| kind.as_str()).collect();
        format!("{}: {}", self.tensors, names.join(", "))
    }
}

struct Header(Weights);

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    data_offsets: (u64, u64),
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fold).map(Self)
    }
}

struct Fold;

impl<'de> Visitor<'de> for Fold {
    type Value = Weights;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Weights, A::Error> {
        let mut weights = Weights::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let Tensor { dtype, data_offsets: (begin, end) } = map.next_value()?;
            let size = end.checked_sub(begin);
            let size = size.ok_or_else(|| A::Error::custom("a tensor ends before it begins"))?;
            let plain = dtype.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !plain || dtype.is_empty() || dtype.len() > LONGEST_TYPE {
                return Err(A::Error::custom("a tensor has a type that is no word"));
            }
            let sum = weights.types.entry(dtype).or_default();
            *sum = sum
                .checked_add(size)
                .ok_or_else(|| A::Error::custom("the tensors are too large to count"))?;
            weights.tensors += 1;
            if weights.types.len() > MOST_TYPES {
                return Err(A::Error::custom("more types of tensors than there are"));
            }
        }
        Ok(weights)
    }
}

#[cfg(test)]
mod tests;
