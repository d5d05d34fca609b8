//! Errors over published measurements, by framework.

use std::collections::BTreeMap;

use warpscope::engine::plan::{
    Demand, Framework, KvFormat, Method, Parallel, Plan, Training, Tuning, independent, plan,
    release, training,
};

use super::dimensions::{Row, group, number, rows, shape};

const TABLE: &str = include_str!("../../plan/memory.csv");
const GIB: f64 = (1_u64 << 30) as f64;

/// What is said of a measure, against what was measured; both in GiB.
struct Scored {
    low: f64,
    mid: f64,
    high: f64,
    measured: f64,
}

impl Scored {
    fn error(&self) -> f64 {
        (self.mid - self.measured) / self.measured
    }

    /// Published figures are rounded to 0.01 GiB.
    fn inside(&self) -> bool {
        self.low - 0.006 <= self.measured && self.measured <= self.high + 0.006
    }
}

/// GPUs as the catalogue names them.
fn gpus(row: &Row<'_>) -> String {
    let count = number(row, "tp") * number(row, "pp");
    let name = match row["gpu"] {
        gpu if gpu.contains("A100") => "A100 80GB",
        "T4" => "T4",
        gpu if gpu.contains("L40S") => "L40S",
        gpu if gpu.contains("A10") => "A10",
        _ => "H100",
    };
    if count > 1.0 { format!("{count}x{name}") } else { name.to_owned() }
}

fn planned(row: &Row<'_>) -> Option<Plan> {
    let format = row["format"];
    let context = number(row, "context").max(1.0) as u64;
    let framework = Framework::find(row["framework"])?;
    let mut demand = Demand::new(context);
    demand.parallel = Parallel {
        tp: number(row, "tp") as u64,
        pp: number(row, "pp") as u64,
        ..Parallel::default()
    };
    demand.release = Some(release(Some(row["release"]).filter(|text| !text.is_empty())));
    demand.width = (format == "32").then_some(4.0);
    demand.kv = format.ends_with("kv8").then_some(KvFormat::Fp8);
    let vllm = framework.id == "vllm";
    demand.tuning = Tuning {
        utilization: Some(number(row, "utilization")).filter(|share| *share > 0.0),
        sequences: Some(number(row, "sequences") as u64).filter(|some| vllm && *some > 1),
        ..Tuning::default()
    };
    if framework.id == "transformers" {
        // A prompt, of which the last 2048 tokens are generated one by one.
        demand.tuning.batched_tokens = Some(context.saturating_sub(2048).max(1));
    }
    plan(&shape(row, format), &group(&gpus(row)), framework, &demand)
}

fn scored(row: &Row<'_>) -> Option<Scored> {
    let measured = number(row, "gib");
    let score = |low: f64, mid: f64, high: f64| {
        Some(Scored { low: low / GIB, mid: mid / GIB, high: high / GIB, measured })
    };
    let ends = |range: warpscope::engine::plan::Range| score(range.low, range.mid, range.high);
    if row["measure"] == "train" {
        let how = Training {
            method: Method::Qlora,
            sequence: number(row, "context") as u64,
            batch: 1,
            checkpointing: true,
            zero: 0,
            optimizer: 8.0,
        };
        return ends(training(&shape(row, row["format"]), &group("A100 80GB"), &how)?.total);
    }
    let plan = planned(row)?;
    match row["measure"] {
        "weights" => ends(plan.weights.bytes),
        "activation" => ends(plan.activations.bytes),
        "non_kv" => ends(independent(
            [plan.weights, plan.activations, plan.libraries].map(|part| part.bytes),
        )),
        // Peaks of PyTorch's allocator, without the context.
        "peak" => {
            ends(independent([plan.weights, plan.activations, plan.kv].map(|part| part.bytes)))
        }
        "total" => ends(plan.total),
        "kv" => {
            let bytes = plan.kv_per_token * number(row, "tokens");
            // Stages print the pool of one rank and the tokens of the least.
            let rounding = if number(row, "pp") > 1.0 { 0.015 } else { 0.001 };
            score(bytes * (1.0 - rounding), bytes, bytes * (1.0 + rounding))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn measurements_lie_within_the_stated_ranges() {
    let table = rows(TABLE);
    let mut groups: BTreeMap<String, Vec<(Scored, &str)>> = BTreeMap::new();
    let (mut inside, mut all) = (0, 0);
    for row in &table {
        let Some(score) = scored(row) else { continue };
        let key =
            format!("{} {} tp{} pp{}", row["framework"], row["measure"], row["tp"], row["pp"]);
        all += 1;
        inside += usize::from(score.inside());
        if !score.inside() || score.error().abs() > 0.15 {
            println!(
                "  {key} {} {} {}: {:.2} {:.2}..{:.2}, measured {:.2}",
                row["model"],
                row["format"],
                row["context"],
                score.mid,
                score.low,
                score.high,
                score.measured
            );
        }
        groups.entry(key).or_default().push((score, row["model"]));
    }
    for (key, scores) in &groups {
        let errors: Vec<f64> = scores.iter().map(|one| one.0.error()).collect();
        let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
        let worst =
            errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
        let within = scores.iter().filter(|one| one.0.inside()).count();
        println!(
            "{key}: {} rows, mean error {:.2}%, worst {:+.1}%, {within} in range",
            scores.len(),
            mean * 100.0,
            worst * 100.0
        );
    }
    println!("{inside} of {all} in range");
    assert!(inside * 10 >= all * 9, "{inside} of {all}");
}
