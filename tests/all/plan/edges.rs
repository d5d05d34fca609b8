//! Models and questions at the edges: files of an old layout, no cache at all, counts beyond any machine.

use warpscope::engine::plan::{Demand, Framework, Plan, Tuning, plan, release};
use warpscope_probes::model::{Model, Shape};

use super::dimensions::group;

fn shape(name: &str) -> Shape {
    Model::known(name).and_then(|model| model.shape).unwrap_or_else(|| panic!("{name}"))
}

fn planned(name: &str, framework: &str, gpu: &str, demand: Demand) -> Plan {
    let framework = Framework::find(framework).expect("a framework");
    plan(&shape(name), &group(gpu), framework, &demand).expect("a GPU")
}

/// llama.cpp b10000 printed 4.21875 GiB for 16384 tokens: 27 layers of 16 heads, 192 of keys and 128 of values in 16 bits.
#[test]
fn files_made_before_the_compressed_cache_keep_every_head() {
    let demand = Demand { release: Some(release(Some("b10000"))), ..Demand::new(16384) };
    let name = "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF:Q4_0";
    let kv = planned(name, "llama-cpp", "RTX 4090", demand.clone()).kv.bytes;
    assert_eq!(kv.mid, 27.0 * 16.0 * (192.0 + 128.0) * 2.0 * 16384.0);
    let either = planned("unsloth/DeepSeek-R1-GGUF:Q4_K_M", "llama-cpp", "8xH200", demand);
    assert!(either.kv.bytes.high > 50.0 * either.kv.bytes.mid, "{:?}", either.kv);
    assert!(either.total.high > either.kv.bytes.high);
}

#[test]
fn what_keeps_nothing_of_tokens_has_no_longest_context() {
    let mamba = planned("state-spaces/mamba-2.8b-hf", "vllm", "RTX 4090", Demand::new(8192));
    assert_eq!(mamba.max_context, shape("state-spaces/mamba-2.8b-hf").max_context);
    assert!(mamba.max_concurrency > 0);
    let encoder = planned("BAAI/bge-m3", "vllm", "T4", Demand::new(512));
    assert_eq!(encoder.kv.bytes.high, 0.0);
    assert!(shape("BAAI/bge-m3").is_encoder() && !shape("Qwen/Qwen3-8B").is_encoder());
}

/// 1 310 720 values of 4 bytes in each of 27 layers for every sequence.
#[test]
fn counts_beyond_any_machine_do_not_wrap() {
    let demand = Demand {
        release: Some((0, 10, 1)),
        tuning: Tuning { sequences: Some(1 << 40), ..Tuning::default() },
        ..Demand::new(8192)
    };
    let work = planned("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "vllm", "L40S", demand).activations;
    let states = 27.0 * 1_310_720.0 * 4.0 * 2_f64.powi(40);
    assert!(work.bytes.mid > states * 0.97, "{work:?}");
}

/// 8192 tokens at once for a large card, 2048 where NVML tells of no memory.
#[test]
fn memory_shared_with_the_cpu_counts_as_none_for_the_defaults_of_vllm() {
    let work =
        |gpu: &str| planned("Qwen/Qwen3-8B", "vllm", gpu, Demand::new(8192)).activations.bytes.mid;
    assert!(work("GB10") < work("RTX PRO 6000 Blackwell") / 2.0);
    assert_eq!(work("GB10"), work("Jetson Thor"));
}

#[test]
fn names_of_ollama_stand_for_models() {
    for (name, base) in [
        ("mistral", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("mistral:7b-instruct-q8_0", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("mixtral:latest", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
        ("phi4", "microsoft/phi-4"),
        ("llama3.2", "meta-llama/Llama-3.2-3B-Instruct"),
        ("qwen3:32b", "Qwen/Qwen3-32B"),
        ("smollm2:360m", "HuggingFaceTB/SmolLM2-360M-Instruct"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B"),
    ] {
        let (served, own) = (shape(name), shape(base));
        assert_eq!((served.hidden, served.depth()), (own.hidden, own.depth()), "{name}");
    }
    assert!(Model::known("mistral:9b").is_none() && Model::known("mystery").is_none());
    let bits = |name: &str| shape(name).weight_bytes() * 8 / shape(name).parameters();
    assert_eq!((bits("codellama"), bits("smollm2"), bits("phi4")), (4, 8, 4));
}
