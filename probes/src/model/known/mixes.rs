//! Mixes of types in GGUF files, and the files of a model in one of them.

use serde_json::Value;

use super::{GgufCache, Row};
use crate::model::architecture::{Architecture, COMPRESSED_CACHE, EITHER, Part};
use crate::model::{
    Attention, Facts, LayerRun, Shape, ShapeSource, WeightFormat, WeightRole, config,
};

/// Bits of a weight on average, embedding and head included, in llama.cpp's mixes of types: Llama 3.1 8B as
/// `ggml-org/llama.cpp@311c2c9:tools/quantize/README.md` lists them. Those of one type, which it does not list, follow from [`ENDS`].
const MIXES: &[(&str, f64)] = &[
    ("Q4_K_M", 4.8944),
    ("IQ1_S", 2.0042),
    ("IQ1_M", 2.1460),
    ("IQ2_XXS", 2.3824),
    ("IQ2_XS", 2.5882),
    ("IQ2_S", 2.7403),
    ("IQ2_M", 2.9294),
    ("IQ3_XXS", 3.2548),
    ("IQ3_XS", 3.4977),
    ("IQ3_S", 3.6606),
    ("IQ3_M", 3.7628),
    ("IQ4_XS", 4.4597),
    ("IQ4_NL", 4.6818),
    ("Q2_K_S", 2.9697),
    ("Q2_K", 3.1593),
    ("Q3_K_S", 3.6429),
    ("Q3_K_M", 3.9960),
    ("Q3_K_L", 4.2979),
    ("Q4_K_S", 4.6672),
    ("Q4_0", 4.6349),
    ("Q4_1", 5.1022),
    ("Q5_K_S", 5.5704),
    ("Q5_0", 5.5695),
    ("Q5_1", 6.0368),
    ("Q5_K_M", 5.7036),
    ("Q6_K", 6.5633),
    ("Q8_0", 8.5008),
    ("F16", 16.0005),
    ("BF16", 16.0005),
];

/// Bits of embedding and head where the mix keeps them larger or smaller than the layers, as `llama_tensor_get_type` chooses them.
const ENDS: &[(&str, f64, f64)] = &[
    ("IQ1", 2.625, 5.5),
    ("IQ2_X", 2.625, 5.5),
    ("IQ2", 3.4375, 5.5),
    ("IQ3_XXS", 3.4375, 6.5625),
    ("IQ3", 3.4375, 6.5625),
    ("IQ4", 4.5, 6.5625),
    ("Q2", 2.625, 6.5625),
    ("Q3", 3.4375, 6.5625),
    ("Q4_1", 5.0, 6.5625),
    ("Q4", 4.5, 6.5625),
    ("Q5_1", 6.0, 6.5625),
    ("Q5", 5.5, 6.5625),
    ("Q6", 6.5625, 6.5625),
    ("Q8", 8.5, 8.5),
];

/// Weights of Llama 3.1 8B: embedding, which is as large as its head, and layers.
const MEASURED_ENDS: f64 = 128_256.0 * 4096.0;
const MEASURED_LAYERS: f64 = 8_030_261_248.0 - 2.0 * MEASURED_ENDS;

/// What a tag of a GGUF repository says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mix {
    kind: &'static str,
    mean: f64,
    /// Whether files with this tag are mixed as [`MIXES`] says; else they are the nearest.
    is_exact: bool,
}

/// Bits of experts in MXFP4, scales included.
const MXFP4: f64 = 4.25;
/// Bits of Q8_0.
const Q8: f64 = 8.5;
/// Values of a block of the types of most mixes.
const BLOCK: u64 = 256;

impl Mix {
    /// The most common mix.
    pub(super) const USUAL: Self = Self { kind: "Q4_K_M", mean: 4.8944, is_exact: true };

    /// The mix with this tag, or the nearest of the same width: `UD-Q4_K_XL`, `Q6_K_L`.
    pub(super) fn of(tag: &str) -> Option<Self> {
        let tag = tag.to_ascii_uppercase();
        if tag.starts_with("MXFP4") {
            return Some(Self { kind: "MXFP4", mean: MXFP4, is_exact: true });
        }
        let same = MIXES.iter().find(|row| row.0 == tag);
        let (row, is_exact) = match same {
            Some(row) => (row, true),
            None => (nearest(&tag)?, false),
        };
        Some(Self { kind: row.0, mean: row.1, is_exact })
    }

    /// Its tag; of one that is not known that of the nearest.
    pub(super) fn kind(self) -> &'static str {
        self.kind
    }

    /// The same as the owner of this repository makes it: Unsloth's mixes of I-quants are others under the same names.
    pub(super) fn by(self, repository: &str) -> Self {
        let own = repository.starts_with("unsloth/") && self.kind.starts_with("IQ");
        Self { is_exact: self.is_exact && !own, ..self }
    }

    /// Bits of a weight of this matrix.
    fn bits(self, part: &Part, is_tied: bool) -> f64 {
        let blocks = self.kind.contains("_K") || self.kind.starts_with("IQ");
        match blocks && self.kind != "IQ4_NL" && !part.columns.is_multiple_of(BLOCK) {
            true => self.stand_in(part.role, is_tied),
            false => self.usual(part.role, is_tied),
        }
    }

    /// Bits of the types that stand in where rows are no whole blocks (`tensor_type_fallback` of `llama-quant.cpp@007dbbf`): of the two
    /// that a mix is of, each by its own.
    fn stand_in(self, role: WeightRole, is_tied: bool) -> f64 {
        let (plain, larger) = self.ends();
        let is_end = role == WeightRole::Head || role == WeightRole::Embedding && is_tied;
        let least = if self.kind.starts_with("IQ") { 4.5 } else { stand_in(plain) };
        let share = match larger > plain {
            _ if is_end => return Q8,
            true if role != WeightRole::Embedding => {
                (self.usual(role, is_tied) - plain) / (larger - plain)
            }
            _ => 0.0,
        };
        least + share.clamp(0.0, 1.0) * (stand_in(larger) - least)
    }

    fn ends(self) -> (f64, f64) {
        let ends = ENDS.iter().find(|row| self.kind.starts_with(row.0));
        ends.map_or((self.mean, self.mean), |row| (row.1, row.2))
    }

    /// Bits of a weight of this role, so that those of Llama 3.1 8B come to the mean.
    fn usual(self, role: WeightRole, is_tied: bool) -> f64 {
        let (embedding, head) = self.ends();
        match role {
            WeightRole::Experts if self.kind == "MXFP4" => MXFP4,
            _ if self.kind == "MXFP4" => Q8,
            // One tensor, mixed as the head is.
            WeightRole::Embedding if is_tied => head,
            WeightRole::Embedding => embedding,
            WeightRole::Head => head,
            _ => self.mean + MEASURED_ENDS / MEASURED_LAYERS * (2.0 * self.mean - embedding - head),
        }
    }
}

/// Bits of the type with blocks of 32 values that stands in for one of so many.
fn stand_in(bits: f64) -> f64 {
    match bits {
        ..4.5 => 4.5,
        ..5.5 => 5.5,
        ..6.0 => 6.0,
        _ => Q8,
    }
}

/// The mix that a larger one was made of, else the one that begins most alike of those with the same number of bits.
fn nearest(tag: &str) -> Option<&'static (&'static str, f64)> {
    let tag = tag.strip_prefix("UD-").unwrap_or(tag);
    let smaller = ["_XL", "_L"].iter().find_map(|end| tag.strip_suffix(end)).unwrap_or(tag);
    let names = [format!("{smaller}_M"), smaller.to_owned()];
    if let Some(row) = names.iter().find_map(|name| MIXES.iter().find(|row| row.0 == name)) {
        return Some(row);
    }
    let digit = tag.find(|letter: char| letter.is_ascii_digit())?;
    let width = tag.get(..=digit).filter(|width| ["Q", "IQ"].contains(&&width[..digit]))?;
    let alike =
        |row: &str| row.bytes().zip(tag.bytes()).take_while(|pair| pair.0 == pair.1).count();
    let known = MIXES.iter().rev().filter(|row| row.0.starts_with(width));
    known.max_by_key(|row| alike(row.0))
}

/// The files of a model in a mix. What sees lies in a file of its own (`mmproj`), which nobody has to load.
pub(super) fn gguf(row: &Row, mix: Mix) -> Option<Facts> {
    let config = laid_out(row);
    let plain = config::describe(&config, None).ok()?;
    let mut facts = Facts::default();
    facts.set("quantization", "gguf");
    for key in ["model_type", "head_dim"] {
        if let Some(value) = plain.settings.get(key) {
            facts.set(key, value);
        }
    }
    let mut shape = plain.shape?;
    shape.weights.retain(|group| group.role != WeightRole::Tower);
    let parts = Architecture::of(&config::sections(&config))?.parts;
    pack(&mut shape, &parts, &config, mix);
    // Publishers keep projections of recurrent layers larger, each in its own way.
    let recurs = |run: &LayerRun| matches!(run.attention, Attention::Recurrent { .. });
    let is_exact = mix.is_exact && !shape.layers.iter().any(recurs);
    shape.source = if is_exact { ShapeSource::Table } else { ShapeSource::Nearest };
    shape.format = Some(WeightFormat::gguf());
    facts.weight_bytes = Some(shape.weight_bytes());
    facts.shape = Some(shape);
    let Mix { kind, mean, .. } = mix;
    facts.detail("quantisation", format!("GGUF, {kind}: about {mean:.1} bits a weight"));
    Some(facts)
}

/// The configuration with what is known of the layout of its GGUF files.
fn laid_out(row: &Row) -> Value {
    let mut config = row.config.clone();
    match row.gguf_cache {
        Some(GgufCache::Heads) => config[COMPRESSED_CACHE] = false.into(),
        Some(GgufCache::Either) => config[COMPRESSED_CACHE] = EITHER.into(),
        None => {}
    }
    config
}

fn pack(shape: &mut Shape, parts: &[Part], config: &Value, mix: Mix) {
    let tied = shape.tied_head;
    let saved = &config["quantization_config"]["quant_method"];
    // Experts that were trained in MXFP4 stay as they are, whatever the tag; the rest is in Q8_0 (59.02 GiB of gpt-oss-120b on the
    // GPU: llama.cpp issue 15253) or in 16 bits.
    let native = saved == "mxfp4";
    let rest = if mix.kind.ends_with("F16") { 16.0 } else { Q8 };
    for group in shape.weights.iter_mut().filter(|group| group.role != WeightRole::Small) {
        let bits = |part: &Part| match part.role {
            WeightRole::Experts if native => MXFP4,
            _ if native => rest,
            _ => mix.bits(part, tied),
        };
        let own = parts.iter().filter(|part| part.role == group.role);
        group.bytes = (own.map(|part| part.values() as f64 * bits(part)).sum::<f64>() / 8.0) as u64;
    }
}
