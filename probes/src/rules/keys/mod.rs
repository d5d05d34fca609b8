//! The closed table of what a configuration can say. A key outside it, or a value of the wrong kind, is an error with a line number:
//! a misspelt key in a rule would otherwise make a rule that never speaks.

mod read;
mod selector;
mod settings;

use warpscope_kernels::{DTYPES, Dtype};

use super::version::Version;

pub(super) use read::one_or_many;
pub use selector::{Choice, Selector};
pub use settings::Settings;

/// What the values of a key are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A lower-case name: `awq`, `flash_attention_2`.
    Word,
    /// A dtype id of `warpscope_kernels::DTYPES`, or `auto`.
    Dtype,
    /// A whole number from 1 on.
    Count,
    /// A version of another package; naming one brings in that package's own rules.
    Package,
}

/// Every key: id, kind, and what it means.
pub const KEYS: &[(&str, Kind, &str)] = &[
    ("engine", Kind::Word, "engine within the framework: pytorch, turbomind, v0, v1"),
    ("dtype", Kind::Dtype, "type of activations and unquantised weights"),
    ("checkpoint_dtype", Kind::Dtype, "type the checkpoint was saved in; decides what auto means"),
    ("quantization", Kind::Word, "format of quantised weights: awq, gptq, nf4, fp8"),
    ("attention", Kind::Word, "attention implementation: flash_attention_2, sdpa, eager"),
    ("kernel", Kind::Word, "kernel family asked for: marlin, exllama, machete"),
    ("wheel", Kind::Word, "which build: pypi, docker, source, cu126, cu128"),
    (
        "arch_list",
        Kind::Word,
        "compute capability a source build was made for: native when it is this GPU's",
    ),
    ("operator", Kind::Word, "operator class put in by a rule file"),
    ("model_type", Kind::Word, "model_type of the model's config.json"),
    ("kv_cache", Kind::Word, "type of the key-value cache"),
    ("head_dim", Kind::Count, "size of an attention head"),
    ("tp", Kind::Count, "tensor parallelism: GPUs that share each layer"),
    ("pp", Kind::Count, "pipeline parallelism: stages of layers"),
    ("feature", Kind::Word, "a feature switched on: torch_compile, mla, sinks"),
    ("platform", Kind::Word, "linux, windows, jetson"),
    ("compute_type", Kind::Word, "CTranslate2's compute_type: int8_float16"),
    (
        "operation",
        Kind::Word,
        "what is done: inference, training, backward, convolution, scaled_mm",
    ),
    ("instruction", Kind::Word, "one family of machine instructions: cp_async, wgmma"),
    ("runner", Kind::Word, "build a program picks at its start: cuda_v12, cuda_v13"),
    (
        "bitsandbytes.wheel",
        Kind::Word,
        "which build of bitsandbytes, where it takes part as a package",
    ),
    ("flash-attn.wheel", Kind::Word, "which build of flash-attn, where it takes part as a package"),
    ("flashinfer.wheel", Kind::Word, "which build of FlashInfer, where it takes part as a package"),
    (
        "torch.wheel",
        Kind::Word,
        "which build of PyTorch, where it takes part as a package: cu126, cu128",
    ),
    ("xformers.wheel", Kind::Word, "which build of xformers, where it takes part as a package"),
    ("autoawq-kernels", Kind::Package, "AutoAWQ's compiled kernels"),
    ("bitsandbytes", Kind::Package, "bitsandbytes"),
    ("cublas", Kind::Package, "cuBLAS"),
    ("cuda", Kind::Package, "CUDA toolkit the build was made with"),
    ("cudnn", Kind::Package, "cuDNN"),
    ("flash-attn", Kind::Package, "the flash-attn package"),
    ("flashinfer", Kind::Package, "FlashInfer"),
    ("gptqmodel", Kind::Package, "GPTQModel"),
    ("nccl", Kind::Package, "NCCL"),
    ("sageattention", Kind::Package, "SageAttention"),
    ("sgl-kernel", Kind::Package, "SGLang's compiled kernels"),
    ("tensorrt", Kind::Package, "TensorRT"),
    ("torch", Kind::Package, "PyTorch"),
    ("transformers", Kind::Package, "transformers"),
    ("triton", Kind::Package, "Triton"),
    ("vllm", Kind::Package, "vLLM"),
    ("xformers", Kind::Package, "xformers"),
];

/// Keys that describe the model, not the route taken: a framework's rule need not name them to speak of the whole.
const MODEL_KEYS: &[&str] = &["checkpoint_dtype", "head_dim", "model_type"];

/// Keys that describe how a model is spread over GPUs; a rule need not name them either.
const SPLIT_KEYS: &[&str] = &["pp", "tp"];

/// Keys that describe one package's build: what is said of the framework is not said of its packages.
const BUILD_KEYS: &[&str] = &["arch_list", "wheel"];

/// Kind of a key, or an error that lists the keys there are.
pub fn kind_of(key: &str) -> Result<Kind, String> {
    row_of(key).map(|row| row.1)
}

/// Row of a key, or an error that lists the keys there are.
fn row_of(key: &str) -> Result<&'static (&'static str, Kind, &'static str), String> {
    KEYS.iter().find(|row| row.0 == key).ok_or_else(|| {
        let known: Vec<_> = KEYS.iter().map(|row| row.0).collect();
        format!("{key:?} is not a configuration key; known: {}", known.join(", "))
    })
}

/// Spellings of dtypes in other people's software.
const DTYPE_SPELLINGS: &[(&str, &str)] = &[
    ("float16", "fp16"),
    ("half", "fp16"),
    ("bfloat16", "bf16"),
    ("float32", "fp32"),
    ("float", "fp32"),
    ("float64", "fp64"),
    ("fp8", "fp8_e4m3"),
    ("e4m3", "fp8_e4m3"),
    ("e4m3fn", "fp8_e4m3"),
    ("fp8_e4m3fn", "fp8_e4m3"),
    ("float8_e4m3fn", "fp8_e4m3"),
    // As Triton calls them.
    ("fp8e4nv", "fp8_e4m3"),
    ("fp8e5", "fp8_e5m2"),
    ("e5m2", "fp8_e5m2"),
    ("float8_e5m2", "fp8_e5m2"),
];

/// The dtype id a user's word means, if it means one: `half` → `fp16`.
pub fn dtype_id(word: &str) -> Option<&'static str> {
    let word = DTYPE_SPELLINGS.iter().find(|row| row.0 == word).map_or(word, |row| row.1);
    if word == "auto" {
        return Some("auto");
    }
    DTYPES.iter().map(|row| row.1).find(|id| *id == word)
}

/// Checks one value against its key, as rules and questions write it.
pub fn check_value(key: &str, value: &str) -> Result<(), String> {
    if value == UNSET {
        return Err(format!("{key}: only a rule can speak of a key that is unset; leave it out"));
    }
    match kind_of(key)? {
        Kind::Word => {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-+".contains(c);
            let good = !value.is_empty() && value.len() <= 64 && value.chars().all(plain);
            good.then_some(()).ok_or_else(|| {
                format!("{value:?}: write {key} in lower case, like flash_attention_2")
            })
        }
        Kind::Dtype if value == "auto" => Ok(()),
        Kind::Dtype => value.parse::<Dtype>().map(|_| ()),
        Kind::Count => {
            let good = value == NOTHING || value.parse::<u32>().is_ok_and(|count| count > 0);
            good.then_some(())
                .ok_or_else(|| format!("{value:?}: {key} is a whole number from 1 on"))
        }
        Kind::Package if value == ANY_VERSION || value == NOTHING => Ok(()),
        Kind::Package => value.parse::<Version>().map(|_| ()).map_err(|error| error.to_string()),
    }
}

/// What a rule calls any model that its framework neither lists nor has a rule for.
pub const OTHER_MODEL: &str = "other";

/// Version of a package that takes part in a version nobody named.
pub const ANY_VERSION: &str = "any";

/// Value of a key that a route has taken out of play: `quantization = "none"` once weights were widened, `triton = "none"` where none
/// of its kernels takes part any more.
const NOTHING: &str = "none";

/// What a rule accepts under a key that the configuration does not name: `wheel = ["pypi", "unset"]`.
pub(super) const UNSET: &str = "unset";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_explained() {
        for (key, _, meaning) in KEYS {
            assert_eq!(KEYS.iter().filter(|row| row.0 == *key).count(), 1, "{key}");
            assert!(!meaning.is_empty());
        }
    }

    #[test]
    fn values_are_checked_against_their_key() {
        assert!(Settings::new([("dtype", "fp16"), ("triton", "3.3.1"), ("torch", "any")]).is_ok());
        for (key, value) in
            [("dtyp", "fp16"), ("dtype", "fp17"), ("triton", "new"), ("engine", "Turbo Mind")]
                .into_iter()
                .chain(["0", "-1", "abc", "2.5", ""].map(|count| ("tp", count)))
                .chain([("pp", "0"), ("head_dim", "abc")])
        {
            assert!(Settings::new([(key, value)]).is_err(), "{key}={value}");
        }
    }

    #[test]
    fn a_rule_can_accept_a_key_that_is_not_named() {
        let selector: Selector =
            toml::from_str("wheel = [\"pypi\", \"unset\"]\ndtype = \"fp16\"").expect("reads");
        let asked = |pairs: &[(&str, &str)]| {
            let settings = Settings::new(pairs.iter().copied()).expect("good settings");
            (selector.matches(&settings), selector.covers(&settings))
        };
        assert_eq!(asked(&[("dtype", "fp16")]), (Some(true), true));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "pypi")]), (Some(true), true));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "source")]), (Some(false), true));
        assert_eq!(asked(&[("wheel", "pypi")]).0, Some(false));
        assert_eq!(asked(&[("dtype", "fp16"), ("wheel", "none")]).0, Some(true));
    }

    #[test]
    fn a_package_taken_out_of_play_meets_no_range() {
        let settings = Settings::new([("triton", "none"), ("torch", "2.8.0")]).expect("good");
        assert_eq!(settings.packages().collect::<Vec<_>>(), [("torch", "2.8.0")]);
        let selector: Selector = toml::from_str("triton = \">=3.4\"").expect("reads");
        assert_eq!(selector.matches(&settings), Some(false));
    }

    #[test]
    fn linux_is_the_platform_of_rules_without_one() {
        let asked = |platform: &str| {
            let settings = Settings::new([("platform", platform)]).expect("good settings");
            settings.with_plain_linux().get("platform").map(str::to_owned)
        };
        assert_eq!(["linux", "wsl2"].map(asked), [Some("none".into()), Some("none".into())]);
        assert_eq!(asked("windows"), Some("windows".into()));
    }

    #[test]
    fn unset_is_no_value_of_a_question_and_no_rule_by_itself() {
        assert!(Settings::new([("wheel", "unset")]).is_err());
        assert!(toml::from_str::<Settings>("wheel = \"unset\"").is_err());
        assert!(toml::from_str::<Selector>("wheel = \"unset\"").is_err());
        assert!(toml::from_str::<Selector>("torch = \"unset\"").is_err());
    }

    #[test]
    fn spellings_of_other_software_mean_our_dtypes() {
        for (theirs, ours) in DTYPE_SPELLINGS {
            assert_eq!(dtype_id(theirs), Some(*ours));
            assert!(ours.parse::<Dtype>().is_ok(), "{ours}");
        }
        assert_eq!(dtype_id("marlin"), None);
    }
}
