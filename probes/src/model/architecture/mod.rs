//! Layers and matrices of a model, worked out from the keys of its configuration.
//!
//! A configuration says dimensions, not sizes. Which matrices follow from them is a property of the family, so each kind of layer has a
//! function that lists its own, under the names checkpoints give them: lists of layers that stay unquantised speak of those names. Tables
//! of sizes by model were rejected: they know no fine-tune.

mod attention;
mod families;
mod keys;
mod mlp;
mod part;
mod recurrent;
mod schedule;
mod tower;

use serde_json::Value;

use self::families::Draft;
use self::keys::Keys;
pub(super) use self::keys::{COMPRESSED_CACHE, EITHER};
pub(super) use self::part::Part;
use self::part::Parts;
use super::shape::{LayerRun, WeightRole};

/// The deepest models have some 130 layers.
const MOST_LAYERS: u64 = 256;

/// A model by its layers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Architecture {
    pub(super) hidden: u64,
    pub(super) vocab: u64,
    pub(super) max_context: Option<u64>,
    pub(super) tied_head: bool,
    pub(super) axes_dim: u64,
    pub(super) fed_layers: u64,
    pub(super) layers: Vec<LayerRun>,
    pub(super) parts: Vec<Part>,
}

impl Architecture {
    /// Reads a configuration; `None` where it does not say enough of an architecture of this kind.
    pub(super) fn of(sections: &[&Value]) -> Option<Self> {
        let keys = Keys::new(sections);
        let depth = keys.depth().filter(|depth| *depth <= MOST_LAYERS)?;
        let (hidden, vocab) = (keys.number(keys::WIDTH)?, keys.tokens(keys::VOCABULARY)?);
        if families::is_foreign(keys.kind()) {
            return None;
        }
        let tied_head =
            !has_head(&keys) || keys.flag("tie_word_embeddings").unwrap_or(keys.family().tied);
        let mut parts = Parts::default();
        let mut layers = Vec::new();
        for index in 0..depth {
            let mixer = schedule::mixer(&keys, index, depth);
            let layer = LayerRun {
                count: 1,
                attention: attention::layer(&keys, mixer, index, depth, &mut parts)?,
                mlp: mlp::layer(&keys, index, &mut parts)?,
            };
            parts.small(format!("model.layers.{index}.norms"), 2 * hidden);
            push(&mut layers, layer);
        }
        embeddings(&keys, hidden, vocab, tied_head, &mut parts);
        extras(&keys, hidden, depth, &mut parts);
        drafts(&keys, hidden, vocab, depth, &mut parts);
        tower::towers(sections, &keys, hidden, &mut parts);
        Some(Self {
            hidden,
            vocab,
            max_context: keys.tokens(keys::CONTEXT),
            tied_head,
            axes_dim: attention::by_axes(&keys),
            fed_layers: tower::fed_layers(sections),
            layers,
            parts: parts.into_inner(),
        })
    }

    /// Gives the model a head of its own.
    pub(super) fn untie(&mut self) {
        self.tied_head = false;
        let (role, name) = (WeightRole::Head, "lm_head".to_owned());
        let (rows, columns) = (self.vocab, self.hidden);
        self.parts.push(Part { role, name, rows, columns, count: 1, linear: true });
    }
}

/// Whether the model has an output head at all: embedding models and classifiers leave it out.
fn has_head(keys: &Keys<'_>) -> bool {
    let name = keys.list(&["architectures"]).and_then(|names| names.first()?.as_str());
    let name = name.unwrap_or_default();
    let bare = name.ends_with("Model") && !name.contains("Chat") && !name.contains("LMHead");
    !bare && !name.ends_with("ForSequenceClassification")
}

/// Adds a layer to the run it belongs to.
fn push(layers: &mut Vec<LayerRun>, layer: LayerRun) {
    match layers.last_mut() {
        Some(last) if (last.attention, last.mlp) == (layer.attention, layer.mlp) => last.count += 1,
        _ => layers.push(layer),
    }
}

fn embeddings(keys: &Keys<'_>, hidden: u64, vocab: u64, tied: bool, parts: &mut Parts) {
    let width = keys.number(&["word_embed_proj_dim"]).unwrap_or(hidden);
    parts.table(WeightRole::Embedding, "model.embed_tokens", vocab, width);
    if keys.family().positions {
        let places = keys.tokens(keys::CONTEXT).unwrap_or_default();
        parts.table(WeightRole::Embedding, "model.embed_positions", places, hidden);
    }
    if !tied {
        parts.linear(WeightRole::Head, "lm_head", vocab, width);
    }
    parts.small("model.norm".into(), hidden);
}

/// Tables and projections beside the layers: inputs of every layer of Gemma 3n and 4, the widened stream of Gemma 3n.
fn extras(keys: &Keys<'_>, hidden: u64, depth: u64, parts: &mut Parts) {
    if let Some(each) = keys.number(&["hidden_size_per_layer_input"]) {
        let vocab = keys.tokens(&["vocab_size_per_layer_input"]).unwrap_or_default();
        let all = depth * each;
        parts.table(WeightRole::Embedding, "model.embed_tokens_per_layer", vocab, all);
        parts.table(WeightRole::Embedding, "model.per_layer_model_projection", all, hidden);
        for index in 0..depth {
            let layer = format!("model.layers.{index}");
            parts.linear(WeightRole::Mlp, format!("{layer}.per_layer_input_gate"), each, hidden);
            parts.linear(WeightRole::Mlp, format!("{layer}.per_layer_projection"), hidden, each);
        }
    }
    if let Some(streams) = keys.number(&["altup_num_inputs"]) {
        let wide = 2 * streams.saturating_sub(1);
        parts.table(WeightRole::Mlp, "model.altup_projections", wide * hidden, hidden);
    }
}

/// Layers that predict further tokens: each the last layer once more, with a projection of what it continues.
fn drafts(keys: &Keys<'_>, hidden: u64, vocab: u64, depth: u64, parts: &mut Parts) {
    let saved = keys.family().draft;
    let count = keys.number(&["num_nextn_predict_layers", "mtp_num_hidden_layers"]);
    let Some(count) = count.filter(|_| saved != Draft::Left) else { return };
    for index in depth..depth.saturating_add(count.min(MOST_LAYERS)) {
        let mut layer = Parts::default();
        let attends = schedule::draft(keys, depth);
        let dense = saved == Draft::CopiedDense;
        if attention::layer(keys, attends, index, u64::MAX, &mut layer).is_none()
            || mlp::draft(keys, index, depth, dense, &mut layer).is_none()
        {
            return;
        }
        layer.linear(
            WeightRole::Draft,
            format!("model.layers.{index}.eh_proj"),
            hidden,
            2 * hidden,
        );
        if matches!(saved, Draft::Copied | Draft::CopiedDense) {
            layer.table(WeightRole::Draft, "mtp.embed_tokens", vocab, 2 * hidden);
        }
        parts.extend_as(WeightRole::Draft, layer);
    }
}

#[cfg(test)]
mod tests;
