use std::path::PathBuf;

use super::*;
use crate::commands::answer::text::Style;
use crate::engine::plan::Fits;
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
        groups: vec![group],
        queries: vec![framework.to_owned()],
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
