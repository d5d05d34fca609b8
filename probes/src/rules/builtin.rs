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
    "ktransformers.toml",
    "glm-4.toml",
    "vila.toml",
    "latte.toml",
    "flash-attn.toml",
    "flashinfer.toml",
    "xformers.toml",
    "sageattention.toml",
    "flashmla.toml",
    "deepgemm.toml",
    "bitsandbytes.toml",
    "transformers.toml",
    "llama-cpp.toml",
    "unsloth.toml",
    "torch.toml",
    "triton.toml",
    "cublas.toml",
    "cudnn.toml",
    "nccl.toml",
    "cuda.toml",
    "driver.toml",
    "hardware.toml",
    "models.toml",
];
