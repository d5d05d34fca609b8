//! Models that are not in the table, of which one is: a GGUF file or a quantised copy, told by its name alone.

use serde_json::{Value, json};

use super::mixes::{Mix, gguf};
use super::{Format, Published, Row, Table, base, table};
use crate::model::{EXL_HEAD_BITS, Facts, Model, ShapeSource, config};

/// What the end of a name says of the format, as publishers spell it, and the format of the table.
const ENDINGS: &[(&str, &str)] = &[
    ("-awq", "awq"),
    ("-awq-int4", "awq"),
    ("-awq-4bit", "w4a16"),
    ("-w4a16", "w4a16"),
    ("-w8a8", "w8a8"),
    ("-w8a16", "w8a16"),
    ("-int4", "w4a16"),
    ("-int8", "w8a16"),
    ("-gptq", "gptq_int4"),
    ("-gptq-int4", "gptq_int4"),
    ("-gptq-int8", "gptq_int8"),
    ("-gptq-4bit", "gptq_int4"),
    ("-gptq-8bit", "gptq_int8"),
    ("-4bit-gptq", "gptq_int4"),
    ("-autoround-gptq-4bit", "gptq_int4"),
    ("-autoround-gptq-8bit", "gptq_int8"),
    ("-autoround", "gptq_int4"),
    ("-int4-autoround", "gptq_int4"),
    ("-fp8", "fp8_dynamic"),
    ("-fp8-dynamic", "fp8_dynamic"),
    ("-nvfp4", "nvfp4_unlisted"),
    ("-fp4", "nvfp4_unlisted"),
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
    /// Source of what the name stands for.
    source: Option<&'static str>,
}

enum Packing {
    /// As the model itself: a later release of it.
    Own,
    Gguf(Mix),
    Format(&'static Format),
    /// ExLlama's formats, in a configuration as they save it.
    Exl(Value),
}

impl Named {
    /// `owner/NAME-GGUF:Q4_K_M`, a name with the ending of a format, or that of a model without its owner or of a later month; none where its
    /// model is not in the table.
    pub(super) fn of(id: &str) -> Option<Self> {
        let (repository, tag) = id.split_once(':').unwrap_or((id, ""));
        let name = base(repository).to_ascii_lowercase();
        if let Some(model) = name.strip_suffix("-gguf") {
            let row = row_of(table(), model)?;
            let mix = if tag.is_empty() { Mix::USUAL } else { Mix::of(tag)?.by(repository) };
            return Some(Self { row, packing: Packing::Gguf(mix), source: published(id) });
        }
        if let Some(Served { row, mix, source, .. }) = ollama(id) {
            return Some(Self { row, packing: Packing::Gguf(mix), source });
        }
        let whole = format!("{name}-{tag}");
        if let Some((model, saved)) = exl(&whole) {
            let row = row_of(table(), model)?;
            return Some(Self { row, packing: Packing::Exl(saved), source: None });
        }
        let stripped = ENDINGS.iter().filter_map(|row| Some((name.strip_suffix(row.0)?, row.1)));
        let Some((model, format)) = stripped.min_by_key(|one| one.0.len()) else {
            let row = row_of(table(), &name).filter(|row| is_by_its_makers(repository, row))?;
            let own = Self { row, packing: Packing::Own, source: None };
            return tag.is_empty().then_some(own);
        };
        let (row, usual) = (row_of(table(), model)?, table().format(format)?);
        let own = usual.with_delta_rule.as_deref().filter(|_| row.has_delta_rule());
        let format = own.and_then(|name| table().format(name)).unwrap_or(usual);
        Some(Self { row, packing: Packing::Format(format), source: None })
    }

    /// What follows from the name, and where it comes from.
    pub(super) fn facts(&self) -> Option<(Facts, String)> {
        let told = self.source.map(|source| format!("; {source}")).unwrap_or_default();
        let source = format!("{}{told}; the format by its name", self.row.source);
        match &self.packing {
            Packing::Own => {
                let source = format!("{}; the model by its name", self.row.source);
                Some((config::describe(&self.row.config, None).ok()?, source))
            }
            Packing::Format(format) => {
                let mut facts = format.facts(self.row)?;
                // Recipes differ in what they leave of it in 16 bits.
                if let Some(shape) = facts.shape.as_mut().filter(|_| self.row.has_delta_rule()) {
                    shape.source = ShapeSource::Nearest;
                }
                Some((facts, source))
            }
            Packing::Gguf(mix) => Some((gguf(self.row, *mix)?, source)),
            Packing::Exl(saved) => {
                let mut config = self.row.config.clone();
                config["quantization_config"] = saved.clone();
                Some((config::describe(&config, None).ok()?, source))
            }
        }
    }
}

/// Whether a name is that of a model's makers, or names nobody.
fn is_by_its_makers(repository: &str, row: &Row) -> bool {
    let owner = |id: &str| id.split_once('/').map(|(owner, _)| owner.to_ascii_lowercase());
    let named = owner(repository);
    named.is_none() || row.ids.iter().any(|id| owner(id) == named)
}

/// The row of a model that was published again: `Qwen_Qwen3-8B`, `Meta-Llama-3.1-8B-Instruct`, `DeepSeek-V4-Flash-0731`, or one that differs
/// from its copies by its number format: `NVIDIA-Nemotron-3-Nano-4B-BF16`.
fn row_of(table: &'static Table, name: &str) -> Option<&'static Row> {
    let without_owner = name.split_once('_').map(|(_, rest)| rest);
    let without_vendor = name.strip_prefix("meta-");
    let month = |day: &str| day.len() == 4 && day.bytes().all(|byte| byte.is_ascii_digit());
    let without_month = name.rsplit_once('-').filter(|one| month(one.1)).map(|one| one.0);
    let of_copies = format!("{name}-bf16");
    let names = [Some(name), without_owner, without_vendor, without_month, Some(&*of_copies)];
    let names: Vec<&str> = names.into_iter().flatten().collect();
    names.into_iter().find_map(|wanted| {
        table.rows.iter().find(|row| row.ids.iter().any(|id| base(id).eq_ignore_ascii_case(wanted)))
    })
}

/// The most common width of files of ExLlama.
const EXL_BITS: f64 = 4.0;

/// `qwen3-32b-4.0bpw-h6-exl2`, `gemma-3-27b-it-exl3-5.0bpw`: the model and what its configuration would say.
fn exl(name: &str) -> Option<(&str, Value)> {
    let words = || name.split(['-', '_']);
    let method = words().find(|word| ["exl2", "exl3"].contains(word))?;
    let width = words().find(|word| word.ends_with("bpw"));
    let bits = width.and_then(|word| word.strip_suffix("bpw")?.parse().ok());
    let head = words().skip(1).find_map(|word| word.strip_prefix('h')?.parse().ok());
    let first =
        [Some(method), width].into_iter().flatten().filter_map(|word| name.find(word)).min()?;
    let saved = json!({
        "quant_method": method,
        "bits": bits.unwrap_or(EXL_BITS),
        "head_bits": head.unwrap_or(EXL_HEAD_BITS),
    });
    Some((name[..first].trim_end_matches(['-', '_']), saved))
}

/// The source that lists a published file.
fn published(id: &str) -> Option<&'static str> {
    let has = |one: &&Published| one.models.iter().any(|pair| pair.0.eq_ignore_ascii_case(id));
    table().published.iter().find(has).map(|one| &*one.source)
}

/// What a file that Ollama names `qwen3:32b` would be called on a hub: `Qwen/Qwen3-32B-GGUF:Q4_K_M`.
pub(super) fn on_hub(id: &str) -> Option<String> {
    let Served { name, mix, .. } = ollama(id)?;
    let is_it = |file: &&str| file.split_once(':').is_none_or(|(_, kind)| kind == mix.kind());
    let published = Model::published_gguf(name).filter(is_it).map(str::to_owned);
    published.or_else(|| Some(format!("{name}-GGUF:{}", mix.kind())))
}

/// What Ollama serves under a name.
struct Served {
    row: &'static Row,
    name: &'static str,
    mix: Mix,
    source: Option<&'static str>,
}

/// `qwen3:32b`, `llama3.1:8b-instruct-q8_0`, `mistral`: Ollama names a family and a size, and what it serves is a GGUF file.
fn ollama(id: &str) -> Option<Served> {
    let (name, tag) = id.split_once(':').unwrap_or((id, "latest"));
    let listed = table().listed.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    let tag = if tag == "latest" { &listed?.latest } else { tag };
    let mut words = tag.split('-');
    let is_size = |size: &&str| size.ends_with(['b', 'B', 'm', 'M']);
    let size = words.next().filter(is_size)?.to_ascii_lowercase();
    let usual = || listed.and_then(|one| Mix::of(one.mix.as_deref()?)).unwrap_or(Mix::USUAL);
    let mix = words.find_map(Mix::of).unwrap_or_else(usual);
    let (row, name) = match listed.and_then(|one| one.models.get(&size)) {
        Some(model) => (table().row(model)?, model.as_str()),
        None => of_family(&name.to_ascii_lowercase().replace('-', ""), &size)?,
    };
    Some(Served { row, name, mix, source: listed.map(|one| one.source.as_str()) })
}

/// The model of so many parameters that is called as its family is.
fn of_family(family: &str, size: &str) -> Option<(&'static Row, &'static str)> {
    if family.contains('/') {
        return None;
    }
    let is_it = |name: &str| {
        let name = base(name).to_ascii_lowercase();
        let found = name.split_once(&format!("-{size}"));
        found.is_some_and(|(front, rest)| front.replace('-', "") == family && is_usual(rest))
    };
    let rows = || table().rows.iter();
    let named = |row: &'static Row| {
        row.ids.iter().map(String::as_str).filter(|id| is_it(id)).map(move |id| (row, id))
    };
    let found = rows().flat_map(named).find(|one| !is_plain(one.1));
    found.or_else(|| rows().flat_map(named).next())
}

/// Whether an end of a name says nothing but how many parameters a model has, and that it answers: `-7B`, `-30B-A3B-Instruct`.
pub(super) fn is_size(end: &str) -> bool {
    let end = end.to_ascii_lowercase();
    let words = end.strip_prefix('-').and_then(|words| words.split_once(['b', 'm']));
    words.is_some_and(|(count, rest)| {
        count.parse::<f64>().is_ok() && (rest.is_empty() || rest.starts_with('-')) && is_usual(rest)
    })
}

/// What may stand behind the size of a model that is served under its family's name: `-A3B`, `-Instruct`, `-it`.
fn is_usual(rest: &str) -> bool {
    let active = |word: &str| {
        let digits = word.strip_prefix('a').and_then(|word| word.strip_suffix('b'));
        digits.is_some_and(|digits| digits.parse::<f64>().is_ok())
    };
    let words = rest.split('-').filter(|word| !word.is_empty());
    words.into_iter().all(|word| active(word) || ["instruct", "it", "chat"].contains(&word))
}

fn is_plain(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    !["-instruct", "-it", "-chat"].iter().any(|end| id.ends_with(end))
}
