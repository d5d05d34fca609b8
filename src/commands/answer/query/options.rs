//! Options of the programs people ask about, as they stand on a command line: those that name a setting, and those that change no verdict.

use crate::engine::vocabulary::plain;

/// What people call a setting, in [`plain`] spelling, and its key.
const KEYS: &[(&[&str], &str)] = &[
    (
        &["cachemode", "kv", "kvcachedtype", "kvdtype", "ollamakvcachetype", "quantpolicy"],
        "kv_cache",
    ),
    (&["cachetypek", "ctk"], CACHE_OF_KEYS),
    (&["cachetypev", "ctv"], CACHE_OF_VALUES),
    (&["quant", "quantize", "isq", "quantmethod"], "quantization"),
    (&["os", "system"], "platform"),
    (&["attn", "attentionbackend", "attnbackend", "attnimplementation"], "attention"),
    (&["vllmattentionbackend"], "attention"),
    (&["moe", "moebackend", "moerunner", "moerunnerbackend"], "kernel"),
    (&["gpus", "numgpus", "numshard", "tensorparallel", "tensorparallelsize", "tpsize"], "tp"),
    (&["pipelineparallel", "pipelineparallelsize", "ppsize"], "pp"),
    (&["torchdtype"], "dtype"),
    (&["backend"], "engine"),
    (&["driver", "nvidiadriver"], "driver"),
    (&["model", "modelpath", "modelid", "hfrepo"], "model"),
];

/// The type of the cached keys, and that of the values, where a program has an option for each.
pub(super) const CACHE_OF_KEYS: &str = "cache_type_k";
/// The other half.
pub(super) const CACHE_OF_VALUES: &str = "cache_type_v";

/// Keys that are too short to be one without the dash before them.
const SHORT_KEYS: &[(&str, &str)] = &[("m", "model"), ("hf", "model"), ("q", "quantization")];

/// What stands behind an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    Number,
    Numbers,
    Word,
}

/// Options that change no verdict, in [`plain`] spelling, by what follows them.
const UNHEARD: &[(Follows, &[&str])] = &[
    (
        Follows::Nothing,
        &[
            "contbatching",
            "cpumoe",
            "disablecudagraph",
            "disablelogrequests",
            "disablemetrics",
            "disableradixcache",
            "enableautotoolchoice",
            "enablechunkedprefill",
            "enablemetrics",
            "enableprefixcaching",
            "enforceeager",
            "forcereinstall",
            "highvram",
            "autolaunch",
            "cudamalloc",
            "disableautolaunch",
            "disablemetadata",
            "gpuonly",
            "jinja",
            "listen",
            "lowvram",
            "mlock",
            "nocachedir",
            "noenableprefixcaching",
            "nommap",
            "normalvram",
            "novram",
            "nowarmup",
            "trustremotecode",
            "upgrade",
            "verbose",
            "windowsstandalonebuild",
        ],
    ),
    (
        Follows::Number,
        &[
            "batchsize",
            "cachemaxentrycount",
            "chunkedprefillsize",
            "contextlength",
            "contextsize",
            "ctxsize",
            "cudagraphmaxbs",
            "gpulayers",
            "gpumemoryutilization",
            "kvcachefreegpumemoryfraction",
            "l4t",
            "maingpu",
            "maxbatchprefilltokens",
            "maxbatchsize",
            "maxconcurrentrequests",
            "maxinputlength",
            "maxinputtokens",
            "maxmodellen",
            "maxnumbatchedtokens",
            "maxnumseqs",
            "maxnumtokens",
            "maxrunningrequests",
            "maxseqlen",
            "maxtokens",
            "maxtotaltokens",
            "memfractionstatic",
            "ncpumoe",
            "ngl",
            "ngpulayers",
            "npredict",
            "numctx",
            "port",
            "predict",
            "python",
            "seed",
            "sessionlen",
            "temp",
            "temperature",
            "threads",
            "topk",
            "topp",
            "torchaudio",
            "torchvision",
            "ubatchsize",
        ],
    ),
    (Follows::Numbers, &["tensorsplit"]),
    (
        Follows::Word,
        &[
            "alias",
            "apikey",
            "bf16gemmbackend",
            "chattemplate",
            "downloaddir",
            "host",
            "loglevel",
            "outputdir",
            "prompt",
            "reasoningparser",
            "revision",
            "servedmodelname",
            "toolcallparser",
        ],
    ),
];

/// Options of one or two letters, which are none without a dash.
const SHORT_UNHEARD: &[(Follows, &[&str])] = &[
    (Follows::Nothing, &["U"]),
    (Follows::Number, &["b", "c", "n", "np", "t", "ub"]),
    (Follows::Numbers, &["ts"]),
    (Follows::Word, &["p"]),
];

/// Options that are a word of their own, in [`plain`] spelling.
const WORDS: &[(&str, &str)] = &[
    ("enablelora", "lora"),
    ("enabletorchcompile", "torch.compile"),
    ("compile", "torch.compile"),
    // ComfyUI's (comfyanonymous/ComfyUI@005d79c8:comfy/cli_args.py).
    ("bf16unet", "bf16"),
    ("forcefp16", "fp16"),
    ("forcefp32", "fp32"),
    ("fp16unet", "fp16"),
    ("fp32unet", "fp32"),
    ("fp8e4m3fnunet", "fp8_e4m3fn"),
    ("fp8e5m2unet", "fp8_e5m2"),
    ("useflashattention", "attention=flash_attention_2"),
    ("usepytorchcrossattention", "attention=pytorch"),
    ("usequadcrossattention", "attention=quad"),
    ("usesageattention", "attention=sageattention"),
    ("usesplitcrossattention", "attention=split"),
];

/// Switches without a value that may change a verdict, and that no rule speaks of.
const SWITCHES: &[&str] = &[
    "asyncoffload",
    "bf16vae",
    "cpuvae",
    "deterministic",
    "disablecudamalloc",
    "disablesmartmemory",
    "disablexformers",
    "dontupcastattention",
    "fast",
    "forcechannelslast",
    "forceupcastattention",
    "fp16vae",
    "fp32vae",
    "pre",
    "supportsfp8compute",
];

/// Options whose value is a word of its own: `--speculative-algorithm EAGLE`.
const VALUES: &[&str] = &["speculativealgorithm", "speculativealgo", "speculativemethod"];

/// Variables that say where things are and what is logged.
const VARIABLES: &[&str] = &[
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "HF_",
    "HUGGING_FACE_",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "NCCL_DEBUG",
    "NVIDIA_VISIBLE_DEVICES",
    "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_HOST",
    "OLLAMA_MODELS",
    "OMP_NUM_THREADS",
    "PATH",
    "PYTHONPATH",
    "TOKENIZERS_PARALLELISM",
    "TRANSFORMERS_CACHE",
    "VLLM_LOGGING_LEVEL",
];

/// What an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It has a value for this key.
    Key(&'static str),
    /// It is this word.
    Word(&'static str),
    /// Its value is a word.
    Value,
    /// It has no value, may change a verdict, and no rule speaks of it.
    Switch,
    /// Flash attention, on unless its value says otherwise.
    Flash,
    /// It changes no verdict.
    Unheard(Follows),
}

/// The key that is meant by a name of it.
pub(super) fn key(name: &str) -> Option<&'static str> {
    let said = plain(name);
    KEYS.iter().find(|row| row.0.contains(&&said[..])).map(|row| row.1)
}

/// What follows a word that changes no verdict, with dashes before it or without.
pub(super) fn unheard(name: &str) -> Option<Follows> {
    row_with(UNHEARD, &plain(name))
}

fn row_with(rows: &[(Follows, &[&str])], name: &str) -> Option<Follows> {
    rows.iter().find(|row| row.1.contains(&name)).map(|row| row.0)
}

/// What an option is that begins with a dash; none where no table has it.
pub(super) fn option(name: &str) -> Option<Meaning> {
    let said = plain(name);
    let word = WORDS.iter().find(|row| row.0 == said).map(|row| Meaning::Word(row.1));
    let is_flash = ["fa", "flashattn", "flashattention"].contains(&&*said);
    let short_key = || SHORT_KEYS.iter().find(|row| row.0 == name).map(|row| row.1);
    key(name)
        .or_else(short_key)
        .map(Meaning::Key)
        .or(word)
        .or_else(|| VALUES.contains(&&*said).then_some(Meaning::Value))
        .or_else(|| SWITCHES.contains(&&*said).then_some(Meaning::Switch))
        .or_else(|| is_flash.then_some(Meaning::Flash))
        .or_else(|| unheard(name).map(Meaning::Unheard))
        .or_else(|| row_with(SHORT_UNHEARD, name).map(Meaning::Unheard))
}

/// Whether a word of a command line is an option that some program has.
pub(crate) fn is_option(word: &str) -> bool {
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    option(name).is_some()
}

/// Whether a variable of the environment changes no verdict.
pub(super) fn is_unheard_variable(name: &str) -> bool {
    let is = |known: &&str| name == *known || known.ends_with('_') && name.starts_with(known);
    VARIABLES.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_probes::rules::kind_of;

    #[test]
    fn names_are_plain_and_keys_known() {
        let unheard = UNHEARD.iter().flat_map(|row| row.1);
        let names = KEYS.iter().flat_map(|row| row.0).chain(unheard).chain(VALUES);
        let names = names.chain(SWITCHES);
        names.for_each(|name| assert_eq!(plain(name), **name));
        WORDS.iter().for_each(|row| assert_eq!(plain(row.0), row.0));
        for key in KEYS.iter().map(|row| row.1).chain(SHORT_KEYS.iter().map(|row| row.1)) {
            let own = ["driver", "model", CACHE_OF_KEYS, CACHE_OF_VALUES].contains(&key);
            assert!(own || kind_of(key).is_ok(), "{key}");
        }
    }

    #[test]
    fn no_option_means_two_things() {
        let unheard = UNHEARD.iter().chain(SHORT_UNHEARD).flat_map(|row| row.1);
        let keys = KEYS.iter().flat_map(|row| row.0).chain(SHORT_KEYS.iter().map(|row| &row.0));
        let words = WORDS.iter().map(|row| &row.0).chain(VALUES).chain(SWITCHES);
        let mut all: Vec<&str> = unheard.chain(keys).chain(words).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
