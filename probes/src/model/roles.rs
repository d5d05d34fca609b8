//! What a tensor of a checkpoint is for, by its name and type.

use super::shape::WeightRole;

/// Beginnings of what is no part of the text model, behind what wrappers put in front.
const TOWERS: &[&str] = &[
    "visual",
    "vision",
    "audio",
    "image",
    "mm_",
    "multi_modal",
    "mlp1",
    "embed_vision",
    "embed_audio",
    "patch_merger",
    "connector",
    "aligner",
    "gen_",
    "vit",
    "sound",
    "speech",
];
const WRAPPERS: &[&str] = &[
    "model.",
    "language_model.",
    "thinker.",
    "backbone.",
    "transformer.",
    "base_model.",
    "text_model.",
    "llm.",
];
const EMBEDDINGS: &[&str] = &[
    "embed_tokens",
    "wte",
    "word_embeddings",
    "tok_embeddings",
    "embed_in",
    "embeddings",
    "embedding",
    "embed",
    "embed_tokens_per_layer",
    "wpe",
    "embed_positions",
    "tokens_embed",
];
const HEADS: &[&str] = &["lm_head", "output", "output_layer", "embed_out", "head"];
/// Words in names of what mixes tokens.
const MIXERS: &[&str] = &["attn", "attention", "mixer", "mamba", "conv", "temporal_block", "ssm"];
const DRAFTS: &[&str] = &["mtp", "nextn", "eh_proj", "draft"];

/// Last words of tensors that only help to read another: scales, zero points, orders.
const COMPANIONS: &[&str] = &[
    "scales",
    "qzeros",
    "g_idx",
    "weight_scale",
    "weight_scale_inv",
    "weight_scale_2",
    "weight_global_scale",
    "input_scale",
    "input_global_scale",
    "output_scale",
    "k_scale",
    "v_scale",
    "weight_zero_point",
    "weight_shape",
    "weight_g_idx",
    "SCB",
    "weight_format",
    "absmax",
    "quant_map",
    "nested_absmax",
    "nested_quant_map",
    "q_scale",
    "q_scale_max",
    "q_groups",
    "q_group_map",
    "q_perm",
    "q_invperm",
    "suh",
    "svh",
    "su",
    "sv",
    "mcg",
    "mul1",
    "scale",
    "zeros",
];

/// How the values of a tensor are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// As its shape says.
    Plain,
    /// Several in each 32-bit word, by the format's bits.
    Words,
    /// Two in each byte.
    Pairs,
    /// 256 in each tile.
    Tiles,
    /// It holds none.
    Nothing,
}

/// A tensor by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) role: WeightRole,
    /// The layer it belongs to.
    pub(super) layer: Option<u32>,
    pub(super) counted: Counted,
}

impl Meaning {
    /// Reads a name, a type and the number of dimensions.
    pub(super) fn of(name: &str, dtype: &str, dimensions: usize) -> Self {
        let counted = counted(name, dtype);
        let layer = layer(name);
        let vector = dimensions < 2 && counted == Counted::Plain;
        Self { role: role(name, layer, vector), layer, counted }
    }
}

fn counted(name: &str, dtype: &str) -> Counted {
    let last = name.rsplit('.').next().unwrap_or_default();
    match last {
        "qweight" | "weight_packed" | "q_weight" if dtype == "I32" => Counted::Words,
        "trellis" => Counted::Tiles,
        "weight_packed" | "weight" if dtype == "U8" => Counted::Pairs,
        _ if last.ends_with("_blocks") && dtype == "U8" => Counted::Pairs,
        _ if COMPANIONS.contains(&last) || last.ends_with("_scales") => Counted::Nothing,
        _ if last.starts_with("quant_state") || last.contains("bitsandbytes") => Counted::Nothing,
        _ if name.contains(".weight.") => Counted::Nothing,
        _ => Counted::Plain,
    }
}

/// The first number between dots behind a word for layers.
fn layer(name: &str) -> Option<u32> {
    let mut words = name.split('.').peekable();
    while let Some(word) = words.next() {
        if ["layers", "h", "blocks", "layer", "block"].contains(&word) {
            return words.peek()?.parse().ok();
        }
    }
    None
}

fn role(name: &str, layer: Option<u32>, vector: bool) -> WeightRole {
    let mut rest = name;
    while let Some(shorter) = WRAPPERS.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = shorter;
    }
    let is = |words: &[&str]| rest.split('.').any(|word| words.contains(&word));
    let has = |words: &[&str]| words.iter().any(|word| rest.contains(word));
    match () {
        () if TOWERS.iter().any(|start| rest.starts_with(start)) => WeightRole::Tower,
        () if has(DRAFTS) => WeightRole::Draft,
        () if layer.is_none() && is(EMBEDDINGS) => WeightRole::Embedding,
        () if layer.is_none() && is(HEADS) => WeightRole::Head,
        () if has(&["shared_expert_gate", "router", "norm"]) => WeightRole::Small,
        () if has(&["shared_expert", "share_expert", "shared_mlp"]) => WeightRole::Mlp,
        () if has(&["experts", ".moe."]) && !vector => WeightRole::Experts,
        () if vector || is(&["gate", "wg"]) => WeightRole::Small,
        () if has(&["mixer.up_proj", "mixer.down_proj", "mixer.gate_proj"]) => WeightRole::Mlp,
        () if has(MIXERS) => WeightRole::Attention,
        () if layer.is_some() => WeightRole::Mlp,
        () => WeightRole::Small,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as the checkpoints of these models have them.
    #[test]
    fn names_tell_roles() {
        use WeightRole::*;
        for (name, role) in [
            ("model.embed_tokens.weight", Embedding),
            ("lm_head.weight", Head),
            ("language_model.lm_head.weight", Head),
            ("output.weight", Head),
            ("transformer.wte.weight", Embedding),
            ("transformer.h.0.attn.c_attn.weight", Attention),
            ("transformer.h.0.mlp.c_fc.weight", Mlp),
            ("model.layers.3.self_attn.q_proj.qweight", Attention),
            ("model.layers.3.self_attn.q_norm.weight", Small),
            ("model.layers.3.mlp.gate.weight", Small),
            ("model.layers.3.mlp.gate_proj.weight", Mlp),
            ("model.layers.3.mlp.experts.17.down_proj.weight", Experts),
            ("model.layers.3.mlp.shared_experts.down_proj.weight", Mlp),
            ("model.layers.3.block_sparse_moe.experts.1.w1.weight", Experts),
            ("model.layers.3.block_sparse_moe.gate.weight", Small),
            ("model.layers.0.linear_attn.in_proj_qkvz.weight", Attention),
            ("backbone.layers.1.mixer.in_proj.weight", Attention),
            ("backbone.layers.1.mixer.up_proj.weight", Mlp),
            ("model.visual.blocks.0.attn.qkv.weight", Tower),
            ("vision_tower.encoder.layers.0.self_attn.q_proj.weight", Tower),
            ("multi_modal_projector.linear_1.weight", Tower),
            ("mtp.layers.0.mlp.experts.3.up_proj.weight", Draft),
        ] {
            assert_eq!(Meaning::of(name, "BF16", 2).role, role, "{name}");
        }
    }

    #[test]
    fn what_helps_to_read_a_tensor_holds_no_values() {
        for (name, dtype, counted) in [
            ("model.layers.0.mlp.up_proj.qweight", "I32", Counted::Words),
            ("model.layers.0.mlp.up_proj.qzeros", "I32", Counted::Nothing),
            ("model.layers.0.mlp.up_proj.weight_packed", "U8", Counted::Pairs),
            ("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", Counted::Pairs),
            ("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", Counted::Nothing),
            ("model.layers.0.mlp.up_proj.weight.absmax", "F32", Counted::Nothing),
            ("model.layers.0.mlp.up_proj.weight", "F8_E4M3", Counted::Plain),
            ("model.layers.0.mlp.up_proj.weight_scale_inv", "F32", Counted::Nothing),
        ] {
            assert_eq!(Meaning::of(name, dtype, 2).counted, counted, "{name}");
        }
    }
}
