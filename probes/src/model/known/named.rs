//! Models that are not in the table, of which one is: a GGUF file or a quantised copy, told by its name alone.

use super::{Format, Row, Table, base, table};
use crate::model::{Facts, ShapeSource, WeightFormat, WeightRole, config};

/// Bits of a weight on average, embedding and head included, in llama.cpp's mixes of types: Llama 3.1 8B as
/// `ggml-org/llama.cpp@311c2c9:tools/quantize/README.md` lists them.
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
    ("Q3_K_L", 4.2979),
    ("Q4_K_S", 4.6672),
    ("Q5_K_S", 5.5704),
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
    ("Q4", 4.5, 6.5625),
    ("Q5", 5.5, 6.5625),
    ("Q6", 6.5625, 6.5625),
    ("Q8", 8.5, 8.5),
];

/// Weights of Llama 3.1 8B: embedding, which is as large as its head, and layers.
const MEASURED_ENDS: f64 = 128_256.0 * 4096.0;
const MEASURED_LAYERS: f64 = 8_030_261_248.0 - 2.0 * MEASURED_ENDS;

/// Bits of a weight of this role, so that those of Llama 3.1 8B come to `mean`.
fn bits(kind: &str, mean: f64, role: WeightRole) -> f64 {
    let ends = ENDS.iter().find(|row| kind.starts_with(row.0)).copied();
    let (_, embedding, head) = ends.unwrap_or(("", mean, mean));
    match role {
        WeightRole::Embedding => embedding,
        WeightRole::Head => head,
        _ => mean + MEASURED_ENDS / MEASURED_LAYERS * (2.0 * mean - embedding - head),
    }
}

/// What the end of a name says of the format, as publishers spell it, and the format of the table.
const ENDINGS: &[(&str, &str)] = &[
    ("-awq", "awq"),
    ("-awq-int4", "awq"),
    ("-gptq", "gptq_int4"),
    ("-gptq-int4", "gptq_int4"),
    ("-gptq-int8", "gptq_int8"),
    ("-fp8", "fp8_dynamic"),
    ("-fp8-dynamic", "fp8_dynamic"),
    ("-nvfp4", "nvfp4"),
    ("-bnb-4bit", "nf4"),
    ("-unsloth-bnb-4bit", "nf4"),
    ("-quantized.w4a16", "w4a16"),
    ("-quantized.w8a8", "w8a8"),
    ("-quantized.w8a16", "w8a16"),
];

/// What a name says of a model: its row, and how its files are packed.
pub(super) struct Named {
    row: &'static Row,
    packing: Packing,
}

enum Packing {
    /// As the model itself: a later release of it.
    Own,
    Gguf(&'static str, f64),
    Format(&'static Format),
}

impl Named {
    /// `owner/NAME-GGUF:Q4_K_M`, a name with the ending of a format, or that of a model without its owner or of a later month; none where its
    /// model is not in the table.
    pub(super) fn of(id: &str) -> Option<Self> {
        let (repository, tag) = id.split_once(':').unwrap_or((id, ""));
        let name = base(repository).to_ascii_lowercase();
        if let Some(model) = name.strip_suffix("-gguf") {
            let wanted = |row: &&(&str, f64)| tag.is_empty() || row.0.eq_ignore_ascii_case(tag);
            let (kind, bits) = MIXES.iter().find(wanted)?;
            return Some(Self {
                row: row_of(table(), model)?,
                packing: Packing::Gguf(kind, *bits),
            });
        }
        let stripped = ENDINGS.iter().filter_map(|row| Some((name.strip_suffix(row.0)?, row.1)));
        let Some((model, format)) = stripped.min_by_key(|one| one.0.len()) else {
            let row = row_of(table(), &name).filter(|row| is_by_its_makers(repository, row))?;
            return Some(Self { row, packing: Packing::Own });
        };
        let format = table().formats.iter().find(|one| one.name == format)?;
        Some(Self { row: row_of(table(), model)?, packing: Packing::Format(format) })
    }

    /// What follows from the name, and where it comes from.
    pub(super) fn facts(&self) -> Option<(Facts, String)> {
        let source = format!("{}; the format by its name", self.row.source);
        match self.packing {
            Packing::Own => {
                let source = format!("{}; the model by its name", self.row.source);
                Some((config::describe(&self.row.config, None).ok()?, source))
            }
            Packing::Format(format) => {
                Some((config::describe(&format.config(self.row), None).ok()?, source))
            }
            Packing::Gguf(kind, bits) => Some((gguf(self.row, kind, bits)?, source)),
        }
    }
}

/// Whether a name is that of a model's makers, or names nobody.
fn is_by_its_makers(repository: &str, row: &Row) -> bool {
    let owner = |id: &str| id.split_once('/').map(|(owner, _)| owner.to_ascii_lowercase());
    let named = owner(repository);
    named.is_none() || row.ids.iter().any(|id| owner(id) == named)
}

/// The row of a model that was published again: `Qwen_Qwen3-8B`, `Meta-Llama-3.1-8B-Instruct`, `DeepSeek-V4-Flash-0731`.
fn row_of(table: &'static Table, name: &str) -> Option<&'static Row> {
    let without_owner = name.split_once('_').map(|(_, rest)| rest);
    let without_vendor = name.strip_prefix("meta-");
    let month = |day: &str| day.len() == 4 && day.bytes().all(|byte| byte.is_ascii_digit());
    let without_month = name.rsplit_once('-').filter(|one| month(one.1)).map(|one| one.0);
    let names = [Some(name), without_owner, without_vendor, without_month];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    names.into_iter().find_map(|wanted| {
        table.rows.iter().find(|row| row.ids.iter().any(|id| base(id).eq_ignore_ascii_case(wanted)))
    })
}

fn gguf(row: &Row, kind: &str, mean: f64) -> Option<Facts> {
    let plain = config::describe(&row.config, None).ok()?;
    let mut facts = Facts::default();
    facts.set("quantization", "gguf");
    for key in ["model_type", "head_dim"] {
        if let Some(value) = plain.settings.get(key) {
            facts.set(key, value);
        }
    }
    let mut shape = plain.shape?;
    for group in shape.weights.iter_mut().filter(|group| group.role != WeightRole::Small) {
        group.bytes = (group.values as f64 * bits(kind, mean, group.role) / 8.0) as u64;
    }
    shape.source = ShapeSource::Table;
    shape.format = Some(WeightFormat {
        name: "gguf".to_owned(),
        bits: None,
        group: None,
        block: None,
        reordered: false,
        kept: Vec::new(),
    });
    facts.weight_bytes = Some(shape.weight_bytes());
    facts.shape = Some(shape);
    facts.detail("quantisation", format!("GGUF, {kind}: about {mean:.1} bits a weight"));
    Some(facts)
}
