//! Prints the golden data of M0 (`cargo run -p warpscope-kernels --example golden > kernels/src/model/golden.txt`) or, with its id,
//! that of a profile (`… golden cancel > kernels/src/model/golden-cancel.txt`); with `peaks ID`, the largest number of
//! every tensor of a profile; with `search COUNT`, what the first COUNT prompts would give: seed, narrowest gap, largest
//! layer-1 `o_proj` output.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use warpscope_kernels::model::{
    LayerTensor, M0, Op, Profile, TensorId, oracle::Oracle, prompt, seeded_prompt,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("search") => search(arguments.next().and_then(|n| n.parse().ok()).unwrap_or(16)),
        Some("peaks") => peaks(profile(arguments.next().as_deref())),
        id => print!("{}", Oracle::new(profile(id), |_, _| {}).run(&prompt())),
    }
}

fn profile(id: Option<&str>) -> Profile {
    id.unwrap_or("clean").parse().unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2)
    })
}

fn peaks(profile: Profile) {
    let mut peaks = BTreeMap::new();
    let golden = Oracle::new(profile, |place, values| {
        let top = values.iter().fold(0.0_f64, |top, v| top.max(v.abs()));
        let peak: &mut f64 = peaks.entry((place.layer, place.op.id())).or_default();
        *peak = peak.max(top);
    })
    .run(&prompt());
    for ((layer, op), peak) in peaks {
        println!("{layer} {op} {peak:.3}");
    }
    let gap = golden.steps.iter().map(|s| s.gap).fold(f64::MAX, f64::min);
    println!("narrowest gap {gap:.4}, tokens {:?}", golden.tokens());
}

fn search(count: u64) {
    let gain = f64::from(Profile::Glm4.gain_log2(TensorId::Layer(1, LayerTensor::O))).exp2();
    let peak = Cell::new(0.0_f64);
    let mut oracle = Oracle::new(Profile::Clean, |place, values| {
        if (place.layer, place.op) == (1, Op::OProj) {
            peak.set(values.iter().fold(peak.get(), |peak, v| peak.max(v.abs())));
        }
    });
    for seed in 0..count {
        peak.set(0.0);
        let golden = oracle.run(&seeded_prompt(seed));
        let gap = golden.steps.iter().map(|s| s.gap).fold(f64::MAX, f64::min);
        let distinct: HashSet<_> = golden.tokens().into_iter().collect();
        let share = peak.get() * gain / 65504.0;
        println!("{seed} gap {gap:.4} o_proj {share:.4} distinct {}/{}", distinct.len(), M0.decode);
    }
}
