//! Towers that see and hear: a transformer over patches or frames, and what joins it to the text.

use serde_json::Value;

use super::super::shape::WeightRole;
use super::keys::Keys;
use super::part::Parts;

const VISION: &[&str] = &["vision_config", "vision_encoder", "visual"];
const AUDIO: &[&str] = &["audio_config", "audio_encoder"];
const WIDTH: &[&str] = &["embed_dim", "vt_hidden_size", "hidden_size", "width", "d_model"];
const DEPTH: &[&str] =
    &["depth", "num_hidden_layers", "vt_num_hidden_layers", "layers", "encoder_layers"];
const INNER: &[&str] = &["intermediate_size", "vt_intermediate_size", "encoder_ffn_dim"];
/// Networks with a gate.
const GATED: &[&str] = &["qwen2_5_vl", "pixtral", "gemma4_vision", "dots_vit"];

/// Adds the towers of a configuration.
pub(super) fn towers(sections: &[&Value], keys: &Keys<'_>, hidden: u64, parts: &mut Parts) {
    let nested = |names: &'static [&str]| {
        sections.iter().find_map(|section| names.iter().find_map(|name| section.get(name)))
    };
    if let Some(vision) = nested(VISION) {
        tower(vision, "visual", parts, |width, parts| {
            join(sections, vision, keys, [width, hidden], parts);
        });
    }
    if let Some(audio) = nested(AUDIO) {
        tower(audio, "audio_tower", parts, |width, parts| {
            parts.linear(WeightRole::Tower, "audio_projector", hidden, width);
        });
    }
}

/// Layers of the text that the tower feeds beside its input.
pub(super) fn fed_layers(sections: &[&Value]) -> u64 {
    let vision =
        sections.iter().find_map(|section| VISION.iter().find_map(|name| section.get(name)));
    vision.map_or(0, |vision| deep(vision) as u64)
}

fn deep(vision: &Value) -> usize {
    let layers = vision.get("deepstack_visual_indexes").and_then(Value::as_array);
    layers.map_or(0, Vec::len).min(64)
}

fn number(section: &Value, names: &[&str]) -> Option<u64> {
    let numbers = names.iter().filter_map(|name| section.get(name)?.as_u64());
    numbers.into_iter().find(|number| (1..1 << 16).contains(number))
}

fn tower(config: &Value, name: &str, parts: &mut Parts, join: impl FnOnce(u64, &mut Parts)) {
    if let Some(depth) = number(config, &["conf_num_hidden_layers"]) {
        return conformer(config, depth, name, parts);
    }
    // Gemma 3n names an image model of another library instead of dimensions.
    if config.get("architecture").and_then(Value::as_str) == Some("mobilenetv5_300m_enc") {
        return parts.table(WeightRole::Tower, name, 1, 300_000_000);
    }
    // Where a tower says its own width apart, `hidden_size` is that of the text.
    let Some((width, depth)) = number(config, WIDTH).zip(number(config, DEPTH)) else { return };
    let ratio = config.get("mlp_ratio").and_then(Value::as_f64).unwrap_or(4.0).clamp(0.0, 64.0);
    let inner = number(config, INNER).unwrap_or((width as f64 * ratio) as u64);
    let kind = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let matrices =
        if GATED.contains(&kind) || config.get("fullatt_block_indexes").is_some() { 3 } else { 2 };
    let global = number(config, &["num_global_layers"]).unwrap_or_default();
    for index in 0..(depth + global).min(512) {
        let layer = format!("{name}.blocks.{index}");
        parts.linear(WeightRole::Tower, format!("{layer}.attn"), 4 * width, width);
        parts.linear(WeightRole::Tower, format!("{layer}.mlp"), matrices * inner, width);
    }
    let patch = number(config, &["patch_size"]).unwrap_or_default();
    let frames = number(config, &["temporal_patch_size"]).unwrap_or(1);
    parts.table(
        WeightRole::Tower,
        &format!("{name}.patch_embed"),
        width,
        3 * patch * patch * frames,
    );
    let side =
        number(config, &["image_size"]).unwrap_or_default().checked_div(patch).unwrap_or_default();
    let places = number(config, &["num_position_embeddings"]).unwrap_or(side * side);
    parts.table(WeightRole::Tower, &format!("{name}.position"), places, width);
    join(width, parts);
}

/// Layers of two networks, attention and a gated convolution: 24 squares of the width.
fn conformer(config: &Value, depth: u64, name: &str, parts: &mut Parts) {
    let Some(width) = number(config, &["hidden_size"]) else { return };
    for index in 0..depth.min(512) {
        parts.linear(WeightRole::Tower, format!("{name}.conformer.{index}"), 24 * width, width);
    }
}

/// What joins a vision tower to the text. Patches are merged first where the configuration says so.
fn join(
    sections: &[&Value],
    vision: &Value,
    keys: &Keys<'_>,
    [width, hidden]: [u64; 2],
    parts: &mut Parts,
) {
    let mut outer = std::iter::once(vision).chain(sections.iter().copied());
    let side = outer.find_map(|one| number(one, &["spatial_merge_size"]));
    let kernel = || vision.get("merge_kernel_size")?.get(0)?.as_u64().filter(|side| *side < 64);
    let shuffled = || {
        let ratio = sections
            .iter()
            .chain([&vision])
            .find_map(|one| one.get("downsample_ratio"))?
            .as_f64()?;
        (0.01..1.0).contains(&ratio).then(|| (1.0 / ratio) as u64)
    };
    let side = side.or_else(kernel).or_else(shuffled).unwrap_or(1);
    let merged = number(vision, &["vision_output_dim"]).unwrap_or(side * side * width);
    let mut add = parts.under(WeightRole::Tower, "visual");
    if keys.kind().starts_with("gemma") {
        return add("merger", hidden, width);
    }
    // Mistral 3 merges patches to one of the tower's width (`modeling_mistral3.py`).
    if side > 1 && vision.get("model_type").and_then(Value::as_str) == Some("pixtral") {
        add("patch_merger", width, merged);
        add("linear_1", hidden, width);
        return add("linear_2", hidden, hidden);
    }
    for _ in 0..=deep(vision) {
        let middle = if side > 1 { merged } else { hidden };
        add("merger.0", middle, merged);
        add("merger.2", hidden, middle);
    }
}
