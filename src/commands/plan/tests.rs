mod starts;

use std::path::PathBuf;

use super::*;
use crate::commands::answer::text::Style;
use crate::engine::plan::{FRAMEWORKS, Family, Fits, Framework};
use warpscope_kernels::Sm;
use warpscope_probes::model::{
    Attention, LayerRun, Mlp, Model, Shape, ShapeSource, WeightFormat, WeightGroup, WeightRole,
};
use warpscope_probes::rules::Settings;

const GIB: u64 = 1 << 30;

/// Qwen2.5-32B-Instruct-AWQ by its config.json: 18.0 GiB of files.
fn qwen_32b_awq() -> Model {
    let (hidden, inner, layers, vocab) = (5120, 27648, 64, 152_064);
    let attention = layers * hidden * (2 * 5120 + 2 * 1024);
    let mlp = layers * 3 * hidden * inner;
    let group = |role, values: u64, bits: f64| WeightGroup {
        role,
        values,
        bytes: (values as f64 * bits / 8.0) as u64,
    };
    let heads =
        Attention::Heads { heads: 40, kv_heads: 8, head_dim: 128, value_dim: 128, window: None };
    let shape = Shape {
        source: ShapeSource::Config,
        hidden,
        vocab,
        max_context: Some(32768),
        tied_head: false,
        axes_dim: 0,
        fed_layers: 0,
        layers: vec![LayerRun {
            count: layers,
            attention: heads,
            mlp: Mlp::Dense { intermediate: inner },
        }],
        weights: vec![
            group(WeightRole::Embedding, vocab * hidden, 16.0),
            group(WeightRole::Head, vocab * hidden, 16.0),
            group(WeightRole::Attention, attention, 4.156),
            group(WeightRole::Mlp, mlp, 4.156),
        ],
        format: Some(WeightFormat {
            name: "awq".to_owned(),
            bits: Some(4.0),
            group: Some(128),
            block: None,
            reordered: false,
            kept: Vec::new(),
        }),
    };
    let pairs = [("model_type", "qwen2"), ("checkpoint_dtype", "fp16"), ("quantization", "awq")];
    Model {
        name: "Qwen2.5-32B-Instruct-AWQ".to_owned(),
        settings: Settings::new(pairs).expect("settings"),
        weight_bytes: Some(shape.weight_bytes()),
        shape: Some(shape),
        ..Model::default()
    }
}

fn gpu(name: &str, sm: Sm, mib: u64) -> Target {
    Target { memory_bytes: Some(mib << 20), ..Target::of_sm(name, sm) }
}

fn t4() -> Target {
    gpu("NVIDIA T4", Sm::new(7, 5), 15360)
}

fn request(group: Vec<Target>, framework: &str) -> PlanRequest {
    let model = qwen_32b_awq();
    PlanRequest {
        named: PathBuf::from("Qwen/Qwen2.5-32B-Instruct-AWQ"),
        assumptions: Assumptions { model: Some(model.clone()), ..Assumptions::default() },
        model,
        host_memory: None,
        machine: group.clone(),
        groups: vec![group],
        queries: vec![framework.to_owned()],
        is_usual: false,
        unheard: Vec::new(),
        dtype: None,
        demand: Demand::new(8192),
        split: None,
        why: false,
        form: Form::Text,
        style: Style::default(),
    }
}

fn planned(request: &PlanRequest) -> (u8, String) {
    let mut out = Vec::new();
    let exit = answer(RuleBase::builtin(), request, &mut out).expect("an answer");
    (exit.code(), String::from_utf8(out).expect("text"))
}

/// The question this command was made for.
#[test]
fn two_t4_serve_a_32b_awq_with_tensor_parallel_2() {
    let (code, out) = planned(&request(vec![t4(), t4()], "vllm:awq"));
    let mut lines = out.lines();
    let first = lines.next().expect("a line");
    assert!(
        first.starts_with("✔ vLLM") && first.contains("2×NVIDIA T4, tensor parallel 2"),
        "{out}"
    );
    assert!(
        first.contains("9.0 weights + 1.0 KV (8k × 1)") && first.contains("of 15.0 GiB each"),
        "{out}"
    );
    let command = lines.next().expect("a command");
    assert!(command.starts_with("  vllm serve Qwen/Qwen2.5-32B-Instruct-AWQ"), "{out}");
    assert!(
        command.contains("--tensor-parallel-size 2") && command.contains("--max-model-len 8192"),
        "{out}"
    );
    assert_eq!(code, 0, "{out}");
}

#[test]
fn one_t4_does_not_and_one_more_is_offered() {
    let (code, out) = planned(&request(vec![t4()], "vllm:awq"));
    assert!(out.starts_with("✖ vLLM") && out.contains("does not fit"), "{out}");
    assert!(
        out.contains("would help most: one more NVIDIA T4 (--tensor-parallel-size 2)"),
        "{out}"
    );
    assert!(!out.contains("vllm serve"), "no command that fails is offered: {out}");
    assert_eq!(code, 1);
}

#[test]
fn three_t4_say_why_not_tensor_parallel_3() {
    let (_, out) = planned(&request(vec![t4(), t4(), t4()], "vllm:awq"));
    assert!(out.contains("40 heads do not divide by 3; the nearest that works is 2"), "{out}");
    let mut asked = request(vec![t4(), t4(), t4()], "vllm:awq");
    asked.split = Some(Parallel { tp: 3, ..Parallel::default() });
    let (code, out) = planned(&asked);
    assert!(code == 1 && out.contains("40 heads do not divide by 3"), "{out}");
}

#[test]
fn two_v100_hold_it_too() {
    let v100 = || gpu("Tesla V100 PCIe 16GB", Sm::new(7, 0), 16384);
    let asked = request(vec![v100(), v100()], "lmdeploy:turbomind");
    let base = RuleBase::builtin();
    let words = Words { words: &asked.queries, dtype: None };
    let questions = crate::commands::answer::query::asked(base, words, &asked.assumptions);
    let all = candidates(base, &asked, &asked.groups[0], &questions.expect("questions"));
    let best = all.first().expect("a candidate");
    assert!(
        best.way.fits() <= Fits::Tight && best.way.demand.parallel.tp == 2,
        "{:?}",
        best.way.plan
    );
}

/// 14.9 GiB of weights on a T4 of which others hold 9.6.
#[test]
fn memory_that_others_hold_is_not_planned() {
    let busy = || Target { memory_free_bytes: Some(54 * GIB / 10), ..t4() };
    let (code, out) = planned(&request(vec![busy(), busy()], "vllm:awq"));
    assert!(code == 1 && out.contains("does not fit"), "{out}");
}

#[test]
fn json_has_the_documented_keys() {
    let mut asked = request(vec![t4(), t4()], "vllm:awq");
    asked.form = Form::Json;
    let (_, out) = planned(&asked);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let one = &json["candidates"][0];
    assert_eq!((&one["fits"], &one["parallel"]["tp"]), (&"fits".into(), &2.into()));
    for key in [
        "framework",
        "version",
        "config",
        "gpus",
        "verdict",
        "memory_bytes",
        "kv_bytes_per_token",
        "max_context",
        "max_concurrency",
        "command",
        "sources",
    ] {
        assert!(!one[key].is_null(), "{key} in {one}");
    }
    for key in ["low", "mid", "high"] {
        assert!(one["memory_bytes"]["total"][key].is_u64(), "{one}");
    }
    let documented = include_str!("../../../docs/plan-json.md");
    for key in one.as_object().expect("an object").keys() {
        assert!(documented.contains(&format!("`{key}`")), "{key} is not documented");
    }
}

#[test]
fn every_part_and_markdown() {
    let mut asked = request(vec![t4(), t4()], "vllm:awq");
    asked.why = true;
    insta::assert_snapshot!("why", planned(&asked).1);
    asked.form = Form::Markdown;
    insta::assert_snapshot!("markdown", planned(&asked).1);
}

/// What stands in the command of a framework for a context of 12345, three requests at once, eight prepared for, batches of 4096 tokens, two
/// GPUs, a share of 0.8, a cache of 8 bits and no graphs, as the documentation of its options spells it.
const SAID: &[(&str, KvFormat, &[&str])] = &[
    (
        "vllm",
        KvFormat::Fp8,
        &[
            "--max-model-len 12345",
            "--max-num-seqs 8",
            "--max-num-batched-tokens 4096",
            "--tensor-parallel-size 2",
            "--gpu-memory-utilization 0.8",
            "--kv-cache-dtype fp8",
            "--enforce-eager",
        ],
    ),
    (
        "sglang",
        KvFormat::Fp8,
        &[
            "--context-length 12345",
            "--max-running-requests 8",
            "--chunked-prefill-size 4096",
            "--tp-size 2",
            "--mem-fraction-static 0.8",
            "--kv-cache-dtype fp8_e5m2",
            "--disable-cuda-graph",
        ],
    ),
    (
        "lmdeploy",
        KvFormat::Int8,
        &[
            "--session-len 12345",
            "--max-batch-size 8",
            "--max-prefill-token-num 4096",
            "--tp 2",
            "--cache-max-entry-count 0.8",
            "--quant-policy 8",
        ],
    ),
    (
        "tgi",
        KvFormat::Fp8,
        &[
            "--max-total-tokens 12345",
            "--max-concurrent-requests 8",
            "--max-batch-prefill-tokens 4096",
            "--num-shard 2",
            "--cuda-memory-fraction 0.8",
            "--kv-cache-dtype fp8_e4m3fn",
            "--cuda-graphs 0",
        ],
    ),
    (
        "llama-cpp",
        KvFormat::Q8,
        &["-c 37035", "-np 3", "--cache-type-k q8_0", "--cache-type-v q8_0"],
    ),
    (
        "ollama",
        KvFormat::Q8,
        &["OLLAMA_CONTEXT_LENGTH=12345 ", "OLLAMA_NUM_PARALLEL=3 ", "OLLAMA_KV_CACHE_TYPE=q8_0 "],
    ),
    ("llama-cpp-python", KvFormat::Q8, &["n_ctx=12345", "type_k=8, type_v=8"]),
    ("transformers", KvFormat::Fp16, &["device_map=\"auto\""]),
];

fn about(name: &str, group: Vec<Target>, framework: &str) -> PlanRequest {
    let model = Model::known(name).expect("is in the table");
    PlanRequest {
        named: PathBuf::from(name),
        assumptions: Assumptions { model: Some(model.clone()), ..Assumptions::default() },
        model,
        ..request(group, framework)
    }
}

fn all(request: &PlanRequest) -> Vec<Candidate> {
    let words = Words { words: &request.queries, dtype: None };
    let base = RuleBase::builtin();
    let asked = asked(base, words, &request.assumptions).expect("questions");
    candidates(base, request, &request.groups[0], &asked)
}

#[test]
fn commands_say_what_was_planned() {
    let h100 = || gpu("NVIDIA H100 80GB HBM3", Sm::new(9, 0), 81559);
    for (framework, kv, said) in SAID {
        let gguf = Framework::find(framework).is_some_and(|one| one.family == Family::LlamaCpp);
        let name = if gguf { "Qwen/Qwen3-14B-GGUF:Q4_K_M" } else { "Qwen/Qwen3-14B" };
        let mut asked = about(name, vec![h100(), h100()], framework);
        let tuning = Tuning {
            utilization: Some(0.8),
            sequences: Some(8),
            batched_tokens: Some(4096),
            eager: true,
            ..Tuning::default()
        };
        asked.demand = Demand { kv: Some(*kv), concurrency: 3, tuning, ..Demand::new(12345) };
        let found = all(&asked);
        assert!(!found.is_empty(), "{framework}");
        for one in found {
            let command = one.command.expect("a command");
            for word in *said {
                assert!(command.contains(word), "{framework}: no {word} in {command}");
            }
        }
    }
}

/// What is quantised while it is loaded says so; a checkpoint as it is saved does not.
#[test]
fn commands_quantise_where_the_plan_does() {
    let l4 = gpu("NVIDIA L4", Sm::new(8, 9), 23034);
    let mut quantised = 0;
    for framework in FRAMEWORKS.iter().filter(|one| one.family != Family::LlamaCpp) {
        let asked = about("Qwen/Qwen3-14B", vec![l4.clone()], framework.id);
        let words = Words { words: &asked.queries, dtype: None };
        if super::asked(RuleBase::builtin(), words, &asked.assumptions).is_err() {
            continue;
        }
        for one in all(&asked) {
            let packed = one.way.demand.packed.is_some();
            quantised += usize::from(packed);
            let Some(command) = one.command else { continue };
            assert_eq!(command.contains("quantiz"), packed, "{command}");
        }
    }
    assert!(quantised >= 3, "{quantised}");
}

#[test]
fn a_word_for_a_format_plans_a_copy_of_the_model() {
    let meant = |name: &str, words: &[&str]| {
        let queries = words.iter().map(|word| (*word).to_owned()).collect();
        let model = Model::known(name).expect("is in the table");
        let selected = SelectedCopy::of(name.into(), model, queries);
        (selected.named.display().to_string(), selected.queries)
    };
    let of = |name: &str, queries: &[&str]| {
        (name.to_owned(), queries.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    };
    let name = "Qwen/Qwen3-32B";
    assert_eq!(meant(name, &["vllm"]), of(name, &["vllm"]));
    assert_eq!(meant(name, &["vllm:awq"]), of("Qwen/Qwen3-32B-AWQ", &["vllm"]));
    assert_eq!(meant(name, &["ollama"]), of("Qwen/Qwen3-32B-GGUF:Q4_K_M", &["ollama"]));
    assert_eq!(meant(name, &["llama-cpp:q8_0"]), of("Qwen/Qwen3-32B-GGUF:Q8_0", &["llama-cpp"]));
    assert_eq!(meant(name, &["vllm", "llama-cpp"]).0, name);
    assert!(meant(name, &["vllm:nvfp4"]).0.ends_with("-NVFP4"));
    assert_eq!(meant("openai/gpt-oss-20b", &["llama.cpp"]).0, "ggml-org/gpt-oss-20b-GGUF");
    let gguf = meant("deepseek-ai/DeepSeek-V3", &["ollama"]).0;
    assert_eq!(gguf, "deepseek-ai/DeepSeek-V3-GGUF:Q4_K_M");
}

/// The options as they are given, the concurrency where they are not.
#[test]
fn as_many_sequences_are_said_as_are_planned() {
    let h100 = || gpu("NVIDIA H100 80GB HBM3", Sm::new(9, 0), 81559);
    for (sequences, concurrency, said) in [
        (Some(1), 1, Some("--max-num-seqs 1")),
        (Some(8), 8, Some("--max-num-seqs 8")),
        (Some(16), 8, Some("--max-num-seqs 16")),
        (None, 8, Some("--max-num-seqs 8")),
        (None, 1, None),
    ] {
        let mut asked = about("Qwen/Qwen3-14B", vec![h100()], "vllm");
        let tuning = Tuning { sequences, ..Tuning::default() };
        asked.demand = Demand { concurrency, tuning, ..Demand::new(8192) };
        let command = all(&asked).remove(0).command.expect("a command");
        let args: Vec<&str> = command.split(' ').collect();
        let at = args.iter().position(|arg| *arg == "--max-num-seqs");
        assert_eq!(at.map(|at| args[at..at + 2].join(" ")).as_deref(), said, "{command}");
    }
}

#[test]
fn counts_that_cannot_be_meant_are_refused() {
    let why = |sequences, batched_tokens, concurrency| {
        let tuning = Tuning { sequences, batched_tokens, ..Tuning::default() };
        check(&tuning, concurrency).err().map(|error| error.to_string())
    };
    assert_eq!(why(Some(8), Some(4096), 8), None);
    assert_eq!(why(None, None, 8), None);
    let few = why(Some(2), None, 8).expect("an error");
    for part in ["--max-seqs 2", "--concurrency 8", "raise --max-seqs to 8", "--concurrency to 2"] {
        assert!(few.contains(part), "{few}");
    }
    for wrong in [0, MOST + 1, u64::MAX] {
        assert!(why(Some(wrong), None, 1).expect("an error").contains("--max-seqs"));
        assert!(why(None, Some(wrong), 1).expect("an error").contains("--batched-tokens"));
    }
}

/// An fp8 cache is refused on a T4 however it is asked for.
#[test]
fn a_cache_by_the_option_is_judged_like_one_by_the_key() {
    let outcomes = |query: &str, kv| {
        let mut asked = about("Qwen/Qwen3-8B", vec![t4()], query);
        asked.demand.kv = kv;
        let mut found: Vec<_> = all(&asked)
            .iter()
            .map(|one| format!("{:?} {:?}", one.question.config.get("dtype"), one.verdict.outcome))
            .collect();
        found.sort();
        found
    };
    let by_option = outcomes("vllm", Some(KvFormat::Fp8));
    assert!(!by_option.is_empty());
    assert_eq!(by_option, outcomes("vllm kv_cache=fp8", None));
    let (code, out) = planned(&{
        let mut asked = about("Qwen/Qwen3-8B", vec![t4()], "vllm");
        asked.demand.kv = Some(KvFormat::Fp8);
        asked
    });
    assert!(code != 0 && !out.starts_with('✔') && !out.starts_with('↪'), "{out}");
}

#[test]
fn no_fp8_layers_of_transformers_below_8_9() {
    let weights = |name: &str, sm| {
        let asked = about("Qwen/Qwen3-8B", vec![gpu(name, sm, 49152)], "transformers:fp8");
        let way = all(&asked).remove(0).way;
        (way.demand.packed.is_some(), way.plan.expect("a plan").weights.bytes.mid)
    };
    let (packed, eight) = weights("NVIDIA L40S", Sm::new(8, 9));
    let (unpacked, sixteen) = weights("NVIDIA A6000", Sm::new(8, 6));
    assert!(packed && !unpacked && sixteen > 1.6 * eight, "{eight} {sixteen}");
}

#[test]
fn commands_name_files_as_the_framework_takes_them() {
    let h100 = || gpu("NVIDIA H100 80GB HBM3", Sm::new(9, 0), 81559);
    let command = |name: &str, framework: &str| {
        let found = all(&about(name, vec![h100()], framework));
        found.into_iter().find_map(|one| one.command).expect("a command")
    };
    let gguf = "Qwen/Qwen3-32B-GGUF:Q4_K_M";
    for (name, framework, said) in [
        (gguf, "llama-cpp", "llama-server -hf Qwen/Qwen3-32B-GGUF:Q4_K_M "),
        (
            gguf,
            "llama-cpp-python",
            "Llama.from_pretrained(repo_id=\"Qwen/Qwen3-32B-GGUF\", filename=\"*Q4_K_M.gguf\", ",
        ),
        (
            gguf,
            "transformers",
            "from_pretrained(\"Qwen/Qwen3-32B-GGUF\", gguf_file=\"Qwen3-32B-Q4_K_M.gguf\", ",
        ),
        (
            "MaziyarPanahi/Qwen3-14B-GGUF:Q4_K_M",
            "transformers",
            "from_pretrained(\"MaziyarPanahi/Qwen3-14B-GGUF\", gguf_file=\"Qwen3-14B.Q4_K_M.gguf\", ",
        ),
        (gguf, "ollama", "\nollama run hf.co/Qwen/Qwen3-32B-GGUF:Q4_K_M"),
        ("qwen3:32b", "ollama", "\nollama run qwen3:32b"),
        ("qwen3:32b", "llama-cpp", "llama-server -hf Qwen/Qwen3-32B-GGUF:Q4_K_M "),
        ("qwen3:32b", "vllm", "vllm serve Qwen/Qwen3-32B-GGUF:Q4_K_M "),
    ] {
        let command = command(name, framework);
        assert!(command.contains(said), "{framework}: {command}");
        assert!(!command.contains("quantization_config=gguf"), "{command}");
    }
    let assumes = |name: &str, copy: &str| {
        let out = planned(&about(name, vec![h100()], "vllm")).1;
        out.contains(&format!("assumes a copy named {copy}; not known to be published"))
    };
    assert!(!assumes("qwen3:32b", "Qwen/Qwen3-32B-GGUF:Q4_K_M"));
    assert!(assumes("qwen2.5:32b", "Qwen/Qwen2.5-32B-Instruct-GGUF:Q4_K_M"));
}

#[test]
fn what_no_framework_has_is_said_in_the_words_of_the_option() {
    let mut asked = about("Qwen/Qwen3-8B", vec![t4()], "sglang");
    asked.demand.kv = Some(KvFormat::Int8);
    let out = planned(&asked).1;
    assert_eq!(out, "? none of these frameworks has an int8 KV cache; omit --kv-dtype\n");
    let out = planned(&about("Qwen/Qwen3-8B", vec![t4()], "ollama")).1;
    assert!(
        out.contains("none of the frameworks asked for loads Qwen3-8B as it is saved"),
        "{out}"
    );
}
