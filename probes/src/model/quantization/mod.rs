//! Formats of quantised weights: the word rules use, other words for it, and how a configuration file says it.

use serde_json::Value;

/// A format of quantised weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// The value of `quantization` a model of it has.
    pub word: &'static str,
    /// Other values that load it: the same weights through another kernel.
    pub also: &'static [&'static str],
    /// Names that stand for it where a framework has none of its own for it, best first.
    pub coarse: &'static [&'static str],
    /// Whether weights that are not quantised can be brought to it while they are loaded.
    pub at_load: bool,
    /// What it is, one phrase.
    pub meaning: &'static str,
}

impl Quantization {
    const fn new(word: &'static str, meaning: &'static str) -> Self {
        Self { word, also: &[], coarse: &[], at_load: false, meaning }
    }

    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    const fn coarse(self, coarse: &'static [&'static str]) -> Self {
        Self { coarse, ..self }
    }

    const fn at_load(self) -> Self {
        Self { at_load: true, ..self }
    }
}

/// How linear weights are packed, as far as the files tell.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightFormat {
    /// The value of `quantization` that loads it: `awq`, `gptq`, `fp8_block`, `gguf`.
    pub name: String,
    /// Bits of one weight, without scales and zero points.
    pub bits: Option<f64>,
    /// Weights that share one scale along the input: 128, 32; none where a row or a tensor shares it.
    pub group: Option<u64>,
    /// Sides of a block that shares one scale, `[128, 128]`.
    pub block: Option<[u64; 2]>,
    /// Whether rows are reordered (`desc_act`), which splits refuse or pay for.
    pub reordered: bool,
    /// Patterns of layers that were left as they were.
    pub kept: Vec<String>,
}

impl WeightFormat {
    /// That of GGUF files, whose tensors each say their own.
    pub(super) fn gguf() -> Self {
        Self {
            name: "gguf".to_owned(),
            bits: None,
            group: None,
            block: None,
            reordered: false,
            kept: Vec::new(),
        }
    }
}

/// Every format with a name of its own. A model of another names it as its maker does.
pub const QUANTIZATIONS: &[Quantization] = &[
    Quantization::new("awq", "AWQ: 4-bit integer weights in groups")
        .also(&["awq_marlin", "awq_gemm"]),
    Quantization::new("gptq", "GPTQ: integer weights in groups")
        .also(&["gptq_marlin", "moe_wna16"]),
    Quantization::new("gguf", "GGUF: llama.cpp's block formats"),
    Quantization::new("nf4", "bitsandbytes NF4: 4-bit weights").coarse(&["bitsandbytes"]).at_load(),
    Quantization::new("fp4", "bitsandbytes FP4: 4-bit weights, through the kernels of NF4")
        .coarse(&["bitsandbytes", "nf4"])
        .at_load(),
    Quantization::new("llm_int8", "bitsandbytes LLM.int8: 8-bit weights, outliers in 16 bits")
        .coarse(&["bitsandbytes"])
        .at_load(),
    Quantization::new("fp8", "FP8 weights and activations").coarse(&["finegrained_fp8"]).at_load(),
    Quantization::new("fp8_block", "FP8 with a scale per block")
        .coarse(&["finegrained_fp8", "fp8"]),
    Quantization::new("fbgemm_fp8", "FP8 with a scale per row").coarse(&["fp8_rowwise"]).at_load(),
    Quantization::new("mxfp4", "MXFP4: 4-bit floats, one scale per 32"),
    Quantization::new("modelopt", "NVIDIA ModelOpt, FP8").coarse(&["modelopt_fp8"]),
    Quantization::new("modelopt_fp4", "NVIDIA ModelOpt, NVFP4").coarse(&["nvfp4"]),
    Quantization::new("modelopt_mixed", "NVIDIA ModelOpt, formats by layer"),
    compressed("w4a16", "compressed-tensors, 4-bit integer weights"),
    compressed("w4a16_asym", "compressed-tensors, 4-bit integer weights with zero points"),
    compressed("w8a16", "compressed-tensors, 8-bit integer weights"),
    compressed("wna16", "compressed-tensors, integer weights"),
    compressed("w8a8_int8", "compressed-tensors, INT8 weights and activations"),
    compressed("w8a8_fp8", "compressed-tensors, FP8 weights and activations"),
    compressed("w8a16_fp8", "compressed-tensors, FP8 weights"),
    compressed("w4a8_fp8", "compressed-tensors, INT4 weights, FP8 activations"),
    compressed("nvfp4", "compressed-tensors, NVFP4 weights and activations"),
    compressed("nvfp4a16", "compressed-tensors, NVFP4 weights"),
    Quantization::new("compressed-tensors", "compressed-tensors, formats by layer"),
    Quantization::new("torchao", "torchao's tensor subclasses").at_load(),
    Quantization::new("hqq", "HQQ: integer weights in groups").at_load(),
    Quantization::new("eetq", "EETQ: INT8 weights").at_load(),
    Quantization::new("fp_quant", "FP-Quant: MXFP4 or NVFP4").at_load(),
    Quantization::new("experts_int8", "INT8 weights of experts").at_load(),
    Quantization::new("deepspeedfp", "DeepSpeed's FP6 or FP8 weights").at_load(),
    Quantization::new("exl2", "ExLlamaV2's bit mixes"),
    Quantization::new("exl3", "ExLlamaV3's trellis codes"),
];

/// What `compressed-tensors` holds decides more than its name; rules that know only the name still load it.
const fn compressed(word: &'static str, meaning: &'static str) -> Quantization {
    Quantization::new(word, meaning).coarse(&["compressed-tensors"])
}

/// Whether two words differ only in how they join their parts: `compressed-tensors` and `compressed_tensors`.
pub(super) fn same_word(a: &str, b: &str) -> bool {
    let plain = |letter| if letter == '-' { '_' } else { letter };
    a.chars().map(plain).eq(b.chars().map(plain))
}

/// The row of a word.
pub(super) fn row(word: &str) -> Option<&'static Quantization> {
    QUANTIZATIONS.iter().find(|row| row.word == word)
}

/// What a model's files say of its quantisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// Value for `quantization`.
    pub(super) word: String,
    /// Bits, groups and the like, for people.
    pub(super) detail: String,
}

/// Reads a `quantization_config`, or the contents of `hf_quant_config.json`.
pub(super) fn of(config: &Value) -> Option<Said> {
    let object = config.as_object()?;
    let inner = object.get("quantization").filter(|inner| inner.is_object());
    let config = inner.unwrap_or(config);
    let method = text(config, "quant_method").or_else(|| text(object_of(object)?, "name"));
    let method = method.map(|word| word.to_ascii_lowercase().replace('-', "_"));
    let on = |key| config.get(key).and_then(Value::as_bool) == Some(true);
    match method.as_deref() {
        Some("bitsandbytes") => Some(bitsandbytes(config)),
        None if on("load_in_4bit") || on("load_in_8bit") => Some(bitsandbytes(config)),
        Some("compressed_tensors" | "sparseml") => Some(compressed_tensors(config)),
        None if config.get("config_groups").is_some() => Some(compressed_tensors(config)),
        Some(name) if name.starts_with("modelopt") => Some(modelopt(config)),
        None if config.get("quant_algo").is_some() => Some(modelopt(config)),
        Some("fp8") => Some(fp8(config)),
        Some("gptq" | "awq" | "auto_round" | "intel/auto_round") => Some(grouped(config, &method?)),
        Some(other) => Some(Said { word: other.to_owned(), detail: groups(config) }),
        None => config.get("bits").is_some().then(|| grouped(config, "gptq")),
    }
}

fn object_of(object: &serde_json::Map<String, Value>) -> Option<&Value> {
    object.get("producer").filter(|producer| producer.is_object())
}

fn text<'a>(config: &'a Value, key: &str) -> Option<&'a str> {
    config.get(key)?.as_str().filter(|text| text.len() <= 64)
}

fn number(config: &Value, key: &str) -> Option<i64> {
    let value = config.get(key)?;
    // A few tools save numbers as text.
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// `4 bit, groups of 128, act-order`.
fn groups(config: &Value) -> String {
    let bits = number(config, "bits").or_else(|| number(config, "w_bit"));
    let bits = bits.map(|bits| format!("{bits} bit"));
    let group = number(config, "group_size").or_else(|| number(config, "q_group_size"));
    let group = group.map(|size| match size {
        ..=0 => "one group per row".to_owned(),
        size => format!("groups of {size}"),
    });
    let order = config.get("desc_act").and_then(Value::as_bool) == Some(true);
    let order = order.then(|| "act-order".to_owned());
    [bits, group, order].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// AWQ and GPTQ. What AutoRound saves is laid out as one of them and names it as its packing.
fn grouped(config: &Value, method: &str) -> Said {
    let packing = text(config, "packing_format").unwrap_or_default();
    let awq = method == "awq" || packing.contains("awq");
    Said { word: if awq { "awq" } else { "gptq" }.to_owned(), detail: groups(config) }
}

fn bitsandbytes(config: &Value) -> Said {
    let eight = config.get("load_in_8bit").and_then(Value::as_bool) == Some(true)
        && config.get("load_in_4bit").and_then(Value::as_bool) != Some(true);
    let double = config.get("bnb_4bit_use_double_quant").and_then(Value::as_bool) == Some(true);
    // The library's own default is fp4.
    let word = match text(config, "bnb_4bit_quant_type") {
        _ if eight => "llm_int8",
        Some("nf4") => "nf4",
        _ => "fp4",
    };
    let double = if double && !eight { ", scales quantised too" } else { "" };
    let detail = if eight { "8 bit".to_owned() } else { format!("4 bit{double}") };
    Said { word: word.to_owned(), detail }
}

fn fp8(config: &Value) -> Said {
    let block: Vec<_> = config
        .get("weight_block_size")
        .and_then(Value::as_array)
        .map(|sides| sides.iter().filter_map(Value::as_i64).map(|side| side.to_string()).collect())
        .unwrap_or_default();
    let scheme = text(config, "activation_scheme").map(|scheme| format!("{scheme} activations"));
    let blocks = (!block.is_empty()).then(|| format!("blocks of {}", block.join("×")));
    let word = if block.is_empty() { "fp8" } else { "fp8_block" };
    let detail = [blocks, scheme].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Said { word: word.to_owned(), detail }
}

fn modelopt(config: &Value) -> Said {
    let algorithm = text(config, "quant_algo").unwrap_or_default().to_ascii_uppercase();
    let word = match algorithm.as_str() {
        "MIXED_PRECISION" => "modelopt_mixed",
        name if name.contains("FP4") => "modelopt_fp4",
        name if name.contains("AWQ") => "awq",
        _ => "modelopt",
    };
    let cache = text(config, "kv_cache_quant_algo").map(|kind| format!("KV cache {kind}"));
    let group = number(config, "group_size").map(|size| format!("groups of {size}"));
    let algorithm = (!algorithm.is_empty()).then_some(algorithm);
    let detail = [algorithm, group, cache].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Said { word: word.to_owned(), detail }
}

/// Numbers of one side of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Numbers {
    bits: i64,
    float: bool,
    symmetric: bool,
}

impl Numbers {
    fn of(side: Option<&Value>) -> Option<Self> {
        let side = side.filter(|side| side.is_object())?;
        let float = text(side, "type") == Some("float");
        let symmetric = side.get("symmetric").and_then(Value::as_bool) != Some(false);
        Some(Self { bits: number(side, "num_bits")?, float, symmetric })
    }

    fn words(self) -> String {
        let kind = if self.float { "float" } else { "integer" };
        format!("{}-bit {kind}", self.bits)
    }
}

/// Weights and activations of one group.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Scheme {
    weights: Numbers,
    activations: Option<Numbers>,
}

impl Scheme {
    fn word(self, format: &str) -> &'static str {
        let weights = (self.weights.bits, self.weights.float);
        let activations = self.activations.map(|numbers| (numbers.bits, numbers.float));
        match (weights, activations) {
            ((4, true), _) if format.starts_with("mxfp4") => "mxfp4",
            ((4, true), Some((4, true))) => "nvfp4",
            ((4, true), None) => "nvfp4a16",
            ((8, true), Some((8, true))) => "w8a8_fp8",
            ((8, true), None) => "w8a16_fp8",
            ((4, false), Some((8, true))) => "w4a8_fp8",
            ((8, false), Some((8, false))) => "w8a8_int8",
            ((4, false), None) if !self.weights.symmetric => "w4a16_asym",
            ((4, false), None) => "w4a16",
            ((8, false), None) => "w8a16",
            ((_, false), None) => "wna16",
            _ => "compressed-tensors",
        }
    }

    fn words(self) -> String {
        let weights = format!("{} weights", self.weights.words());
        match self.activations {
            Some(numbers) => format!("{weights}, {} activations", numbers.words()),
            None => weights,
        }
    }
}

fn compressed_tensors(config: &Value) -> Said {
    let format = text(config, "format").unwrap_or_default();
    let groups = config.get("config_groups").and_then(Value::as_object);
    let mut schemes: Vec<Scheme> = Vec::new();
    for group in groups.into_iter().flat_map(|groups| groups.values()) {
        let Some(weights) = Numbers::of(group.get("weights")) else { continue };
        let scheme = Scheme { weights, activations: Numbers::of(group.get("input_activations")) };
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    let word = match schemes.as_slice() {
        [one] => one.word(format),
        _ => "compressed-tensors",
    };
    let names: Vec<_> = schemes.iter().map(|scheme| scheme.words()).collect();
    Said { word: word.to_owned(), detail: names.join(", ") }
}

#[cfg(test)]
mod tests;
