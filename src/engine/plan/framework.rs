//! Frameworks that serve models: how each takes memory, splits a model and is told so.

use serde::Serialize;
use warpscope_probes::model::Shape;

use super::command::{KvWord, Place, Words};
use super::demand::{Demand, KvFormat};
use super::device::Device;
use super::pool::smaller_share;

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

/// llama.cpp's own server, and what is built on it.
const LLAMA_KV: &[KvWord] = &[
    KvWord::new(KvFormat::Q8, "q8_0", "-fa on --cache-type-k q8_0 --cache-type-v q8_0")
        .since(FA_TAKES_VALUE),
    KvWord::new(KvFormat::Q4, "q4_0", "-fa on --cache-type-k q4_0 --cache-type-v q4_0")
        .since(FA_TAKES_VALUE),
    KvWord::new(KvFormat::Q8, "q8_0", "-fa --cache-type-k q8_0 --cache-type-v q8_0"),
    KvWord::new(KvFormat::Q4, "q4_0", "-fa --cache-type-k q4_0 --cache-type-v q4_0"),
];
/// `-fa` takes `on`, `off` or `auto` from this build on: PR 15434.
const FA_TAKES_VALUE: Release = (0, 0, 6325);
const LLAMA_UNTOLD: &[KvWord] =
    &[KvWord::new(KvFormat::Q8, "q8_0", ""), KvWord::new(KvFormat::Q4, "q4_0", "")];
const EXL_KV: &[KvWord] = &[
    KvWord::new(KvFormat::Q8, "q8", ""),
    KvWord::new(KvFormat::Q6, "q6", ""),
    KvWord::new(KvFormat::Q4, "q4", ""),
    KvWord::new(KvFormat::Fp8, "fp8", ""),
];

/// Every framework whose memory is understood.
pub const FRAMEWORKS: &[Framework] = &[
    Framework {
        id: "vllm",
        family: Family::Vllm,
        words: Words {
            tensor: "--tensor-parallel-size {}",
            pipeline: "--pipeline-parallel-size {}",
            // Issue 6054.
            pipeline_since: (0, 5, 1),
            context: "--max-model-len {}",
            // `config.py:_get_and_verify_max_len`.
            context_limit: Some(((0, 2, 0), "VLLM_ALLOW_LONG_MAX_MODEL_LEN")),
            concurrency: "--max-num-seqs {}",
            batched_tokens: "--max-num-batched-tokens {}",
            kv: &[
                KvWord::new(KvFormat::Fp8, "fp8", "--kv-cache-dtype fp8"),
                KvWord::new(KvFormat::Nvfp4, "nvfp4", "--kv-cache-dtype nvfp4").since((0, 21, 0)),
                KvWord::new(
                    KvFormat::Int8,
                    "int8_per_token_head",
                    "--kv-cache-dtype int8_per_token_head",
                )
                .since((0, 20, 0)),
                KvWord::new(
                    KvFormat::Int4,
                    "int4_per_token_head",
                    "--kv-cache-dtype int4_per_token_head",
                )
                .since((0, 25, 0)),
            ],
            at_load: &[
                ("fp8", "--quantization fp8"),
                ("nf4", "--quantization bitsandbytes"),
                ("fp4", "--quantization bitsandbytes"),
                ("bitsandbytes", "--quantization bitsandbytes"),
                ("experts_int8", "--quantization experts_int8"),
            ],
            eager: "--enforce-eager",
            utilization: "--gpu-memory-utilization {}",
            ..Words::NONE
        },
        source: "vLLM 0.33 arg_utils.py, gpu_worker.py, kv_cache_planning.py; logs of llm-d-planner PR 205",
    },
    Framework {
        id: "sglang",
        family: Family::Sglang,
        words: Words {
            tensor: "--tp-size {}",
            pipeline: "--pp-size {}",
            // PR 5724, in 0.4.6.post2.
            pipeline_since: (0, 4, 6),
            context: "--context-length {}",
            // PR 1778; until PR 9388 it only warned.
            context_limit: Some(((0, 5, 2), "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")),
            concurrency: "--max-running-requests {}",
            batched_tokens: "--chunked-prefill-size {}",
            kv: &[KvWord::new(KvFormat::Fp8, "fp8_e5m2", "--kv-cache-dtype fp8_e5m2")],
            at_load: &[
                ("fp8", "--quantization fp8"),
                ("nf4", "--quantization bitsandbytes --load-format bitsandbytes"),
                ("bitsandbytes", "--quantization bitsandbytes --load-format bitsandbytes"),
            ],
            eager: "--disable-cuda-graph",
            utilization: "--mem-fraction-static {}",
            ..Words::NONE
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
            batched_tokens: "--max-prefill-token-num {}",
            kv: &[
                KvWord::new(KvFormat::Int8, "int8", "--quant-policy 8"),
                KvWord::new(KvFormat::Int4, "int4", "--quant-policy 4"),
            ],
            utilization: "--cache-max-entry-count {}",
            ..Words::NONE
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
            batched_tokens: "--max-batch-prefill-tokens {}",
            kv: &[KvWord::new(KvFormat::Fp8, "fp8_e4m3", "--kv-cache-dtype fp8_e4m3fn")],
            at_load: &[
                ("nf4", "--quantize bitsandbytes-nf4"),
                ("fp4", "--quantize bitsandbytes-fp4"),
                ("llm_int8", "--quantize bitsandbytes"),
                ("eetq", "--quantize eetq"),
                ("fp8", "--quantize fp8"),
            ],
            eager: "--cuda-graphs 0",
            utilization: "--cuda-memory-fraction {}",
            ..Words::NONE
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
            batched_tokens: "--max_num_tokens {}",
            kv: &[
                KvWord::new(KvFormat::Fp8, "fp8", "--kv_cache_dtype fp8"),
                KvWord::new(KvFormat::Nvfp4, "nvfp4", "--kv_cache_dtype nvfp4"),
            ],
            utilization: "--kv_cache_free_gpu_memory_fraction {}",
            ..Words::NONE
        },
        source: "TensorRT-LLM documentation, KV cache config",
    },
    Framework {
        id: "llama-cpp",
        family: Family::LlamaCpp,
        words: Words {
            context: "-c {}",
            shares_context: true,
            concurrency: "-np {}",
            layers: "-ngl {}",
            kv: LLAMA_KV,
            ..Words::NONE
        },
        source: "llama.cpp PR 16653, llama-kv-cache.cpp",
    },
    Framework {
        id: "ollama",
        family: Family::LlamaCpp,
        words: Words {
            place: Place::Before,
            context: "OLLAMA_CONTEXT_LENGTH={}",
            context_since: (0, 5, 13),
            concurrency: "OLLAMA_NUM_PARALLEL={}",
            kv: &[
                KvWord::new(
                    KvFormat::Q8,
                    "q8_0",
                    "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0",
                )
                .since((0, 5, 0)),
                KvWord::new(
                    KvFormat::Q4,
                    "q4_0",
                    "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q4_0",
                )
                .since((0, 5, 0)),
            ],
            ..Words::NONE
        },
        source: "ollama issue 10359, PR 11090",
    },
    wordless("lm-studio", Family::LlamaCpp, LLAMA_UNTOLD, "LM Studio documentation"),
    Framework {
        id: "llama-cpp-python",
        family: Family::LlamaCpp,
        words: Words {
            place: Place::Inside,
            context: "n_ctx={}",
            layers: "n_gpu_layers={}",
            kv: &[
                KvWord::new(KvFormat::Q8, "q8_0", "flash_attn=True, type_k=8, type_v=8"),
                KvWord::new(KvFormat::Q4, "q4_0", "flash_attn=True, type_k=2, type_v=2"),
            ],
            ..Words::NONE
        },
        source: "llama.cpp PR 16653",
    },
    wordless("ktransformers", Family::KTransformers, LLAMA_UNTOLD, "ktransformers issue 806"),
    Framework {
        id: "transformers",
        family: Family::Transformers,
        words: Words {
            place: Place::Inside,
            // Without it the weights stay in host memory.
            always: "device_map=\"auto\"",
            at_load: &[
                ("fp8", "quantization_config=FineGrainedFP8Config()"),
                ("nf4", ""),
                ("fp4", ""),
                ("llm_int8", ""),
            ],
            ..Words::NONE
        },
        source: "Qwen2.5 speed benchmark, 112 peaks; accelerate's estimate-memory documentation",
    },
    wordless("exllamav2", Family::ExLlama, EXL_KV, "exllama issue 165"),
    wordless("exllamav3", Family::ExLlama, EXL_KV, "exllama issue 165"),
];

/// A framework that is started without options.
const fn wordless(
    id: &'static str,
    family: Family,
    kv: &'static [KvWord],
    source: &'static str,
) -> Framework {
    Framework { id, family, words: Words { kv, ..Words::NONE }, source }
}

impl Framework {
    /// The framework with this id.
    pub fn find(id: &str) -> Option<&'static Self> {
        FRAMEWORKS.iter().find(|one| one.id == id)
    }

    /// Whether it has such a cache, and quantises weights so while it loads them.
    pub fn can(&self, demand: &Demand) -> bool {
        let cache = demand.kv.is_none_or(|format| self.words.kv(format, demand.release).is_some());
        let loads = demand.packed.is_none_or(|one| self.words.at_load(one.format).is_some());
        cache && loads
    }

    /// Whether this release puts stages of layers on several GPUs.
    pub fn is_pipelined(&self, release: Option<Release>) -> bool {
        let Words { pipeline, pipeline_since, .. } = self.words;
        !pipeline.is_empty() && release.is_none_or(|release| release >= pipeline_since)
    }

    /// What is asked as these GPUs meet it: without FP8 layers transformers unpacks weights to 16 bits
    /// (`quantizer_finegrained_fp8.py:validate_environment`), and vLLM is told of a smaller share where others hold memory.
    pub fn met(&self, mut demand: Demand, group: &[Device]) -> Demand {
        let fp8 = demand.packed.is_some_and(|one| one.format == "fp8");
        let lacks = group.iter().any(|device| !device.at_least(8, 9));
        match self.family {
            Family::Transformers if fp8 && lacks => demand.packed = None,
            Family::Vllm if demand.tuning.utilization.is_none() => {
                demand.tuning.utilization = smaller_share(&demand, group);
            }
            _ => {}
        }
        demand
    }
}

impl Family {
    /// Whether it loads such files: llama.cpp and what is built on it take GGUF alone, and servers of generators no encoder.
    pub fn loads(self, shape: &Shape) -> bool {
        let gguf = shape.format.as_ref().is_some_and(|one| one.name == "gguf");
        (self != Self::LlamaCpp || gguf) && (self.encodes() || !shape.is_encoder())
    }

    /// Whether it runs encoders, as the lists of models that each supports have them.
    fn encodes(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::LlamaCpp | Self::Transformers)
    }

    /// Whether it cuts each layer over GPUs; the others give whole layers to each.
    pub fn is_tensor_parallel(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::Lmdeploy | Self::Tgi | Self::TensorRtLlm)
    }

    /// Whether its work space grows with the context.
    pub(super) fn works_on_all_tokens(self) -> bool {
        matches!(self, Self::Tgi | Self::LlamaCpp | Self::Transformers | Self::ExLlama)
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

/// The build of llama.cpp; none for what is built on it and has versions of its own.
pub(super) fn llama_build(release: Option<Release>) -> Option<u32> {
    match release {
        Some((0, 0, build)) => Some(build),
        _ => None,
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

    #[test]
    fn only_builds_of_llama_cpp_are_builds() {
        let build = |version| llama_build(Some(release(Some(version))));
        assert_eq!(build("b6325"), Some(6325));
        // Ollama, llama-cpp-python, LM Studio.
        assert_eq!(["0.32.14", "0.3.20", "2.26"].map(build), [None; 3]);
    }
}
