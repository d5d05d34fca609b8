//! Metadata of a GGUF file as the configuration of the same model would have it.

use serde_json::{Map, Value, json};

use super::{Header, names};
use crate::model::architecture::COMPRESSED_CACHE;

/// Keys behind the name of the architecture, and what configurations call them.
const KEYS: &[(&str, &str)] = &[
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("vocab_size", "vocab_size"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.value_length", "v_head_dim"),
    ("attention.key_length_swa", "swa_head_dim"),
    ("attention.value_length_swa", "swa_v_head_dim"),
    ("attention.sliding_window", "sliding_window"),
    ("attention.chunk_size", "attention_chunk_size"),
    ("attention.shared_kv_layers", "num_kv_shared_layers"),
    ("attention.kv_lora_rank", "kv_lora_rank"),
    ("attention.q_lora_rank", "q_lora_rank"),
    ("expert_count", "num_experts"),
    ("expert_used_count", "num_experts_per_tok"),
    ("expert_feed_forward_length", "moe_intermediate_size"),
    ("expert_shared_feed_forward_length", "shared_expert_intermediate_size"),
    ("expert_shared_count", "n_shared_experts"),
    ("leading_dense_block_count", "first_k_dense_replace"),
    ("interleave_moe_layer_step", "interleave_moe_layer_step"),
    ("full_attention_interval", "full_attention_interval"),
    ("shortconv.l_cache", "conv_L_cache"),
    ("ssm.conv_kernel", "conv_kernel"),
    ("ssm.state_size", "state_size"),
    ("ssm.group_count", "n_groups"),
    ("ssm.time_step_rank", "mamba_num_heads"),
];

/// The configuration.
pub(super) fn config(header: &Header) -> Value {
    let mut keys = Map::new();
    for (theirs, ours) in KEYS {
        if let Some(value) = value(header, theirs) {
            keys.insert((*ours).to_owned(), value);
        }
    }
    let number = |key: &str| self::number(header, key);
    let kind = names::model_type(&header.architecture);
    keys.insert("model_type".to_owned(), kind.into());
    if number("vocab_size").is_none() {
        keys.insert("vocab_size".to_owned(), header.vocabulary.into());
    }
    let drafts = number("nextn_predict_layers").unwrap_or_default();
    if let Some(depth) = number("block_count").and_then(|count| count.checked_sub(drafts)) {
        keys.insert("num_hidden_layers".to_owned(), depth.into());
        add_kinds(header, kind, depth, &mut keys);
    }
    add_latent(header, &mut keys);
    add_recurrent(header, kind, &mut keys);
    Value::Object(keys)
}

fn full(header: &Header, key: &str) -> String {
    format!("{}.{key}", header.architecture)
}

fn number(header: &Header, key: &str) -> Option<u64> {
    header.numbers.get(&full(header, key)).copied()
}

fn list<'a>(header: &'a Header, key: &str) -> Option<&'a [u64]> {
    header.lists.get(&full(header, key)).map(Vec::as_slice)
}

fn value(header: &Header, key: &str) -> Option<Value> {
    number(header, key).map(Value::from).or_else(|| list(header, key).map(|list| json!(list)))
}

/// Kinds of layers: which slide, and which have no heads of keys and so keep a state.
fn add_kinds(header: &Header, kind: &str, depth: u64, keys: &mut Map<String, Value>) {
    if let Some(pattern) = value(header, "attention.sliding_window_pattern") {
        let key =
            if pattern.is_array() { "hybrid_layer_pattern" } else { "sliding_window_pattern" };
        keys.insert(key.to_owned(), pattern);
    }
    let Some(heads) = list(header, "attention.head_count_kv").filter(|heads| heads.contains(&0))
    else {
        return;
    };
    let widths = list(header, "feed_forward_length").unwrap_or_default();
    let experts = number(header, "expert_count").is_some();
    let word = |index: usize| match heads.get(index) {
        Some(1..) => "attention",
        _ if kind.starts_with("lfm2") => "conv",
        _ if widths.get(index).is_none_or(|width| *width == 0) || kind != "nemotron_h" => "mamba",
        _ if experts => "moe",
        _ => "mlp",
    };
    let words: Vec<_> = (0..depth.min(1024)).map(|index| word(index as usize)).collect();
    keys.insert("layers_block_type".to_owned(), json!(words));
    let most = |list: &[u64]| list.iter().copied().max().unwrap_or_default();
    keys.insert("num_key_value_heads".to_owned(), most(heads).into());
    if let Some(queries) = list(header, "attention.head_count") {
        keys.insert("num_attention_heads".to_owned(), most(queries).into());
    }
}

/// Compressed attention: newer files give the sizes of heads under names of their own.
fn add_latent(header: &Header, keys: &mut Map<String, Value>) {
    if number(header, "attention.kv_lora_rank").is_none() {
        return;
    }
    let rope = number(header, "rope.dimension_count").unwrap_or(64);
    let own = number(header, "attention.key_length_mla");
    let key = own.or_else(|| number(header, "attention.key_length")).unwrap_or_default();
    let value = number(header, "attention.value_length_mla");
    let value = value.or_else(|| number(header, "attention.value_length"));
    keys.insert("qk_rope_head_dim".to_owned(), rope.into());
    keys.insert("qk_nope_head_dim".to_owned(), key.saturating_sub(rope).max(1).into());
    keys.insert("v_head_dim".to_owned(), value.into());
    keys.insert(COMPRESSED_CACHE.to_owned(), own.is_some().into());
}

/// States of recurrent layers: Mamba's names serve for the gated delta rule too.
fn add_recurrent(header: &Header, kind: &str, keys: &mut Map<String, Value>) {
    let number = |key: &str| number(header, key);
    let Some((inner, heads)) = number("ssm.inner_size").zip(number("ssm.time_step_rank")) else {
        return;
    };
    let size = inner.checked_div(heads).unwrap_or_default();
    if !kind.starts_with("qwen") {
        keys.insert("mamba_d_head".to_owned(), size.into());
        return;
    }
    keys.insert("linear_num_value_heads".to_owned(), heads.into());
    keys.insert("linear_value_head_dim".to_owned(), size.into());
    keys.insert("linear_num_key_heads".to_owned(), number("ssm.group_count").into());
    keys.insert("linear_key_head_dim".to_owned(), number("ssm.state_size").into());
    keys.insert("linear_conv_kernel_dim".to_owned(), number("ssm.conv_kernel").into());
    keys.entry("full_attention_interval").or_insert(4.into());
}
