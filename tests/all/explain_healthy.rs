//! What healthy machines say is no error, alone or beside one.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use warpscope::engine::explain::{Confidence, Facts, Problem, Reader, explain};
use warpscope_probes::rules::RuleBase;

const HEALTHY: &str = include_str!("../explain/healthy.toml");
/// Whole logs, which are not set beside errors: they are long.
const ORDINARY: &str = include_str!("../explain/ordinary.toml");

/// Texts of errors, of which several are of no class.
const TEXTS: [&str; 6] = [
    include_str!("../explain/draw_1.jsonl"),
    include_str!("../explain/draw_2.jsonl"),
    include_str!("../explain/draw_3.jsonl"),
    include_str!("../explain/draw_4.jsonl"),
    include_str!("../explain/draw_5.jsonl"),
    include_str!("../explain/draw_6.jsonl"),
];

/// Blocks that tell something about a text, each with the texts and why.
const TELLING: &[(&str, &[&str], &str)] = &[
    (
        "llama.cpp start",
        &["ollama/ollama#10075"],
        "says that the build has CUDA, where the text says that it has not",
    ),
    (
        "torch.__config__",
        &["LostRuins/koboldcpp#1409"],
        "names PyTorch, which the text leaves open",
    ),
    (
        "NCCL of a good start",
        &["ggml-org/llama.cpp#23689", "pytorch/pytorch#88639"],
        "says that ranks connected, where the text says that something hangs",
    ),
    (
        "distribution and services",
        &["file:56731792895 (MiniPrem, CUDA error 35)"],
        "names services of containers, where the text speaks of a pod",
    ),
    (
        "paths of a traceback",
        &["triton-inference-server/server#2414"],
        "has the path of the PyTorch that the text blames",
    ),
];

/// Bytes of a text that is long enough to have such lines itself; each costs as much time as fifty others.
const LONG: usize = 4200;

#[derive(Deserialize)]
struct Block {
    name: String,
    text: String,
}

fn blocks(file: &str) -> Vec<Block> {
    #[derive(Deserialize)]
    struct File {
        block: Vec<Block>,
    }
    toml::from_str::<File>(file).expect("TOML").block
}

/// The first problem. Without rules, which only names are taken from here: they cost most of the time.
fn first(text: &str) -> Option<Problem> {
    let mut reader = Reader::default();
    reader.push(text.as_bytes());
    explain(&reader.finish(), &Facts::default(), &RuleBase::default()).problems.into_iter().next()
}

#[test]
fn what_healthy_machines_say_is_no_error() {
    let mut blocks = blocks(HEALTHY);
    assert!(blocks.len() >= 25);
    blocks.extend(self::blocks(ORDINARY));
    assert!(blocks.len() >= 45);
    let told = |block: &Block| {
        let lines = block.text.lines().map(str::to_owned);
        let told = lines.chain([block.text.clone()]).filter_map(|text| {
            let told = first(&text)?;
            let name = &block.name;
            Some(format!("{name}: {}.{} of {text}", told.class, told.subkind))
        });
        told.collect::<Vec<_>>()
    };
    let wrong: Vec<_> = blocks.iter().flat_map(told).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a text that told one cause keeps it, and one that told two or several is not sure of a third.
fn is_kept(alone: Option<&Problem>, beside: Option<&Problem>) -> bool {
    match (alone, beside) {
        (None, None) => true,
        (Some(alone), Some(beside)) if alone.class == beside.class => true,
        (Some(alone), Some(beside)) if alone.confidence == Confidence::OneOfTwo => {
            !beside.confidence.is_sure()
                || alone.or.as_ref().is_some_and(|or| or.starts_with(&beside.class))
        }
        (Some(alone), beside) => {
            !alone.confidence.is_sure() && beside.is_none_or(|one| !one.confidence.is_sure())
        }
        (None, Some(_)) => false,
    }
}

#[test]
fn an_error_keeps_its_cause_whatever_stands_beside_it() {
    let rows = TEXTS.iter().flat_map(|texts| texts.lines());
    let rows = rows.map(|line| serde_json::from_str(line).expect("JSON"));
    let is_short = |row: &Value| row["error_text"].as_str().is_some_and(|one| one.len() < LONG);
    let rows: Vec<Value> = rows.filter(is_short).collect();
    let blocks = blocks(HEALTHY);
    let changed = |row: &Value| -> Vec<(String, String)> {
        let error = row["error_text"].as_str().expect("a text");
        let id = row["id"].as_str().expect("an id");
        let alone = first(error);
        let is_changed = |block: &&Block| {
            let texts = [format!("{error}\n{}", block.text), format!("{}{error}\n", block.text)];
            !texts.iter().all(|text| is_kept(alone.as_ref(), first(text).as_ref()))
        };
        let changed = blocks.iter().filter(is_changed);
        changed.map(|block| (block.name.clone(), id.to_owned())).collect()
    };
    let changed: BTreeSet<_> = rows.iter().flat_map(changed).collect();
    let telling = TELLING.iter().flat_map(|(name, ids, why)| {
        assert!(!why.is_empty());
        ids.iter().map(|id| ((*name).to_owned(), (*id).to_owned()))
    });
    let known: BTreeSet<_> = telling.collect();
    let unknown: Vec<_> = changed.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}
