//! Which layer is of which kind: a list, a pattern, an interval, or the rule of the family.

use serde_json::Value;

use super::keys::{self, Keys};

/// What mixes tokens in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mixer {
    Full,
    /// Attends to the last tokens only.
    Sliding(u64),
    /// Compressed keys and values.
    Latent,
    /// Keys and values compressed along the tokens too, by this factor; 0 where only a window is kept.
    Compressed(u64),
    /// Gated delta rule of Qwen.
    Delta,
    /// Kimi's delta attention.
    Kimi,
    /// Linear attention with a decay.
    Lightning,
    Mamba,
    Mamba2,
    /// Attention and Mamba-2 side by side.
    Parallel,
    /// Gated short convolution.
    Convolution,
    /// Real-gated linear recurrent unit.
    Gated,
    /// Attends to pictures only.
    Cross,
    /// Attends to a whole text at once and keeps nothing of it.
    Encoder,
    Nothing,
}

/// Words of lists of layers.
const WORDS: &[(&[&str], Word)] = &[
    (
        &["full_attention", "attention", "global", "global_attention", "sparse_attention"],
        Word::Full,
    ),
    (
        &["sliding_attention", "chunked_attention", "local", "local_attention", "sliding_window"],
        Word::Sliding,
    ),
    (&["linear_attention", "kda", "gated_deltanet"], Word::Linear),
    (&["mamba", "mamba2", "hybrid_mamba"], Word::Mamba),
    (&["conv", "short_conv"], Word::Convolution),
    (&["recurrent"], Word::Gated),
    (&["mlp", "moe", "none"], Word::Nothing),
];

#[derive(Clone, Copy)]
enum Word {
    Full,
    Sliding,
    Linear,
    Mamba,
    Convolution,
    Gated,
    Nothing,
}

/// Spellings of lists that name the kind of every layer.
const KINDS: &[&str] = &["layer_types", "layers_block_type", "block_types", "_block_types"];

/// The mixer of a layer.
pub(super) fn mixer(keys: &Keys<'_>, index: u64, depth: u64) -> Mixer {
    let attends = attends(keys, index);
    let single = single(keys, index).map(|single| match single {
        Single::Mamba => Mixer::Mamba2,
        Single::Attention => Mixer::Full,
        Single::Dense | Single::Experts => Mixer::Nothing,
    });
    single
        .or_else(|| listed(keys, index))
        .or_else(|| by_family(keys, index, depth))
        .unwrap_or(attends)
}

/// The mixer of layers that predict further tokens: that of the last layer which attends to everything.
pub(super) fn draft(keys: &Keys<'_>, depth: u64) -> Mixer {
    let all = (0..depth).rev().map(|index| mixer(keys, index, depth));
    let mut attending =
        all.filter(|mixer| matches!(mixer, Mixer::Full | Mixer::Latent | Mixer::Compressed(_)));
    attending.next().unwrap_or(Mixer::Full)
}

/// What a layer is in models whose layers are a mixer or a network, not both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Single {
    Mamba,
    Attention,
    Dense,
    Experts,
}

/// Reads `M-M*-E`, or the words newer configurations have for it.
pub(super) fn single(keys: &Keys<'_>, index: u64) -> Option<Single> {
    let index = usize::try_from(index).ok()?;
    if let Some(pattern) = keys.text(&["hybrid_override_pattern"]) {
        return Some(match pattern.as_bytes().get(index)? {
            b'M' => Single::Mamba,
            b'*' => Single::Attention,
            b'E' => Single::Experts,
            _ => Single::Dense,
        });
    }
    let list = keys.list(&["layers_block_type"]).filter(|_| keys.kind() == "nemotron_h")?;
    Some(match list.get(index)?.as_str()? {
        "mamba" => Single::Mamba,
        "attention" => Single::Attention,
        "moe" => Single::Experts,
        _ => Single::Dense,
    })
}

fn listed(keys: &Keys<'_>, index: u64) -> Option<Mixer> {
    if keys.find(&["compress_ratios"]).is_some() {
        return None;
    }
    let list = keys.list(KINDS)?;
    // A short list is repeated: the pattern of RecurrentGemma.
    let place = usize::try_from(index).ok()?.checked_rem(list.len())?;
    let word = list[place].as_str()?;
    let row = WORDS.iter().find(|row| row.0.contains(&word))?;
    Some(match row.1 {
        Word::Full => attention(keys),
        Word::Sliding => sliding(keys).unwrap_or(Mixer::Full),
        Word::Linear if keys.find(&["linear_attn_config"]).is_some() => Mixer::Kimi,
        Word::Linear if keys.number(&["linear_num_value_heads"]).is_none() => Mixer::Lightning,
        Word::Linear => Mixer::Delta,
        Word::Mamba => Mixer::Mamba2,
        Word::Convolution => Mixer::Convolution,
        Word::Gated => Mixer::Gated,
        Word::Nothing => Mixer::Nothing,
    })
}

/// Attention to everything as this model has it.
fn attention(keys: &Keys<'_>) -> Mixer {
    match keys.number(&["kv_lora_rank"]) {
        Some(_) => Mixer::Latent,
        None => Mixer::Full,
    }
}

/// A window that is shorter than the context.
fn sliding(keys: &Keys<'_>) -> Option<Mixer> {
    let window = keys.tokens(&[
        "sliding_window",
        "sliding_window_size",
        "attention_chunk_size",
        "window_size",
        "attention_window_size",
    ])?;
    let context = keys.tokens(keys::CONTEXT).unwrap_or(u64::MAX);
    (window < context).then_some(Mixer::Sliding(window))
}

fn by_family(keys: &Keys<'_>, index: u64, depth: u64) -> Option<Mixer> {
    if let Some(ratio) = keys.at(&["compress_ratios"], index).and_then(Value::as_u64) {
        return Some(Mixer::Compressed(ratio));
    }
    if let Some(kimi) = keys.names_layer(&["kda_layers"], index + 1) {
        return Some(if kimi { Mixer::Kimi } else { attention(keys) });
    }
    if let Some(kind) = keys.at(&["attn_type_list"], index).and_then(Value::as_u64) {
        return Some(if kind == 0 { Mixer::Lightning } else { Mixer::Full });
    }
    if let Some(interval) = keys.number(&["full_attention_interval"]) {
        return Some(if (index + 1).is_multiple_of(interval) { Mixer::Full } else { Mixer::Delta });
    }
    if let Some(attending) = keys.names_layer(&["attn_layer_indices"], index) {
        return Some(if attending { Mixer::Full } else { Mixer::Mamba2 });
    }
    if let Some(period) = keys.number(&["attn_layer_period"]) {
        let offset = keys.written(&["attn_layer_offset"]).unwrap_or_default();
        return Some(if index % period == offset { Mixer::Full } else { Mixer::Mamba });
    }
    if keys.names_layer(&["cross_attention_layers"], index) == Some(true) {
        return Some(Mixer::Cross);
    }
    match keys.kind() {
        "mamba" | "falcon_mamba" => Some(Mixer::Mamba),
        "mamba2" => Some(Mixer::Mamba2),
        "falcon_h1" => Some(Mixer::Parallel),
        "bert" | "modernbert" | "roberta" | "xlm-roberta" => Some(Mixer::Encoder),
        "nemotron-nas" => pruned(keys, index),
        "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" | "qwen2_vl" | "qwen2_5_vl" => {
            let first = keys.number(&["max_window_layers"]).unwrap_or(depth);
            let slides = keys.is_on("use_sliding_window") && index >= first;
            Some(if slides { sliding(keys)? } else { Mixer::Full })
        }
        _ => None,
    }
}

fn pruned(keys: &Keys<'_>, index: u64) -> Option<Mixer> {
    let block = keys.at(&["block_configs"], index)?.get("attention")?;
    let is = |key: &str| block.get(key).and_then(Value::as_bool) == Some(true);
    Some(if is("no_op") || is("replace_with_linear") { Mixer::Nothing } else { Mixer::Full })
}

/// Attention to everything, or to a window where the pattern says so.
fn attends(keys: &Keys<'_>, index: u64) -> Mixer {
    let all = attention(keys);
    if keys.flag("use_sliding_window") == Some(false) || all == Mixer::Latent {
        return all;
    }
    let Some(sliding) = sliding(keys) else { return all };
    if slides(keys, index) { sliding } else { all }
}

fn slides(keys: &Keys<'_>, index: u64) -> bool {
    if let Some(flag) = keys.at(&["hybrid_layer_pattern", "no_rope_layers"], index) {
        return flag.as_u64() == Some(1) || flag.as_bool() == Some(true);
    }
    let names = ["sliding_window_pattern", "_sliding_window_pattern", "layer_switch"];
    if let Some(letters) = keys.text(&names).map(str::as_bytes).filter(|text| !text.is_empty()) {
        return letters[index as usize % letters.len()] == b'L';
    }
    let family = keys.family().pattern.or(keys.kind().starts_with("llama4").then_some(4));
    match keys.number(&names).or(family) {
        Some(pattern) => !(index + 1).is_multiple_of(pattern),
        None => true,
    }
}
