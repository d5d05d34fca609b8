//! Predicted speeds against published tables.

use std::collections::BTreeMap;

use warpscope::engine::plan::{Demand, Framework, Parallel, plan, release, speed};

use super::dimensions::{Row, group, number, rows, shape};

const RATES: &str = include_str!("../../plan/speed.csv");
const MODELS: &str = include_str!("../../plan/models.csv");

/// Low, middle and high rate of one row.
fn predicted(row: &Row<'_>, models: &[Row<'_>]) -> [f64; 3] {
    let model = models.iter().find(|one| one["model"] == row["model"]).expect("a known model");
    let shape = shape(model, row["format"]);
    let gpus = group(row["gpus"]);
    let framework = Framework::find(row["framework"]).expect("a known framework");
    let (prompt, generated) = (number(row, "prompt"), number(row, "generated"));
    // The cache is as full as in the middle of the answer, and a demand is taken as half full.
    let mut demand = Demand::new((2.0 * (prompt + generated / 2.0)) as u64);
    demand.release = Some(release(Some(row["release"]).filter(|text| !text.is_empty())));
    if framework.family.is_tensor_parallel() {
        demand.parallel = Parallel { tp: gpus.len() as u64, ..Parallel::default() };
    }
    let plan = plan(&shape, &gpus, framework, &demand).expect("a group");
    let speed = speed(&shape, &gpus, framework, &demand, &plan).expect("bandwidths are known");
    let rate = |prefill: f64, decode: f64| generated / (prompt / prefill + generated / decode);
    [
        rate(speed.prefill.low, speed.decode.low),
        rate(speed.prefill.mid, speed.decode.mid),
        rate(speed.prefill.high, speed.decode.high),
    ]
}

#[test]
fn published_rates_are_foretold() {
    let (rates, models) = (rows(RATES), rows(MODELS));
    let mut errors: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let (mut all, mut inside) = (Vec::new(), 0);
    for row in &rates {
        let measured = number(row, "rate");
        let [low, mid, high] = predicted(row, &models);
        let error = mid / measured - 1.0;
        inside += usize::from(low <= measured && measured <= high);
        all.push(error.abs());
        let key = format!("{} {} {}", row["framework"], row["model"], row["format"]);
        errors.entry(key).or_default().push((error, measured));
    }
    for (key, rows) in &errors {
        let words: Vec<_> =
            rows.iter().map(|(error, rate)| format!("{rate:.0} {:+.0} %", error * 100.0)).collect();
        println!("{key}: {}", words.join(", "));
    }
    all.sort_by(f64::total_cmp);
    let median = all[all.len() / 2];
    println!("{} rates, median error {:.1} %, {inside} in range", all.len(), median * 100.0);
    assert!(median <= 0.35 && inside * 10 >= all.len() * 8, "{median} {inside}");
}
