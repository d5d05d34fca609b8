//! A Hugging Face `config.json`: type of model, type it was saved in, quantisation, size of a head.

use serde_json::Value;

use super::Facts;
use super::architecture::Architecture;
use super::packing::{self, Packing};
use super::quantization::{self, row};
use super::shape::{Shape, ShapeSource};
use crate::rules::dtype_id;

/// Where models that see or hear keep the part that reads.
const NESTED: &[&str] =
    &["text_config", "llm_config", "language_config", "thinker_config", "text_model_config"];

/// Spellings of what makes a head: its size, the width of the model, the number of heads.
const HEAD: &[&str] = &["head_dim", "attention_head_dim", "kv_channels"];
const WIDTH: &[&str] = &["hidden_size", "n_embd", "d_model"];
const HEADS: &[&str] = &["num_attention_heads", "n_head", "n_heads", "num_heads"];
/// Some layers of these models have larger heads; the largest decides what runs.
const LARGER_HEAD: &str = "global_head_dim";
/// Models with this compress keys and values, and have heads of several sizes.
const LATENT: &str = "kv_lora_rank";

/// Names of architectures are words.
const LONGEST_NAME: usize = 128;

/// Keys of a quantisation, in the order in which they are believed.
const QUANTISATION: &[&str] = &["quantization_config", "compression_config"];

/// What a `config.json` says; `quant` is the `hf_quant_config.json` beside it.
pub(super) fn describe(config: &Value, quant: Option<&Value>) -> Result<Facts, String> {
    let sections = sections(config);
    let model_type = find(&sections, &["model_type"]).and_then(Value::as_str);
    let architectures = find(&sections, &["architectures"]).and_then(Value::as_array);
    if model_type.is_none() && architectures.is_none() {
        let want = "it has neither model_type nor architectures; name the config.json that lies beside the weights";
        return Err(format!("describes no model: {want}"));
    }
    let mut facts = Facts::default();
    if let Some(word) = model_type {
        facts.set("model_type", &word.to_ascii_lowercase());
    }
    let names = architectures.into_iter().flatten().filter_map(Value::as_str);
    let names: Vec<_> = names.filter(|name| name.len() <= LONGEST_NAME).take(4).collect();
    if !names.is_empty() {
        facts.detail("architecture", names.join(", "));
    }
    if let Some(dtype) = dtype(&sections) {
        facts.set("checkpoint_dtype", dtype);
    }
    if let Some(size) = head_dim(&sections) {
        facts.set("head_dim", &size.to_string());
    }
    let packing = describe_quantisation(&sections, quant, &mut facts);
    facts.shape = shape(&sections, packing, &facts);
    if let Some(window) = sliding_window(&sections) {
        facts.detail("sliding window", format!("{window} tokens"));
    }
    Ok(facts)
}

/// The configuration and the parts nested in it, outermost first.
pub(super) fn sections(config: &Value) -> Vec<&Value> {
    let first: Vec<_> = inside(config).collect();
    let second: Vec<_> = first.iter().flat_map(|part| inside(part)).collect();
    std::iter::once(config).chain(first).chain(second).collect()
}

fn inside(outer: &Value) -> impl Iterator<Item = &Value> {
    NESTED.iter().filter_map(|key| outer.get(key)).filter(|part| part.is_object())
}

fn find<'a>(sections: &[&'a Value], keys: &[&str]) -> Option<&'a Value> {
    sections
        .iter()
        .flat_map(|section| keys.iter().filter_map(|key| section.get(key)))
        .find(|value| !value.is_null())
}

fn count(sections: &[&Value], keys: &[&str]) -> Option<u64> {
    find(sections, keys)?.as_u64().filter(|count| *count > 0)
}

fn dtype(sections: &[&Value]) -> Option<&'static str> {
    let word = find(sections, &["torch_dtype", "dtype"])?.as_str()?;
    let word = word.strip_prefix("torch.").unwrap_or(word);
    dtype_id(word).filter(|id| *id != "auto")
}

fn head_dim(sections: &[&Value]) -> Option<u64> {
    if find(sections, &[LATENT]).is_some() {
        return None;
    }
    let shared = || {
        let (width, heads) = (count(sections, WIDTH)?, count(sections, HEADS)?);
        (width % heads == 0).then_some(width / heads)
    };
    let size = count(sections, HEAD).or_else(shared)?;
    Some(size.max(count(sections, &[LARGER_HEAD]).unwrap_or_default()))
}

/// The window, unless the model is told not to use it.
fn sliding_window(sections: &[&Value]) -> Option<u64> {
    let off = find(sections, &["use_sliding_window"]).and_then(Value::as_bool) == Some(false);
    count(sections, &["sliding_window"]).filter(|_| !off)
}

/// What is packed and how: `Err` where it is packed in a way whose sizes are not known here.
type Packed = Result<Option<Packing>, ()>;

fn describe_quantisation(sections: &[&Value], quant: Option<&Value>, facts: &mut Facts) -> Packed {
    let config = find(sections, QUANTISATION).filter(|config| quantization::of(config).is_some());
    let Some(config) = config.or(quant) else { return Ok(None) };
    let Some(said) = quantization::of(config) else { return Ok(None) };
    facts.set("quantization", &said.word);
    let meaning = row(&said.word).map_or(said.word.as_str(), |row| row.meaning);
    let phrase = [meaning, &said.detail].into_iter().filter(|part| !part.is_empty());
    facts.detail("quantisation", phrase.collect::<Vec<_>>().join("; "));
    let packing = Packing::of(config, &said.word).ok_or(())?;
    let fp4 = find(sections, &["expert_dtype"]).and_then(Value::as_str) == Some("fp4");
    Ok(Some(if fp4 { packing.with_experts_in_fp4() } else { packing }))
}

/// Dimensions, and sizes that follow from them.
fn shape(sections: &[&Value], packing: Packed, facts: &Facts) -> Option<Shape> {
    let packing = packing.ok()?;
    let mut found = Architecture::of(sections)?;
    // AutoAWQ saves a head of its own, and what loads it keeps it.
    if found.tied_head && facts.settings.get("quantization") == Some("awq") {
        found.untie();
    }
    let bytes = match facts.settings.get("checkpoint_dtype") {
        Some("fp32") => 4,
        _ => 2,
    };
    let weights = packing::weigh(&found.parts, packing.as_ref(), bytes);
    let Architecture {
        hidden,
        vocab,
        max_context,
        tied_head,
        axes_dim,
        fed_layers,
        layers,
        parts: _,
    } = found;
    Some(Shape {
        source: ShapeSource::Config,
        hidden,
        vocab,
        max_context,
        tied_head,
        axes_dim,
        fed_layers,
        layers,
        weights,
        format: packing.map(|packing| packing.format),
    })
}

#[cfg(test)]
mod tests;
