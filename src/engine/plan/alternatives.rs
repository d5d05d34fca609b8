//! Cheaper ways to make a model fit, each planned anew.

use warpscope_probes::model::{Shape, WeightFormat, WeightRole};

use super::demand::{Demand, KvFormat, Parallel, Tuning};
use super::device::Device;
use super::framework::{Family, Framework};
use super::placement::{Plan, plan};
use super::pool::Fits;
use super::search::{Split, best};

/// One change, with what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// What is changed, one phrase.
    pub title: String,
    /// Words of the framework's command line; empty where it takes other files or GPUs.
    pub flag: String,
    /// The plan with it.
    pub plan: Plan,
    /// The configuration it needs, where it is one the engine must be asked about: `kv_cache`, `fp8`.
    pub setting: Option<(&'static str, &'static str)>,
}

/// Changes that make more of the demand fit, cheapest first.
pub fn alternatives(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
    now: &Plan,
) -> Vec<Alternative> {
    let words = framework.words;
    let tuned = |change: &dyn Fn(&mut Tuning)| {
        let mut tuning = demand.tuning.clone();
        change(&mut tuning);
        Demand { tuning, ..demand.clone() }
    };
    let try_one = |title: String, flag: String, changed: Demand, setting| {
        let plan = plan(shape, group, framework, &changed)?;
        Some(Alternative { title, flag, plan, setting })
    };
    let mut found = vec![
        demand.kv.is_none().then(|| {
            let kv = kv8(framework.family);
            let flag = words.kv(kv, demand.release)?.to_owned();
            let changed = Demand { kv: Some(kv), ..demand.clone() };
            let setting = matches!(framework.family, Family::Vllm | Family::Sglang);
            let setting = setting.then_some(("kv_cache", "fp8"));
            try_one("keys and values in 8 bits".to_owned(), flag, changed, setting)
        }),
        (!demand.tuning.eager && !words.eager.is_empty()).then(|| {
            let changed = tuned(&|tuning| tuning.eager = true);
            try_one("without CUDA graphs".to_owned(), words.eager.to_owned(), changed, None)
        }),
        largest_share(framework.family).filter(|_| demand.tuning.utilization.is_none()).map(
            |share| {
                let changed = tuned(&|tuning| tuning.utilization = Some(share));
                let flag = words.utilization.replace("{}", &share.to_string());
                try_one("a larger share of the GPU".to_owned(), flag, changed, None)
            },
        ),
        (framework.family == Family::Vllm && demand.tuning.sequences.is_none()).then(|| {
            let few = demand.concurrency.max(8);
            let changed = tuned(&|tuning| tuning.sequences = Some(few));
            let flag = words.concurrency.replace("{}", &few.to_string());
            try_one(format!("at most {few} requests at once"), flag, changed, None)
        }),
        shorter(now, demand).map(|context| {
            let changed = Demand { context, ..demand.clone() };
            let flag = words.context.replace("{}", &context.to_string());
            try_one(format!("a context of {context} tokens"), flag, changed, None)
        }),
    ];
    found.push(Some(four_bits(shape, group, framework, demand)));
    found.push(Some(one_more(shape, group, framework, demand)));
    let helps =
        |one: &Alternative| one.plan.rank() < now.rank() || one.plan.room.mid > now.room.mid * 1.02;
    let mut found: Vec<_> = found.into_iter().flatten().flatten().filter(helps).collect();
    found.sort_by_key(|one| one.plan.rank());
    found
}

/// The largest share of a GPU that a server still starts with: vLLM's work space is inside it, SGLang's beside it.
fn largest_share(family: Family) -> Option<f64> {
    match family {
        Family::Vllm => Some(0.95),
        Family::Sglang => Some(0.92),
        _ => None,
    }
}

fn kv8(family: Family) -> KvFormat {
    match family {
        Family::LlamaCpp | Family::KTransformers => KvFormat::Q8,
        Family::Lmdeploy => KvFormat::Int8,
        _ => KvFormat::Fp8,
    }
}

/// The largest multiple of 1024 that fits, where the context asked for does not.
fn shorter(now: &Plan, demand: &Demand) -> Option<u64> {
    let context = now.max_context? / 1024 * 1024;
    (now.fits != Fits::Fits && (1024..demand.context).contains(&context)).then_some(context)
}

/// The same model with linear weights in 4 bits, groups of 128.
fn four_bits(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
) -> Option<Alternative> {
    if shape.format.is_some() || demand.packed.is_some() {
        return None;
    }
    let packed = requantized(shape, "awq")?;
    let plan = best(&packed, group, framework, demand)?.plan;
    let title = "a 4-bit version of the model".to_owned();
    Some(Alternative { title, flag: String::new(), plan, setting: None })
}

/// Bits of a linear weight in files of a format: 4 bits in groups of 128 with a scale and a zero each, 8 bits with few scales.
const SAVED: &[(&str, f64, f64)] =
    &[("awq", 4.0, 4.156), ("gptq", 4.0, 4.156), ("fp8", 8.0, 8.0), ("int8", 8.0, 8.0)];

/// The same model saved in another format; none where its size does not follow from the format's name.
pub fn requantized(shape: &Shape, format: &str) -> Option<Shape> {
    let plain = format == "none";
    let row = SAVED.iter().find(|row| row.0 == format);
    let bits = if plain { 16.0 } else { row?.2 };
    let mut packed = shape.clone();
    for one in &mut packed.weights {
        if matches!(one.role, WeightRole::Attention | WeightRole::Mlp | WeightRole::Experts) {
            one.bytes = (one.values as f64 * bits / 8.0) as u64;
        }
    }
    packed.format = row.map(|row| WeightFormat {
        name: format.to_owned(),
        bits: Some(row.1),
        group: (row.1 < 8.0).then_some(128),
        block: None,
        reordered: false,
        kept: Vec::new(),
    });
    Some(packed)
}

/// One more GPU like the last.
fn one_more(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
) -> Option<Alternative> {
    let mut more = group.to_vec();
    more.push(group.last()?.clone());
    let free = Demand { parallel: Parallel::default(), ..demand.clone() };
    let Split { demand, plan, .. } = best(shape, &more, framework, &free)?;
    let title = format!("one more {}", group.last()?.name);
    let flag = framework.words.split(demand.parallel);
    Some(Alternative { title, flag, plan, setting: None })
}
