//! The rule files compiled into the program.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../rules/", $name)))),*]
    };
}

/// Name and text of every file in `probes/rules/`, in the order of the screen.
pub(super) const FILES: &[(&str, &str)] = files![
    "vllm.toml",
    "lmdeploy.toml",
    "sglang.toml",
    "tgi.toml",
    "tei.toml",
    "deepspeed.toml",
    "deepspeed-mii.toml",
    "candle.toml",
    "mistralrs.toml",
    "ktransformers.toml",
    "glm-4.toml",
    "diffusers.toml",
    "framepack.toml",
    "comfyui.toml",
    "vila.toml",
    "latte.toml",
    "flash-attn.toml",
    "bitsandbytes.toml",
    "transformers.toml",
    "llama-cpp.toml",
    "triton.toml",
    "models.toml",
];
