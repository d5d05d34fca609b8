//! Predicted speeds against published ones.

use std::collections::BTreeMap;

use warpscope::engine::plan::{
    Demand, Framework, Parallel, Range, Speed, Tuning, plan, release, speed,
};
use warpscope_probes::model::{Model, Shape};

use super::dimensions::{Row, group, number, rows};

const TABLE: &str = include_str!("../../plan/speeds.csv");

/// The shape of a model of the table, scaled to the size of a GGUF file where there is one.
fn shape(row: &Row<'_>) -> Shape {
    let name = row["model"];
    let mut shape = Model::known(name).and_then(|model| model.shape).expect(name);
    let size = number(row, "gib") * f64::from(1 << 30);
    if size > 0.0 {
        let scale = size / shape.weight_bytes() as f64;
        for one in &mut shape.weights {
            one.bytes = (one.bytes as f64 * scale) as u64;
        }
    }
    shape
}

fn predicted(row: &Row<'_>) -> Option<Speed> {
    let framework = Framework::find(row["framework"]).expect("is planned");
    let count = number(row, "gpus") as u64;
    let gpus = if count > 1 { format!("{count}x{}", row["gpu"]) } else { row["gpu"].to_owned() };
    let group = group(&gpus);
    // Half of a context is filled on average: here, the prompt and half of what is generated.
    let filled = number(row, "prompt") + number(row, "generated") / 2.0;
    let tp = if framework.family.is_tensor_parallel() { count } else { 1 };
    let demand = Demand {
        parallel: Parallel { tp, ..Parallel::default() },
        release: Some(release(Some(row["release"]).filter(|text| !text.is_empty()))),
        tuning: Tuning { all_layers: true, ..Tuning::default() },
        ..Demand::new((2.0 * filled) as u64)
    };
    let shape = shape(row);
    let plan = plan(&shape, &group, framework, &demand)?;
    let prompt = Demand { context: (number(row, "prompt") as u64).max(1), ..demand.clone() };
    let prefill = speed(&shape, &group, framework, &prompt, &plan)?.prefill;
    Some(Speed { prefill, ..speed(&shape, &group, framework, &demand, &plan)? })
}

/// The rate as the table counts it, from decode and prefill.
fn rate(row: &Row<'_>, speed: &Speed) -> Range {
    let (prompt, generated) = (number(row, "prompt"), number(row, "generated"));
    let counted = if row["kind"] == "both" { prompt + generated } else { generated };
    let prefill = if row["kind"] == "decode" { 0.0 } else { prompt };
    let of = |decode: f64, prompts: f64| counted / (generated / decode + prefill / prompts);
    Range {
        low: of(speed.decode.low, speed.prefill.low),
        mid: of(speed.decode.mid, speed.prefill.mid),
        high: of(speed.decode.high, speed.prefill.high),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[test]
fn published_speeds_lie_within_the_stated_ranges() {
    let table = rows(TABLE);
    let mut groups: BTreeMap<String, Vec<(f64, bool)>> = BTreeMap::new();
    for row in &table {
        let measured = number(row, "rate");
        let speed = predicted(row).expect("the GPU is known");
        let range = rate(row, &speed);
        let error = range.mid / measured - 1.0;
        if !range.holds(measured) {
            println!(
                "  {} {} {} x{} at {}: {:.0} to {:.0}, measured {measured}",
                row["framework"],
                row["model"],
                row["gpu"],
                row["gpus"],
                row["prompt"],
                range.low,
                range.high
            );
        }
        let format = row["model"].rsplit("Instruct").next().filter(|tail| tail.len() < 12);
        let key = format!("{} {} {}", row["framework"], row["gpu"], format.unwrap_or_default());
        groups.entry(key).or_default().push((error, range.holds(measured)));
    }
    for (key, scores) in &groups {
        let errors = || scores.iter().map(|one| one.0);
        println!(
            "{key}: {} rows, median error {:.0}%, median bias {:+.0}%, {} in range",
            scores.len(),
            median(errors().map(f64::abs).collect()) * 100.0,
            median(errors().collect()) * 100.0,
            scores.iter().filter(|one| one.1).count()
        );
    }
    let all: Vec<_> = groups.into_values().flatten().collect();
    let inside = all.iter().filter(|one| one.1).count();
    let middle = median(all.iter().map(|one| one.0.abs()).collect());
    println!("{} rows: median error {:.0}%, {inside} in range", all.len(), middle * 100.0);
    assert!(middle <= 0.35, "{middle}");
    assert!(inside * 10 >= all.len() * 8, "{inside} of {}", all.len());
}
