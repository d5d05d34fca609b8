//! What starts on the GPUs, the memory and the releases there are.

use super::*;

fn h100(free_gib: Option<u64>, index: Option<u32>) -> Target {
    let name = "NVIDIA H100 80GB HBM3";
    Target {
        memory_free_bytes: free_gib.map(|gib| gib * GIB),
        index,
        ..gpu(name, Sm::new(9, 0), 81559)
    }
}

/// vLLM 0.9.1 stopped with 59.32 of 79.15 GiB free, since it wanted 71.24 (kvcached issue 29).
#[test]
fn vllm_is_told_what_is_free_where_others_hold_memory() {
    let (code, out) = planned(&about("Qwen/Qwen3-8B", vec![h100(Some(59), None)], "vllm"));
    assert!(out.contains("--gpu-memory-utilization 0.73"), "{out}");
    assert!(out.contains("of 59.0 GiB free"), "{out}");
    assert_eq!(code, 0, "{out}");
    let mut asked = about("Qwen/Qwen3-8B", vec![h100(Some(59), None)], "vllm");
    asked.demand.tuning.utilization = Some(0.9);
    let (code, out) = planned(&asked);
    assert!(out.contains("0.9 of the memory was asked for, and only 0.74 of it is free"), "{out}");
    assert_eq!(code, 1, "{out}");
    let (_, out) = planned(&about("Qwen/Qwen3-8B", vec![h100(Some(78), None)], "vllm"));
    assert!(!out.contains("utilization"), "{out}");
}

/// What stops a server at the start, whatever memory there is. vLLM issues 6054 and 1116.
#[test]
fn what_a_framework_refuses_is_told() {
    let split = |tp, pp| Some(Parallel { tp, pp, ..Parallel::default() });
    let model = "Qwen/Qwen2.5-7B-Instruct";
    for (framework, context, split, said) in [
        ("vllm", 300_000, None, "300000 tokens are more than the 32768 of the model"),
        ("vllm", 8192, split(3, 1), "tensor parallel 3 needs 3 GPUs, and 2 are named"),
        ("vllm@0.4.2", 8192, split(1, 2), "vllm has pipeline parallelism from 0.5.1 on"),
        ("lmdeploy", 8192, split(1, 2), "lmdeploy has no pipeline parallelism"),
        ("transformers", 8192, split(2, 1), "transformers gives whole layers to each GPU"),
    ] {
        let mut asked = about(model, vec![h100(None, None), h100(None, None)], framework);
        asked.demand.context = context;
        asked.split = split;
        let (code, out) = planned(&asked);
        assert!(out.contains(said), "{framework}: {out}");
        assert_eq!(code, 1, "{framework}: {out}");
    }
    let longest = |name| all(&about(name, vec![h100(None, None)], "vllm"))[0].way.plan.clone();
    assert_eq!(longest(model).expect("a plan").max_context, Some(32768));
}

#[test]
fn the_order_of_gpus_changes_no_plan() {
    let plan = |mut group: Vec<Target>, framework: &str| {
        Device::most_free_first(&mut group, Device::new);
        let (code, out) = planned(&about("Qwen/Qwen3-32B", group, framework));
        (code, out.lines().take(2).map(str::to_owned).collect::<Vec<_>>())
    };
    for framework in ["vllm", "transformers"] {
        let alone = plan(vec![h100(None, None)], framework);
        assert_eq!(alone.0, 0, "{framework} {:?}", alone.1);
        for group in [vec![t4(), h100(None, None)], vec![h100(None, None), t4()]] {
            assert_eq!(plan(group, framework).1, alone.1, "{framework}");
        }
    }
}

#[test]
fn commands_show_the_gpus_of_the_plan_alone() {
    let machine: Vec<Target> = (0..4).map(|index| h100(None, Some(index))).collect();
    let command = |framework: &str, on: &[usize]| {
        let gguf = framework == "llama-cpp";
        let name = if gguf { "Qwen/Qwen3-8B-GGUF:Q4_K_M" } else { "Qwen/Qwen3-8B" };
        let group = on.iter().map(|at| machine[*at].clone()).collect();
        let asked = PlanRequest { machine: machine.clone(), ..about(name, group, framework) };
        all(&asked).remove(0).command.expect("a command")
    };
    assert!(command("vllm", &[2]).starts_with("CUDA_VISIBLE_DEVICES=2 vllm serve"));
    assert!(command("vllm", &[0]).starts_with("vllm serve"));
    assert!(command("llama-cpp", &[0]).starts_with("CUDA_VISIBLE_DEVICES=0 llama-server"));
    assert!(command("llama-cpp", &[0, 1, 2, 3]).starts_with("llama-server"));
    let set = "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"3\"\n";
    assert!(command("transformers", &[3]).starts_with(set));
}

/// By the code of each: vLLM's `minicpm3.py` and `deepseek_v2.py`, transformers' `modeling_deepseek_v3.py`.
#[test]
fn compressed_attention_takes_what_frameworks_keep_of_it() {
    for (name, framework, bytes) in [
        ("openbmb/MiniCPM3-4B", "vllm", 62 * 40 * (96 + 96) * 2),
        ("deepseek-ai/DeepSeek-V3", "transformers", 61 * 128 * (192 + 128) * 2),
        ("deepseek-ai/DeepSeek-V3", "vllm", 61 * 576 * 2),
        ("deepseek-ai/DeepSeek-V3.2", "vllm", 61 * (576 * 2 + 132)),
    ] {
        let found = all(&about(name, vec![h100(None, None)], framework));
        let plan = found[0].way.plan.as_ref().expect("a plan");
        assert_eq!(plan.kv_per_token.round() as u64, bytes, "{name} {framework}");
    }
}

#[test]
fn host_memory_limits_what_is_left_there() {
    let group = vec![gpu("GeForce RTX 4090", Sm::new(8, 9), 24564)];
    for (name, framework) in [
        ("deepseek-ai/DeepSeek-V3-GGUF:Q4_K_M", "llama-cpp"),
        ("deepseek-ai/DeepSeek-V3", "ktransformers"),
    ] {
        let mut asked = about(name, group.clone(), framework);
        assert!(planned(&asked).1.contains("GiB in host memory"), "{framework}");
        asked.host_memory = Some(24 * GIB);
        let (code, out) = planned(&asked);
        assert!(out.contains("would lie in host memory, which has 24.0 GiB"), "{out}");
        assert_eq!(code, 1, "{out}");
    }
}
