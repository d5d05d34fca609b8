use proptest::prelude::*;

use super::*;

/// Writes a header as the format's specification lays it out (ggml docs/gguf.md).
struct Writer(Vec<u8>);

impl Writer {
    fn new(version: u32, tensors: u64, pairs: u64) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(tensors.to_le_bytes());
        bytes.extend(pairs.to_le_bytes());
        Self(bytes)
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn word(self, key: &str, value: &str) -> Self {
        self.text(key).u32(8).text(value)
    }

    fn number(self, key: &str, value: u32) -> Self {
        self.text(key).u32(4).u32(value)
    }

    fn tensor(self, name: &str, sides: &[u64], kind: u32) -> Self {
        let named = self.text(name).u32(u32::try_from(sides.len()).expect("few"));
        sides.iter().fold(named, |writer, side| writer.u64(*side)).u32(kind).u64(0)
    }
}

fn facts(writer: &Writer) -> Facts {
    read(writer.0.as_slice()).expect("reads").facts()
}

#[test]
fn a_quantised_model_is_described() {
    let file = Writer::new(3, 3, 6)
        .word("general.architecture", "qwen3moe")
        .word("general.name", "a name that is not kept")
        .number("qwen3moe.embedding_length", 2048)
        .number("qwen3moe.attention.head_count", 32)
        .number("qwen3moe.attention.key_length", 128)
        .text("tokenizer.ggml.tokens")
        .u32(9)
        .u32(8)
        .u64(2)
        .text("a")
        .text("bc")
        .tensor("token_embd.weight", &[2048, 1000], 14)
        .tensor("blk.0.ffn_down.weight", &[2048, 4096], 12)
        .tensor("blk.0.attn_norm.weight", &[2048], 0);
    let facts = facts(&file);
    assert_eq!(facts.settings.to_string(), "head_dim=128 model_type=qwen3_moe quantization=gguf");
    // Q6_K is 6.5625 bits a value, Q4_K 4.5, F32 32.
    let bits = 2048_f64 * 1000.0 * 6.5625 + 2048.0 * 4096.0 * 4.5 + 2048.0 * 32.0;
    assert_eq!(facts.weight_bytes, Some((bits / 8.0) as u64));
    assert_eq!(facts.details, [("tensors", "3: Q4_K, Q6_K, F32".to_owned())]);
}

#[test]
fn a_model_that_is_not_quantised_says_its_type() {
    let file = Writer::new(2, 1, 3)
        .word("general.architecture", "llama")
        .number("llama.embedding_length", 4096)
        .number("llama.attention.head_count", 32)
        .tensor("output.weight", &[4096, 2], 30);
    let facts = facts(&file);
    let settings = "checkpoint_dtype=bf16 head_dim=128 model_type=llama quantization=gguf";
    assert_eq!(facts.settings.to_string(), settings);
    assert_eq!(facts.weight_bytes, Some(16_384));
}

#[test]
fn hostile_headers_are_refused_in_words() {
    let endless = |kind: u32| Writer::new(3, 0, 1).text("a").u32(9).u32(kind).u64(u64::MAX);
    let nested = (0..8).fold(Writer::new(3, 0, 1).text("a").u32(9), |w, _| w.u32(9).u64(1));
    for (file, words) in [
        (Writer::new(3, u64::MAX, u64::MAX), "ends within its header"),
        (endless(0), "no end"),
        (endless(10), "without end"),
        (endless(8), "ends within"),
        (endless(99), "no value of type 99"),
        (nested, "arrays within arrays"),
        (Writer::new(3, 0, 1).u64(u64::MAX), "a name of"),
        (Writer::new(3, 1, 0).text("t").u32(9), "9 dimensions"),
        (Writer::new(3, 1, 0).tensor("t", &[u64::MAX, 2], 0), "too large"),
        (Writer::new(3, 1, 0).tensor("t", &[u64::MAX], 0), "too large"),
        (Writer::new(3, 1, 0).tensor("t", &[1], 7777), "type 7777"),
        (Writer::new(1, 0, 0), "version 1"),
        (Writer::new(9, 0, 0), "version 9"),
        (Writer::new(3_u32.swap_bytes(), 0, 0), "big-endian"),
        (Writer(b"PK\x03\x04".to_vec()), "does not begin with GGUF"),
        (Writer(b"GGU".to_vec()), "ends within"),
    ] {
        let error = read(file.0.as_slice()).expect_err(words);
        assert!(error.contains(words), "{error} / {words}");
    }
}

/// DeepSeek's latent attention: the stored key is no head's size.
#[test]
fn heads_of_several_sizes_have_no_size() {
    let file = Writer::new(3, 0, 3)
        .word("general.architecture", "deepseek2")
        .number("deepseek2.attention.kv_lora_rank", 512)
        .number("deepseek2.attention.key_length", 576);
    assert_eq!(facts(&file).settings.get("head_dim"), None);
}

#[test]
fn a_head_of_no_size_says_nothing() {
    let file = Writer::new(3, 0, 3)
        .word("general.architecture", "llama")
        .number("llama.embedding_length", 4096)
        .number("llama.attention.head_count", 0);
    assert_eq!(facts(&file).settings.get("head_dim"), None);
    assert_eq!(facts(&file).weight_bytes, None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let _ = read(bytes.as_slice());
        let mut file = Writer::new(3, 2, 2).0;
        file.extend(&bytes);
        let _ = read(file.as_slice());
    }

    #[test]
    fn every_cut_of_a_good_header_is_an_error(cut in 0_usize..100) {
        let whole = Writer::new(3, 1, 1).word("general.architecture", "llama").tensor("a", &[2, 3], 0).0;
        prop_assume!(cut < whole.len());
        prop_assert!(read(&whole[..cut]).is_err());
    }
}
