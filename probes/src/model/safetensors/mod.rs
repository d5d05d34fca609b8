//! The header of a safetensors file: eight bytes of length, then JSON that names every tensor with its type and place.
//!
//! The JSON is folded into sums while it is read; neither text nor tensor is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufReader, Read};

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;

use super::Facts;
use super::packing::add;
use super::roles::{Counted, Meaning};
use super::shape::{ShapeSource, WeightGroup, WeightRole};

/// The format's own limit.
const MOST_HEADER: u64 = 100_000_000;
/// Types are short words; a longer one is none.
const LONGEST_TYPE: usize = 16;
/// There are some twenty types; a file with more invents them.
const MOST_TYPES: usize = 64;
/// Layers that are told apart; a model with more has no drafts behind them.
const MOST_LAYERS: u32 = 2048;

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
    /// Sums by layer and role.
    sums: BTreeMap<(Option<u32>, WeightRole), Sum>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    values: u64,
    /// Words of 32 bits that hold several values each.
    words: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.values = self.values.saturating_add(other.values);
        self.words = self.words.saturating_add(other.words);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
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
        let mut rest = reader.take(length);
        let header: Result<Header, _> = serde_json::from_reader(BufReader::new(&mut rest));
        let header = header.map_err(|error| match error.classify() {
            Category::Eof | Category::Io if rest.limit() > 0 => {
                "ends within its header; download it again".to_owned()
            }
            _ => format!("has a header that is not understood: {error}"),
        })?;
        Ok(header.0)
    }

    /// Adds those of another file of the same model.
    pub(super) fn add(&mut self, other: &Self) {
        self.tensors = self.tensors.saturating_add(other.tensors);
        for (kind, bytes) in &other.types {
            let sum = self.types.entry(kind.clone()).or_default();
            *sum = sum.saturating_add(*bytes);
        }
        for (key, sum) in &other.sums {
            self.sums.entry(*key).or_default().add(*sum);
        }
    }

    /// Sums by role. Layers from `depth` on predict further tokens; `bits` is the size of packed values.
    pub(super) fn groups(&self, depth: u64, bits: f64) -> Vec<WeightGroup> {
        let mut groups = Vec::new();
        for ((layer, role), sum) in &self.sums {
            let drafts =
                layer.is_some_and(|layer| u64::from(layer) >= depth) && *role != WeightRole::Tower;
            let role = if drafts { WeightRole::Draft } else { *role };
            let unpacked = (sum.words as f64 * 32.0 / bits) as u64;
            add(
                &mut groups,
                WeightGroup { role, values: sum.values.saturating_add(unpacked), bytes: sum.bytes },
            );
        }
        groups.sort_by_key(|group| group.role);
        groups
    }

    /// Replaces sizes that follow from dimensions by those of the files.
    pub(super) fn measure(&self, facts: &mut Facts) {
        let Some(shape) = &mut facts.shape else { return };
        let bits = shape.format.as_ref().and_then(|format| format.bits).unwrap_or(4.0);
        let mut groups = self.groups(shape.depth(), bits.max(1.0));
        let head = groups.iter().position(|group| group.role == WeightRole::Head);
        let awq = facts.settings.get("quantization") == Some("awq");
        match head.filter(|_| shape.tied_head) {
            // AutoAWQ saves a head of its own, and what loads it keeps it.
            Some(_) if awq => shape.tied_head = false,
            Some(at) => {
                let copy = groups.remove(at);
                let words = format!(
                    "{} bytes of the files are the embedding again and are not loaded",
                    copy.bytes
                );
                facts.details.push(("tied head", words));
            }
            None => shape.tied_head |= head.is_none(),
        }
        shape.weights = groups;
        shape.source = ShapeSource::Header;
    }

    /// Adds a tensor to the sum of what it is for.
    fn weigh(&mut self, name: &str, dtype: &str, shape: &[u64], bytes: u64) {
        let meaning = Meaning::of(name, dtype, shape.len());
        let elements = shape.iter().fold(1_u64, |all, side| all.saturating_mul(*side));
        let mut sum = Sum { bytes, ..Sum::default() };
        match meaning.counted {
            Counted::Plain => sum.values = elements,
            Counted::Words => sum.words = elements,
            Counted::Pairs => sum.values = elements.saturating_mul(2),
            Counted::Tiles => {
                sum.values = shape.iter().take(2).fold(256, |all, side| all.saturating_mul(*side));
            }
            Counted::Nothing => {}
        }
        let layer = meaning.layer.filter(|layer| *layer < MOST_LAYERS);
        self.sums.entry((layer, meaning.role)).or_default().add(sum);
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
    #[serde(default)]
    shape: Vec<u64>,
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
            let Tensor { dtype, shape, data_offsets: (begin, end) } = map.next_value()?;
            let size = end.checked_sub(begin);
            let size = size.ok_or_else(|| A::Error::custom("a tensor ends before it begins"))?;
            let plain = dtype.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !plain || dtype.is_empty() || dtype.len() > LONGEST_TYPE {
                return Err(A::Error::custom("a tensor has a type that is no word"));
            }
            weights.weigh(&name, &dtype, &shape, size);
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
