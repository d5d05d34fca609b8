//! What follows from a configuration, what headers of weights say and what a GGUF file says of the same model: one truth.

use std::fs;

use crate::model::{Model, Shape, ShapeSource, WeightRole};

const LAYERS: u64 = 3;
const CONFIG: &str = r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 256, "num_attention_heads": 8,
    "num_key_value_heads": 2, "head_dim": 64, "num_hidden_layers": 3, "intermediate_size": 768, "vocab_size": 1000,
    "max_position_embeddings": 4096, "tie_word_embeddings": TIED, "torch_dtype": "bfloat16"}"#;

/// Tensors of that model: name in a checkpoint, name in a GGUF file, rows, columns.
fn tensors(head: bool) -> Vec<(String, String, u64, u64)> {
    let mut all = vec![("model.embed_tokens".to_owned(), "token_embd".to_owned(), 1000, 256)];
    for layer in 0..LAYERS {
        for (ours, theirs, rows, columns) in [
            ("self_attn.q_proj", "attn_q", 512, 256),
            ("self_attn.k_proj", "attn_k", 128, 256),
            ("self_attn.v_proj", "attn_v", 128, 256),
            ("self_attn.o_proj", "attn_output", 256, 512),
            ("mlp.gate_proj", "ffn_gate", 768, 256),
            ("mlp.up_proj", "ffn_up", 768, 256),
            ("mlp.down_proj", "ffn_down", 256, 768),
        ] {
            all.push((
                format!("model.layers.{layer}.{ours}"),
                format!("blk.{layer}.{theirs}"),
                rows,
                columns,
            ));
        }
    }
    if head {
        all.push(("lm_head".to_owned(), "output".to_owned(), 1000, 256));
    }
    all
}

fn safetensors(head: bool) -> Vec<u8> {
    let mut at = 0;
    let rows = tensors(head).into_iter().map(|(name, _, rows, columns)| {
        let begin = at;
        at += rows * columns * 2;
        format!(r#""{name}.weight":{{"dtype":"BF16","shape":[{rows},{columns}],"data_offsets":[{begin},{at}]}}"#)
    });
    let header = format!("{{{}}}", rows.collect::<Vec<_>>().join(","));
    [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
}

fn gguf() -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let number = |key: &str, value: u32| {
        [text(&format!("qwen3.{key}")), 4_u32.to_le_bytes().into(), value.to_le_bytes().into()]
            .concat()
    };
    let keys = [
        ("block_count", 3),
        ("embedding_length", 256),
        ("feed_forward_length", 768),
        ("attention.head_count", 8),
        ("attention.head_count_kv", 2),
        ("attention.key_length", 64),
        ("attention.value_length", 64),
        ("context_length", 4096),
        ("vocab_size", 1000),
    ];
    let tensors = tensors(true);
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend(
        [(tensors.len() as u64).to_le_bytes(), (keys.len() as u64 + 1).to_le_bytes()].concat(),
    );
    file.extend(
        [text("general.architecture"), 8_u32.to_le_bytes().to_vec(), text("qwen3")].concat(),
    );
    file.extend(keys.iter().flat_map(|(key, value)| number(key, *value)));
    for (_, name, rows, columns) in tensors {
        file.extend([text(&format!("{name}.weight")), 2_u32.to_le_bytes().to_vec()].concat());
        file.extend([columns.to_le_bytes(), rows.to_le_bytes()].concat());
        file.extend([30_u32.to_le_bytes().to_vec(), 0_u64.to_le_bytes().to_vec()].concat());
    }
    file
}

fn shape(files: &[(&str, Vec<u8>)]) -> (Shape, Model) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("writes");
    }
    let model = Model::read(folder.path()).expect("reads");
    (model.shape.clone().expect("is known"), model)
}

fn config(tied: &str) -> (&'static str, Vec<u8>) {
    ("config.json", CONFIG.replace("TIED", tied).into_bytes())
}

const ROLES: [WeightRole; 4] =
    [WeightRole::Embedding, WeightRole::Head, WeightRole::Attention, WeightRole::Mlp];

#[test]
fn configuration_headers_and_gguf_agree() {
    let (stated, _) = shape(&[config("false")]);
    let (measured, _) = shape(&[config("false"), ("model.safetensors", safetensors(true))]);
    let (packed, _) = shape(&[("model.gguf", gguf())]);
    assert_eq!(
        [stated.source, measured.source, packed.source],
        [ShapeSource::Config, ShapeSource::Header, ShapeSource::Header]
    );
    for other in [&measured, &packed] {
        assert_eq!(other.layers, stated.layers);
        assert_eq!((other.hidden, other.vocab, other.max_context), (256, 1000, Some(4096)));
        for role in ROLES {
            assert_eq!(other.group(role), stated.group(role), "{role:?}");
        }
    }
}

/// The files of Qwen3-0.6B hold the embedding a second time; nothing loads it.
#[test]
fn a_tied_head_that_is_saved_is_named_and_not_counted() {
    let (shape, model) = shape(&[config("true"), ("model.safetensors", safetensors(true))]);
    assert!(shape.tied_head && shape.group(WeightRole::Head).is_none());
    let copy = 1000 * 256 * 2;
    assert_eq!(model.weight_bytes.map(|bytes| bytes - copy), Some(shape.weight_bytes()));
    assert!(model.details.iter().any(|(name, _)| *name == "tied head"), "{:?}", model.details);
}

/// AutoAWQ saves a head of its own and says nothing of it.
#[test]
fn awq_unties() {
    let text = CONFIG.replace(
        "TIED",
        r#"true, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}"#,
    );
    let (stated, _) = shape(&[("config.json", text.clone().into_bytes())]);
    let (measured, _) =
        shape(&[("config.json", text.into_bytes()), ("model.safetensors", safetensors(true))]);
    assert!(!stated.tied_head && !measured.tied_head);
    assert_eq!(stated.group(WeightRole::Head), measured.group(WeightRole::Head));
}

#[test]
fn hostile_configurations_end_in_a_sentence_or_without_dimensions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    let sparse = fs::File::create(&path).expect("makes");
    sparse.set_len(1 << 30).expect("grows");
    let error = Model::read(folder.path()).expect_err("is refused").to_string();
    assert!(error.contains("larger than 4 MiB"), "{error}");
    for (text, words) in
        [("[".repeat(1 << 20), "recursion limit"), (r#"{"a":"#.repeat(1 << 18), "recursion limit")]
    {
        fs::write(&path, text).expect("writes");
        let error = Model::read(folder.path()).expect_err(words).to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
    for key in ["num_hidden_layers", "hidden_size", "vocab_size", "num_attention_heads"] {
        for value in
            ["18446744073709551615", "1e308", "-1", "NaN", "Infinity", "\"x\"", "[]", "0.5"]
        {
            let text = CONFIG
                .replace("TIED", "false")
                .replace(&format!("\"{key}\": "), &format!("\"{key}\": {value}, \"x\": "));
            fs::write(&path, text).expect("writes");
            let model = Model::read(folder.path()).expect("is a configuration");
            assert_eq!(model.shape, None, "{key} {value}");
        }
    }
    // Numbers just below the limits are summed without overflow.
    let text = CONFIG
        .replace("TIED", "false")
        .replace("256", "1048575")
        .replace("768", "1048575")
        .replace("1000", "4294967295");
    fs::write(&path, text).expect("writes");
    assert!(
        Model::read(folder.path())
            .expect("reads")
            .shape
            .is_some_and(|shape| shape.weight_bytes() > 1 << 50)
    );
}
