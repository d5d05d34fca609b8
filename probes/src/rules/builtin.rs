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
    "autoawq.toml",
    "autoawq-kernels.toml",
    "autogptq.toml",
    "gptqmodel.toml",
    "marlin.toml",
    "llm-awq.toml",
    "exllamav2.toml",
    "exllamav3.toml",
    "llama-cpp.toml",
    "unsloth.toml",
    "torch.toml",
    "llama-cpp-python.toml",
    "ollama.toml",
    "lm-studio.toml",
    "tensorrt.toml",
    "tensorrt-llm.toml",
    "tensorrt-rtx.toml",
    "onnxruntime.toml",
    "ctranslate2.toml",
    "transformer-engine.toml",
    "torchao.toml",
    "nunchaku.toml",
    "mamba.toml",
    "triton.toml",
    "cublas.toml",
    "cudnn.toml",
    "nccl.toml",
    "cuda.toml",
    "driver.toml",
    "hardware.toml",
    "models.toml",
];
