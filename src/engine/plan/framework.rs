//! Frameworks that serve models: how each takes memory, splits a model and is told so.

use serde::Serialize;
use warpscope_probes::model::Shape;

use super::demand::Parallel;

/// Major, minor and patch of a version; enough to order what changed.
pub type Release = (u32, u32, u32);

/// Newer than any release that is known.
const NEWEST: Release = (u32::MAX, 0, 0);

/// Frameworks that take memory in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// A pool of blocks: what is left of a share of the GPU after a profile run.
    Vllm,
    /// A pool: what is left beside a reserve that follows from batch sizes.
    Sglang,
    /// A pool: a share of what is free after the weights.
    Lmdeploy,
    /// A pool: nearly everything that is left after a warm-up.
    Tgi,
    /// A pool: nine tenths of what is left.
    TensorRtLlm,
    /// Exactly what the context needs, layers over GPUs, the rest in host memory.
    LlamaCpp,
    /// llama.cpp's way with routed experts in host memory.
    KTransformers,
    /// A cache that grows with the sequence, layers over GPUs.
    Transformers,
    /// A cache of fixed size, layers over GPUs.
    ExLlama,
}

/// Command-line words of a framework for what a plan decides; `{}` is the value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words {
    /// GPUs that share each layer.
    pub tensor: &'static str,
    /// Stages of layers.
    pub pipeline: &'static str,
    /// Context of one request.
    pub context: &'static str,
    /// Requests at once.
    pub concurrency: &'static str,
    /// An 8-bit cache.
    pub kv8: &'static str,
    /// Without CUDA graphs.
    pub eager: &'static str,
    /// Share of the memory it may take.
    pub utilization: &'static str,
    /// Layers that stay on the GPU.
    pub layers: &'static str,
}

/// One framework.
#[derive(Clone, Copy, Debug)]
pub struct Framework {
    /// Its id among the rules.
    pub id: &'static str,
    /// How it takes memory.
    pub family: Family,
    /// Its words.
    pub words: Words,
    /// Where its constants were read.
    pub source: &'static str,
}

const NO_WORDS: Words = Words {
    tensor: "",
    pipeline: "",
    context: "",
    concurrency: "",
    kv8: "",
    eager: "",
    utilization: "",
    layers: "",
};

const LLAMA_WORDS: Words =
    Words { context: "-c {}", concurrency: "-np {}", layers: "-ngl {}", ..NO_WORDS };

/// A framework started without options.
const fn wordless(id: &'static str, family: Family, source: &'static str) -> Framework {
    Framework { id, family, words: NO_WORDS, source }
}

/// Every framework whose memory is understood.
pub const FRAMEWORKS: &[Framework] = &[
    Framework {
        id: "vllm",
        family: Family::Vllm,
        words: Words {
            tensor: "--tensor-parallel-size {}",
            pipeline: "--pipeline-parallel-size {}",
            context: "--max-model-len {}",
            concurrency: "--max-num-seqs {}",
            kv8: "--kv-cache-dtype fp8",
            eager: "--enforce-eager",
            utilization: "--gpu-memory-utilization {}",
            layers: "",
        },
        source: "vLLM 0.33 arg_utils.py, gpu_worker.py, kv_cache_planning.py; logs of llm-d-planner PR 205",
    },
    Framework {
        id: "sglang",
        family: Family::Sglang,
        words: Words {
            tensor: "--tp-size {}",
            pipeline: "--pp-size {}",
            context: "--context-length {}",
            concurrency: "--max-running-requests {}",
            kv8: "--kv-cache-dtype fp8_e5m2",
            eager: "--disable-cuda-graph",
            utilization: "--mem-fraction-static {}",
            layers: "",
        },
        source: "SGLang 0.5.23 memory_hook.py",
    },
    Framework {
        id: "lmdeploy",
        family: Family::Lmdeploy,
        words: Words {
            tensor: "--tp {}",
            context: "--session-len {}",
            concurrency: "--max-batch-size {}",
            kv8: "--quant-policy 8",
            utilization: "--cache-max-entry-count {}",
            ..NO_WORDS
        },
        source: "LMDeploy 0.18 messages.py, executor/base.py",
    },
    Framework {
        id: "tgi",
        family: Family::Tgi,
        words: Words {
            tensor: "--num-shard {}",
            context: "--max-total-tokens {}",
            concurrency: "--max-concurrent-requests {}",
            kv8: "--kv-cache-dtype fp8_e4m3fn",
            eager: "--cuda-graphs 0",
            utilization: "--cuda-memory-fraction {}",
            ..NO_WORDS
        },
        source: "text-generation-inference launcher documentation",
    },
    Framework {
        id: "tensorrt-llm",
        family: Family::TensorRtLlm,
        words: Words {
            tensor: "--tp_size {}",
            pipeline: "--pp_size {}",
            context: "--max_seq_len {}",
            concurrency: "--max_batch_size {}",
            utilization: "--kv_cache_free_gpu_memory_fraction {}",
            ..NO_WORDS
        },
        source: "TensorRT-LLM documentation, KV cache config",
    },
    Framework {
        id: "llama-cpp",
        family: Family::LlamaCpp,
        words: Words { kv8: "-fa on --cache-type-k q8_0 --cache-type-v q8_0", ..LLAMA_WORDS },
        source: "llama.cpp PR 16653, llama-kv-cache.cpp",
    },
    wordless("ollama", Family::LlamaCpp, "ollama issue 10359, PR 11090"),
    wordless("lm-studio", Family::LlamaCpp, "LM Studio documentation"),
    wordless("llama-cpp-python", Family::LlamaCpp, "llama.cpp PR 16653"),
    wordless("ktransformers", Family::KTransformers, "ktransformers issue 806"),
    wordless(
        "transformers",
        Family::Transformers,
        "Qwen2.5 speed benchmark, 112 peaks; accelerate's estimate-memory documentation",
    ),
    wordless("exllamav2", Family::ExLlama, "exllama issue 165"),
    wordless("exllamav3", Family::ExLlama, "exllama issue 165"),
];

impl Words {
    /// What tells the framework this split; empty where nothing is split or it finds out itself.
    pub fn split(&self, parallel: Parallel) -> String {
        let words = [(self.tensor, parallel.tp), (self.pipeline, parallel.pp)];
        let told = words.into_iter().filter(|(word, count)| *count > 1 && !word.is_empty());
        let told: Vec<_> =
            told.map(|(word, count)| word.replace("{}", &count.to_string())).collect();
        told.join(" ")
    }
}

impl Framework {
    /// The framework with this id.
    pub fn find(id: &str) -> Option<&'static Self> {
        FRAMEWORKS.iter().find(|one| one.id == id)
    }
}

impl Family {
    /// Whether it loads files of this format: llama.cpp and what is built on it take GGUF alone.
    pub fn loads(self, shape: &Shape) -> bool {
        self != Self::LlamaCpp || shape.format.as_ref().is_some_and(|one| one.name == "gguf")
    }

    /// Whether it cuts each layer over GPUs; the others give whole layers to each.
    pub fn is_tensor_parallel(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::Lmdeploy | Self::Tgi | Self::TensorRtLlm)
    }

    /// Whether stages of layers can be put on several GPUs beside that.
    pub fn is_pipelined(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::TensorRtLlm)
    }

    /// Whether layers that do not fit can be left in host memory.
    pub fn spills(self) -> bool {
        matches!(self, Self::LlamaCpp | Self::KTransformers | Self::Transformers)
    }
}

/// A version as numbers, a build of llama.cpp (`b1430`) as the last of them; the newest where the text has none.
pub fn release(version: Option<&str>) -> Release {
    let Some(version) = version else { return NEWEST };
    if let Some(build) = version.strip_prefix('b').and_then(|build| build.parse().ok()) {
        return (0, 0, build);
    }
    let mut numbers = version.trim_start_matches('v').split(['.', '+', '-']).map_while(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    match numbers.next() {
        Some(major) => (major, numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
        None => NEWEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert_eq!(release(Some("0.6.4.post1")), (0, 6, 4));
        assert_eq!(release(Some("0.15.2rc1.dev93")), (0, 15, 2));
        assert!(release(Some("0.9.2")) < release(Some("0.11.0")));
        assert!(release(Some("b1430")) < release(Some("b1842")));
        assert!(release(Some("main")) == NEWEST && release(None) == NEWEST);
    }
}
