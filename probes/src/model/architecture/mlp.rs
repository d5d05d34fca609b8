//! Dense networks and experts.

use serde_json::Value;

use super::super::shape::{Mlp, WeightRole};
use super::keys::{self, Keys};
use super::part::Parts;
use super::schedule::{self, Single};

const EXPERTS: &[&str] = &[
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_num_experts",
    "num_routed_experts",
];
const ACTIVE: &[&str] = &[
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "top_k_experts",
    "moe_top_k",
    "moe_topk",
    "moe_k",
];
const EXPERT_WIDTH: &[&str] =
    &["moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"];
const SHARED_WIDTH: &[&str] = &[
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
];
const SHARED: &[&str] =
    &["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"];
const DENSE_WIDTH: &[&str] = &[
    "dense_intermediate_size",
    "intermediate_size_mlp",
    "intermediate_size",
    "ffn_hidden_size",
    "ff_intermediate_size",
    "ffn_dim",
    "n_inner",
    "block_ff_dim",
];

/// Lists the matrices of a layer's network.
pub(super) fn layer(keys: &Keys<'_>, index: u64, parts: &mut Parts) -> Option<Mlp> {
    let name = format!("model.layers.{index}.mlp");
    match schedule::single(keys, index) {
        Some(Single::Dense) => return dense(keys, index, &name, parts),
        Some(Single::Experts) => return experts(keys, &name, parts),
        Some(Single::Mamba | Single::Attention) => return Some(Mlp::Nothing),
        None => {}
    }
    if ["mamba", "mamba2", "falcon_mamba"].contains(&keys.kind()) {
        return Some(Mlp::Nothing);
    }
    if !has_experts(keys, index) {
        return dense(keys, index, &name, parts);
    }
    let both = keys.is_on("enable_moe_block");
    let Mlp::Experts { routed, active, intermediate, shared } = experts(keys, &name, parts)? else {
        return None;
    };
    // Gemma 4 runs a dense network beside the experts.
    let beside = if both { dense(keys, index, &name, parts)? } else { Mlp::Nothing };
    let width = if let Mlp::Dense { intermediate } = beside { intermediate } else { 0 };
    Some(Mlp::Experts { routed, active, intermediate, shared: shared + width })
}

/// The network of a layer that predicts further tokens: that of the last layer.
pub(super) fn draft(
    keys: &Keys<'_>,
    index: u64,
    depth: u64,
    is_dense: bool,
    parts: &mut Parts,
) -> Option<Mlp> {
    let name = format!("model.layers.{index}.mlp");
    let routed = !is_dense && keys.number(EXPERTS).is_some_and(|count| count > 1);
    let last = depth.checked_sub(1)?;
    if routed && (schedule::single(keys, last).is_some() || has_experts(keys, last)) {
        return experts(keys, &name, parts);
    }
    dense(keys, last, &name, parts)
}

/// Whether a layer has experts: every family has another way to say it.
fn has_experts(keys: &Keys<'_>, index: u64) -> bool {
    if keys.number(EXPERTS).is_none_or(|count| count < 2) {
        return false;
    }
    if let Some(one) = keys.at(&["moe_layer_freq"], index) {
        return one.as_u64() != Some(0);
    }
    if let Some(word) = keys.at(&["mlp_layer_types"], index).and_then(Value::as_str) {
        return word == "sparse";
    }
    if let Some(list) = keys.text(&["moe_layers_enum"]) {
        return list.split(',').any(|one| one.trim().parse() == Ok(index));
    }
    if let Some(named) = keys.names_layer(&["moe_layers"], index) {
        return named;
    }
    if keys.names_layer(&["mlp_only_layers"], index) == Some(true) {
        return false;
    }
    let first = ["first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"];
    if keys.number(&first).is_some_and(|first| index < first) {
        return false;
    }
    let last = keys.number(&["moe_layer_end_index"]);
    if last.is_some_and(|last| index > last) {
        return false;
    }
    if let Some(period) = keys.number(&["expert_layer_period"]) {
        return index % period == keys.written(&["expert_layer_offset"]).unwrap_or_default();
    }
    let every =
        keys.number(&["decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"]);
    if let Some(every) = every {
        return (index + 1).is_multiple_of(every);
    }
    keys.number(&["moe_layer_freq"]).is_none_or(|every| index.is_multiple_of(every))
}

fn experts(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<Mlp> {
    let hidden = keys.number(keys::WIDTH)?;
    let (routed, active) = (keys.number(EXPERTS)?, keys.number_at(ACTIVE, 0)?);
    let fallback = || keys.number_at(&["intermediate_size", "ffn_hidden_size"], 0);
    let intermediate = keys.number_at(EXPERT_WIDTH, 0).or_else(fallback)?;
    let gated = keys.family().gated;
    // Experts of a few models work on a narrower stream.
    let narrow = keys.number(&["moe_latent_size", "routed_expert_hidden_size"]);
    let inner = narrow.unwrap_or(hidden);
    if narrow.is_some() {
        parts.linear(WeightRole::Mlp, format!("{name}.latent_in"), inner, hidden);
        parts.linear(WeightRole::Mlp, format!("{name}.latent_out"), hidden, inner);
    }
    let each = format!("{name}.experts.0");
    if gated {
        parts.experts(format!("{each}.gate_proj"), [intermediate, inner, routed]);
    }
    parts.experts(format!("{each}.up_proj"), [intermediate, inner, routed]);
    parts.experts(format!("{each}.down_proj"), [inner, intermediate, routed]);
    parts.small(format!("{name}.gate"), routed * hidden);
    if keys.kind() == "gpt_oss" {
        parts.small(format!("{name}.experts.bias"), routed * (2 * intermediate + hidden));
    }
    let shared = shared_width(keys, intermediate);
    network(&format!("{name}.shared_experts"), gated, hidden, shared, parts);
    Some(Mlp::Experts { routed, active, intermediate, shared })
}

/// Width of what serves every token beside the experts.
fn shared_width(keys: &Keys<'_>, each: u64) -> u64 {
    if ["llama4", "llama4_text"].contains(&keys.kind()) {
        return each;
    }
    if let Some(width) = keys.written(SHARED_WIDTH) {
        return width;
    }
    keys.number_at(SHARED, 0).map_or(0, |count| count.saturating_mul(each))
}

fn dense(keys: &Keys<'_>, index: u64, name: &str, parts: &mut Parts) -> Option<Mlp> {
    let hidden = keys.number(keys::WIDTH)?;
    let mut intermediate = dense_width(keys, index, hidden)?;
    // Layers of Gemma 4 that share keys and values get a network twice as wide.
    if keys.is_on("use_double_wide_mlp") && shares(keys, index) {
        intermediate *= 2;
    }
    if intermediate == 0 {
        return Some(Mlp::Nothing);
    }
    network(name, keys.family().gated, hidden, intermediate, parts);
    Some(Mlp::Dense { intermediate })
}

fn shares(keys: &Keys<'_>, index: u64) -> bool {
    let last = keys.number(&["num_kv_shared_layers"]).zip(keys.depth());
    last.is_some_and(|(last, depth)| index >= depth.saturating_sub(last))
}

fn dense_width(keys: &Keys<'_>, index: u64, hidden: u64) -> Option<u64> {
    if let Some(block) = keys.at(&["block_configs"], index) {
        return pruned_width(block.get("ffn")?, hidden);
    }
    // Hybrids of Granite name the width of their only network after what it is beside experts.
    let beside =
        || keys.number(&["shared_intermediate_size"]).filter(|_| keys.number(EXPERTS).is_none());
    let width = beside().or_else(|| keys.number_at(DENSE_WIDTH, index));
    match keys.kind() {
        "qwen" => width.map(|both| both / 2),
        "lfm2" | "lfm2_moe" if keys.flag("block_auto_adjust_ff_dim") == Some(true) => {
            let multiple = keys.number(&["block_multiple_of"]).unwrap_or(256);
            let scale = keys.real(&["block_ffn_dim_multiplier"]).unwrap_or(1.0);
            let adjusted = (scale * (2 * width? / 3) as f64) as u64;
            Some(adjusted.div_ceil(multiple) * multiple)
        }
        "mpt" => Some(keys.number(&["expansion_ratio"]).unwrap_or(4) * hidden),
        _ => width.or(Some(4 * hidden)),
    }
}

/// Width of a network that pruning left: a share of 2/3 of the width, as multiples of 256.
fn pruned_width(ffn: &Value, hidden: u64) -> Option<u64> {
    let is = |key: &str| ffn.get(key).and_then(Value::as_bool) == Some(true);
    if is("no_op") || is("replace_with_linear") {
        return Some(0);
    }
    let share = ffn.get("ffn_mult")?.as_f64().filter(|share| (0.0..1000.0).contains(share))?;
    let width = (2.0 * share * hidden as f64 / 3.0) as u64;
    Some(width.div_ceil(256) * 256)
}

fn network(name: &str, gated: bool, hidden: u64, width: u64, parts: &mut Parts) {
    if gated {
        parts.linear(WeightRole::Mlp, format!("{name}.gate_proj"), width, hidden);
    }
    parts.linear(WeightRole::Mlp, format!("{name}.up_proj"), width, hidden);
    parts.linear(WeightRole::Mlp, format!("{name}.down_proj"), hidden, width);
}
