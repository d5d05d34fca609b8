//! Attention with heads, compressed attention, and what stands in for them: matrices and what is kept of each token.

use super::super::shape::{Attention, WeightRole};
use super::families;
use super::keys::{self, Keys};
use super::part::Parts;
use super::recurrent;
use super::schedule::Mixer;

/// Lists the matrices of a layer's mixer; `None` where the configuration does not say its dimensions.
pub(super) fn layer(
    keys: &Keys<'_>,
    mixer: Mixer,
    index: u64,
    depth: u64,
    parts: &mut Parts,
) -> Option<Attention> {
    let name = format!("model.layers.{index}.self_attn");
    match mixer {
        Mixer::Full => heads(keys, None, index, depth, &name, parts),
        Mixer::Sliding(window) => heads(keys, Some(window), index, depth, &name, parts),
        Mixer::Cross | Mixer::Encoder => {
            heads(keys, None, index, depth, &name, parts).map(|_| Attention::Nothing)
        }
        Mixer::Parallel => {
            recurrent::mamba2(keys, &format!("model.layers.{index}.mamba"), parts)?;
            heads(keys, None, index, depth, &name, parts)
        }
        Mixer::Latent => latent(keys, &name, parts),
        Mixer::Compressed(ratio) => compressed(keys, ratio, &name, parts),
        Mixer::Nothing => Some(Attention::Nothing),
        other => recurrent::layer(keys, other, index, parts),
    }
}

/// Dimensions of attention with heads.
struct Heads {
    queries: u64,
    kv: u64,
    key: u64,
    value: u64,
}

impl Heads {
    fn of(keys: &Keys<'_>, slides: bool, index: u64) -> Option<Self> {
        let own = |name, names: &[&str]| match slides {
            true => keys.number(&[name]).or_else(|| keys.number_at(names, index)),
            false => keys.number_at(names, index),
        };
        let queries = own("swa_num_attention_heads", keys::HEADS)?;
        let width = || keys.number(keys::WIDTH)?.checked_div(queries);
        let key = own("swa_head_dim", keys::HEAD_DIM).or_else(width)?;
        let value = own("swa_v_head_dim", &["v_head_dim"]).unwrap_or(key);
        let kv = own("swa_num_key_value_heads", keys::KV_HEADS);
        let mut heads = Self { queries, kv: kv_heads(keys, kv, queries, index), key, value };
        if let Some(size) = keys.number(&["global_head_dim"]).filter(|_| !slides) {
            heads.key = size;
            heads.value = size;
            heads.kv = keys.number(&["num_global_key_value_heads"]).unwrap_or(heads.kv);
        }
        Some(heads)
    }
}

/// Heads of keys and values: written, one for all, one a group, or as many as queries.
fn kv_heads(keys: &Keys<'_>, written: Option<u64>, queries: u64, index: u64) -> u64 {
    if keys.is_on("multi_query_attention") {
        return keys.number(&["multi_query_group_num"]).unwrap_or(1);
    }
    if keys.is_on("multi_query") && !keys.is_on("new_decoder_architecture") {
        return 1;
    }
    let block = keys.at(&["block_configs"], index);
    let group = block.and_then(|block| block.pointer("/attention/n_heads_in_group")?.as_u64());
    if let Some(kv) = group.and_then(|group| queries.checked_div(group)) {
        return kv;
    }
    written.unwrap_or(queries)
}

fn heads(
    keys: &Keys<'_>,
    window: Option<u64>,
    index: u64,
    depth: u64,
    name: &str,
    parts: &mut Parts,
) -> Option<Attention> {
    let hidden = keys.number(keys::WIDTH)?;
    let Heads { queries, kv, key, value } = Heads::of(keys, window.is_some(), index)?;
    let gate =
        if keys.flag("attn_output_gate").unwrap_or(keys.family().output_gate) { 2 } else { 1 };
    let mut add = parts.under(WeightRole::Attention, name);
    add("q_proj", gate * queries * key, hidden);
    let shared = keys
        .number(&["num_kv_shared_layers"])
        .is_some_and(|last| index >= depth.saturating_sub(last));
    // Gemma 3n saves keys and values of layers that share those of another.
    if !shared || keys.number(&["altup_num_inputs"]).is_some() {
        add("k_proj", kv * key, hidden);
        let one = window.is_none() && keys.is_on("attention_k_eq_v");
        add("v_proj", if one { 0 } else { kv * value }, hidden);
    }
    add("o_proj", hidden, queries * value);
    if let Some(rank) = keys.number(&["laurel_rank"]) {
        add("laurel", 2 * rank, hidden);
    }
    if shared && depth != u64::MAX {
        return Some(Attention::Nothing);
    }
    Some(Attention::Heads { heads: queries, kv_heads: kv, head_dim: key, value_dim: value, window })
}

/// Size of the part of a head that is rotated by a place in time, height and width; 0 where a place is one number.
pub(super) fn by_axes(keys: &Keys<'_>) -> u64 {
    let scaling = keys.find(&["rope_parameters", "rope_scaling"]);
    let is_listed = scaling.is_some_and(|scaling| scaling.get("mrope_section").is_some());
    if !is_listed && !families::rotates_by_axes(keys.kind()) {
        return 0;
    }
    let share = scaling.and_then(|scaling| scaling.get("partial_rotary_factor")?.as_f64());
    let share = share.or_else(|| keys.real(&["partial_rotary_factor"]));
    let share = share.unwrap_or(keys.family().rotated).clamp(0.0, 1.0);
    let whole = Heads::of(keys, false, 0).map_or(0, |heads| heads.key);
    (whole as f64 * share) as u64
}

/// Multi-head latent attention, with an indexer where attention is sparse.
fn latent(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<Attention> {
    let hidden = keys.number(keys::WIDTH)?;
    let queries = keys.number(keys::HEADS)?;
    let rank = keys.number(&["kv_lora_rank"])?;
    let rope = keys.number(&["qk_rope_head_dim"])?;
    let plain = keys.number(&["qk_nope_head_dim"])?;
    let value = keys.number(&["v_head_dim"]).or_else(|| hidden.checked_div(queries))?;
    let compressed = keys.number(&["q_lora_rank"]);
    let mut add = parts.under(WeightRole::Attention, name);
    match compressed {
        Some(width) => {
            add("q_a_proj", width, hidden);
            add("q_b_proj", queries * (plain + rope), width);
        }
        None => add("q_proj", queries * (plain + rope), hidden),
    }
    add("kv_a_proj_with_mqa", rank + rope, hidden);
    add("kv_b_proj", queries * (plain + value), rank);
    add("o_proj", hidden, queries * value);
    if keys.is_on("mla_use_output_gate") {
        add("g_proj", queries * value, hidden);
    }
    let index_dim = indexer(keys, hidden, compressed, &mut add);
    let key_dim = plain + rope;
    if keeps_heads(keys) {
        // vLLM pads values to the size of keys (`minicpm3.py`), llama.cpp does not.
        let padded = if keys.kind() == "minicpm3" { key_dim } else { value };
        let (heads, kv_heads, value_dim) = (queries, queries, value.max(padded));
        return Some(Attention::Heads {
            heads,
            kv_heads,
            head_dim: key_dim,
            value_dim,
            window: None,
        });
    }
    Some(Attention::Latent {
        heads: queries,
        query_rank: compressed,
        rank,
        rope_dim: rope,
        key_dim,
        value_dim: value,
        index_dim,
        in_flight: 0,
        unsure: keys.text(&[keys::COMPRESSED_CACHE]) == Some(keys::EITHER),
    })
}

/// Whether every head's keys and values are kept: nobody caches MiniCPM3 compressed, nor llama.cpp a file made before it could
/// (`deepseek2.cpp:is_mla`).
fn keeps_heads(keys: &Keys<'_>) -> bool {
    keys.kind() == "minicpm3" || keys.flag(keys::COMPRESSED_CACHE) == Some(false)
}

/// Adds an indexer's matrices, and says how long its keys are.
fn indexer(
    keys: &Keys<'_>,
    hidden: u64,
    width: Option<u64>,
    add: &mut impl FnMut(&str, u64, u64),
) -> u64 {
    let Some((heads, size)) = keys.number(&["index_n_heads"]).zip(keys.number(&["index_head_dim"]))
    else {
        return 0;
    };
    add("indexer.wq_b", heads * size, width.unwrap_or(hidden));
    add("indexer.wk", size, hidden);
    add("indexer.weights_proj", heads, hidden);
    size
}

/// DeepSeek V4: one head of keys that are their own values, a window of them, and the rest compressed along the tokens.
fn compressed(keys: &Keys<'_>, ratio: u64, name: &str, parts: &mut Parts) -> Option<Attention> {
    let hidden = keys.number(keys::WIDTH)?;
    let queries = keys.number(keys::HEADS)?;
    let size = keys.number(keys::HEAD_DIM)?;
    let width = keys.number(&["q_lora_rank"])?;
    let (groups, rank) = (keys.number(&["o_groups"])?, keys.number(&["o_lora_rank"])?);
    let mut add = parts.under(WeightRole::Attention, name);
    add("wq_a", width, hidden);
    add("wq_b", queries * size, width);
    add("wkv", size, hidden);
    add("wo_a", rank, queries * size);
    add("wo_b", hidden, groups * rank);
    // Windows of neighbours overlap where the factor is small.
    let overlap = if ratio == 4 { 2 } else { 1 };
    if ratio > 0 {
        add("compressor", 2 * overlap * size, hidden);
    }
    let (mut in_flight, mut index_dim) = (2 * overlap * size, 0);
    if let Some(index_size) = keys.number(&["index_head_dim"]).filter(|_| ratio == 4) {
        in_flight += 2 * overlap * index_size;
        index_dim = index_size.div_ceil(ratio);
        let index_heads = keys.number(&["index_n_heads"])?;
        add("indexer.wq_b", index_heads * index_size, width);
        add("indexer.weights_proj", index_heads, hidden);
        add("indexer.compressor", 2 * overlap * index_size, hidden);
    }
    let rope = keys.number(&["qk_rope_head_dim"]).unwrap_or_default();
    Some(match ratio {
        0 => {
            let window = keys.tokens(&["sliding_window"]);
            Attention::Heads { heads: queries, kv_heads: 1, head_dim: size, value_dim: 0, window }
        }
        ratio => {
            let kept = size.div_ceil(ratio);
            let rope_dim = rope.div_ceil(ratio).min(kept);
            Attention::Latent {
                heads: queries,
                query_rank: Some(width),
                rank: kept - rope_dim,
                rope_dim,
                key_dim: size,
                value_dim: size,
                index_dim,
                in_flight,
                unsure: false,
            }
        }
    })
}
