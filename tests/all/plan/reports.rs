//! Reports of what ran and what did not.

use warpscope::engine::plan::{
    Demand, Fits, Framework, Images, KvFormat, Parallel, Plan, Tuning, plan, release,
};

use warpscope_probes::model::Model;

use super::dimensions::{Row, group, number, rows, shape};

const REPORTS: &str = include_str!("../../plan/fit.csv");
const MODELS: &str = include_str!("../../plan/models.csv");

fn planned(report: &Row<'_>, models: &[Row<'_>]) -> Option<Plan> {
    let own = || models.iter().find(|row| row["model"] == report["model"]);
    let known = || Model::known(report["model"]).and_then(|model| model.shape);
    let shape = own().map(|row| shape(row, report["format"])).or_else(known)?;
    let some = |column| Some(number(report, column)).filter(|value| *value > 0.0);
    let demand = Demand {
        kv: KvFormat::parse(report["kv"]),
        parallel: Parallel {
            tp: number(report, "tp") as u64,
            pp: number(report, "pp") as u64,
            ..Parallel::default()
        },
        release: Some(release(Some(report["release"]).filter(|text| !text.is_empty()))),
        tuning: Tuning {
            utilization: some("utilization"),
            sequences: some("sequences").map(|value| value as u64),
            batched_tokens: some("tokens").map(|value| value as u64),
            eager: report["eager"] == "eager",
            all_layers: true,
            whole_windows: false,
            images: if report["images"] == "any" { Images::AnySize } else { Images::Fixed },
        },
        ..Demand::new(number(report, "context") as u64)
    };
    let framework = Framework::find(report["framework"]).expect("a known framework");
    plan(&shape, &group(report["gpus"]), framework, &demand)
}

/// Whether the answer agrees with the report. *Tight* says that it may go either way, which is right only near the edge, and the
/// ranges that make it are asserted elsewhere.
fn agrees(outcome: &str, plan: &Plan) -> bool {
    match outcome {
        "works" => plan.refusal.is_none() && plan.fits <= Fits::Tight,
        "split" => plan.refusal.is_some(),
        "fails" => plan.fits != Fits::Fits,
        _ => true,
    }
}

#[test]
fn reports_are_foretold() {
    let (reports, models) = (rows(REPORTS), rows(MODELS));
    let (mut right, mut all) = (0, 0);
    for report in &reports {
        let Some(plan) = planned(report, &models) else {
            println!("?   {} {}: dimensions unknown", report["gpus"], report["source"]);
            continue;
        };
        let agrees = agrees(report["outcome"], &plan);
        all += 1;
        right += usize::from(agrees);
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        println!(
            "{}  {} {} {} {}: {} -> {:?}; weights {:.1}, work {:.1}, KV {:.1} of {:.1} {:.1}..{:.1} {}",
            if agrees { "ok " } else { "NOT" },
            report["gpus"],
            report["model"],
            report["format"],
            report["framework"],
            report["outcome"],
            plan.fits,
            gib(plan.weights.bytes.mid),
            gib(plan.activations.bytes.mid),
            gib(plan.kv.bytes.mid),
            gib(plan.room.mid),
            gib(plan.room.low),
            gib(plan.room.high),
            plan.refusal.as_deref().unwrap_or_default()
        );
    }
    println!("{right} of {all} right");
    assert!(right * 100 >= all * 85, "{right} of {all}");
}
