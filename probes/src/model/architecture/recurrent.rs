//! Layers that keep a state of constant size instead of every token.

use super::super::shape::{Attention, WeightRole};
use super::keys::{self, Keys};
use super::part::Parts;
use super::schedule::Mixer;

/// Lists the matrices of a recurrent layer.
pub(super) fn layer(
    keys: &Keys<'_>,
    mixer: Mixer,
    index: u64,
    parts: &mut Parts,
) -> Option<Attention> {
    let name = |part: &str| format!("model.layers.{index}.{part}");
    let state = match mixer {
        Mixer::Delta => delta(keys, &name("linear_attn"), parts)?,
        Mixer::Kimi => kimi(keys, &name("self_attn"), parts)?,
        Mixer::Lightning => lightning(keys, &name("self_attn"), parts)?,
        Mixer::Mamba => mamba(keys, &name("mamba"), parts)?,
        Mixer::Mamba2 => mamba2(keys, &name("mixer"), parts)?,
        Mixer::Convolution => convolution(keys, &name("conv"), parts)?,
        _ => gated(keys, &name("temporal_block"), parts)?,
    };
    Some(Attention::Recurrent { state })
}

fn linear(parts: &mut Parts, name: &str, part: &str, out: u64, inner: u64) {
    parts.linear(WeightRole::Attention, format!("{name}.{part}"), out, inner);
}

fn delta(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let (key_heads, value_heads) =
        (keys.number(&["linear_num_key_heads"])?, keys.number(&["linear_num_value_heads"])?);
    let (key, value) =
        (keys.number(&["linear_key_head_dim"])?, keys.number(&["linear_value_head_dim"])?);
    let kernel = keys.number(&["linear_conv_kernel_dim"]).unwrap_or(4);
    let (all_keys, all_values) = (key_heads * key, value_heads * value);
    let convolved = 2 * all_keys + all_values;
    linear(parts, name, "in_proj_qkvz", convolved + all_values, hidden);
    linear(parts, name, "in_proj_ba", 2 * value_heads, hidden);
    linear(parts, name, "out_proj", hidden, all_values);
    parts.small(format!("{name}.conv1d"), convolved * kernel);
    Some(value_heads * key * value + convolved * (kernel - 1))
}

fn kimi(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let own = keys.find(&["linear_attn_config"])?;
    let number = |key: &str| own.get(key)?.as_u64().filter(|number| (1..1 << 20).contains(number));
    let (heads, size) = (number("num_heads")?, number("head_dim")?);
    let kernel = number("short_conv_kernel_size").unwrap_or(4);
    let width = heads * size;
    for part in ["q_proj", "k_proj", "v_proj"] {
        linear(parts, name, part, width, hidden);
        parts.small(format!("{name}.{part}_conv1d"), width * kernel);
    }
    linear(parts, name, "o_proj", hidden, width);
    linear(parts, name, "b_proj", heads, hidden);
    linear(parts, name, "f_a_proj", size, hidden);
    linear(parts, name, "f_b_proj", width, size);
    if own.get("use_full_rank_gate").and_then(serde_json::Value::as_bool) == Some(true) {
        linear(parts, name, "g_proj", width, hidden);
    } else {
        linear(parts, name, "g_a_proj", size, hidden);
        linear(parts, name, "g_b_proj", width, size);
    }
    Some(heads * size * size + 3 * width * (kernel - 1))
}

fn lightning(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let heads = keys.number(keys::HEADS)?;
    let size = keys.number(keys::HEAD_DIM).or_else(|| hidden.checked_div(heads))?;
    let width = heads * size;
    linear(parts, name, "qkv_proj", 3 * width, hidden);
    linear(parts, name, "output_gate", width, hidden);
    linear(parts, name, "out_proj", hidden, width);
    Some(width * size)
}

fn mamba(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let expand = keys.number(&["mamba_expand", "expand"]).unwrap_or(2);
    let own = keys.number(&["intermediate_size"]).filter(|_| keys.number(keys::HEADS).is_none());
    let inner = own.unwrap_or(expand * hidden);
    let state = keys.number(&["mamba_d_state", "state_size"]).unwrap_or(16);
    let kernel = keys.number(&["mamba_d_conv", "conv_kernel"]).unwrap_or(4);
    let rank = keys.number(&["mamba_dt_rank", "time_step_rank"]).unwrap_or(hidden.div_ceil(16));
    linear(parts, name, "in_proj", 2 * inner, hidden);
    linear(parts, name, "x_proj", rank + 2 * state, inner);
    linear(parts, name, "dt_proj", inner, rank);
    linear(parts, name, "out_proj", hidden, inner);
    parts.small(format!("{name}.conv1d"), inner * (kernel + 1 + state));
    Some(inner * state + inner * (kernel - 1))
}

pub(super) fn mamba2(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let expand = keys.number(&["mamba_expand", "expand"]).unwrap_or(2);
    let heads = keys.number(&["mamba_n_heads", "mamba_num_heads", "num_heads"])?;
    let size = keys.number(&["mamba_d_head", "mamba_head_dim", "head_dim"]);
    let inner = keys.number(&["mamba_d_ssm"]);
    let inner = inner.or_else(|| Some(heads * size?)).unwrap_or(expand * hidden);
    let state = keys.number(&["mamba_d_state", "ssm_state_size", "state_size"]).unwrap_or(128);
    let groups = keys.number(&["mamba_n_groups", "n_groups"]).unwrap_or(1);
    let kernel = keys.number(&["mamba_d_conv", "conv_kernel"]).unwrap_or(4);
    let convolved = inner + 2 * groups * state;
    linear(parts, name, "in_proj", inner + convolved + heads, hidden);
    linear(parts, name, "out_proj", hidden, inner);
    parts.small(format!("{name}.conv1d"), convolved * (kernel + 1) + inner + 3 * heads);
    Some(inner * state + convolved * (kernel - 1))
}

fn convolution(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let kernel = keys.number(&["conv_L_cache"]).unwrap_or(3);
    linear(parts, name, "in_proj", 3 * hidden, hidden);
    linear(parts, name, "out_proj", hidden, hidden);
    parts.small(format!("{name}.conv"), hidden * kernel);
    Some(hidden * (kernel - 1))
}

fn gated(keys: &Keys<'_>, name: &str, parts: &mut Parts) -> Option<u64> {
    let hidden = keys.number(keys::WIDTH)?;
    let heads = keys.number(keys::HEADS)?;
    let width = keys.number(&["lru_width"]).unwrap_or(hidden);
    linear(parts, name, "linear_x", width, hidden);
    linear(parts, name, "linear_y", width, hidden);
    linear(parts, name, "linear_out", hidden, width);
    linear(parts, name, "rg_lru", 2 * width, width.checked_div(heads)?);
    parts.small(format!("{name}.conv_1d"), width * 5);
    Some(width * 4)
}
