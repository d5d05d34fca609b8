//! Whether a model can fit at all: by the smallest plan where its dimensions are known, else by its weights alone, on one GPU or on a
//! group of equal ones that the framework spreads a model over. A lower bound: it can say that a model does not fit, never that it
//! does; [`super::plan`] says the rest.

use warpscope_probes::model::Shape;
use warpscope_probes::rules::Settings;

use super::plan::{self, Demand, Device, Family, Fits, Framework, Parallel, Plan, Tuning};
use super::question::Question;
use super::target::Target;
use super::verdict::{Evidence, Level, Outcome};

/// Bytes per element, by dtype id. Formats not listed are packed: their file size does not convert to another type.
const WIDTHS: &[(&str, u64)] = &[("fp64", 8), ("fp32", 4), ("tf32", 4), ("fp16", 2), ("bf16", 2)];

/// Tokens of the shortest context worth serving.
const LEAST_CONTEXT: u64 = 2048;

/// The share of a GPU that vLLM can be told to take and still start.
const LARGEST_SHARE: f64 = 0.95;

/// A model that does not fit, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooBig {
    id: &'static str,
    source: &'static str,
    /// Bytes that one GPU must have more than; none where more GPUs are needed, whatever their memory.
    pub(super) floor: Option<u64>,
    /// What is wrong, with the numbers.
    pub(super) reason: String,
    /// What it would take.
    pub(super) needs: String,
    /// What there is.
    pub(super) has: String,
}

impl TooBig {
    /// Compares what the configuration in `settings` needs with the memory; none where either is unknown.
    pub(super) fn of(question: &Question, settings: &Settings, target: &Target) -> Option<Self> {
        let framework = Framework::find(&question.framework);
        let group = framework.map(|_| group(settings, target));
        let target = group.as_ref().unwrap_or(target);
        if let Some(found) = framework.and_then(|_| too_few(settings, target)) {
            return Some(found);
        }
        let model = question.shape.as_deref().zip(framework);
        let known = model.and_then(|model| Some((model, Device::new(target)?)));
        let Some(((shape, framework), device)) = known else {
            return by_weights(question, settings, target, framework.is_some());
        };
        let group = vec![device; target.equals.clamp(1, MOST_GPUS) as usize];
        let (demand, plan) = smallest(question, settings, (shape, framework), &group)?;
        (plan.fits == Fits::DoesNotFit).then(|| by_plan(&plan, demand.parallel.gpus(), &group))
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence {
            level: Level::Rule,
            outcome: Outcome::Fails,
            id: self.id.to_owned(),
            detail: self.reason.clone(),
            source: self.source.to_owned(),
            retrieved: "now".to_owned(),
        }
    }
}

/// The split of the plan that needs least; none where dimensions are unknown.
pub(super) fn smallest_split(question: &Question, group: &Target) -> Option<Parallel> {
    let framework = Framework::find(&question.framework)?;
    let devices = vec![Device::new(group)?; group.equals.clamp(1, MOST_GPUS) as usize];
    let shape = question.shape.as_deref()?;
    Some(smallest(question, &question.config, (shape, framework), &devices)?.0.parallel)
}

/// GPUs of one group that are planned for.
const MOST_GPUS: u32 = 64;

/// The plan that needs least: a short context, one request, what the framework can be told to take.
fn smallest(
    question: &Question,
    settings: &Settings,
    (shape, framework): (&Shape, &Framework),
    group: &[Device],
) -> Option<(Demand, Plan)> {
    let demand = Demand {
        release: Some(plan::release(question.version.as_deref())),
        tuning: Tuning {
            utilization: (framework.family == Family::Vllm).then_some(LARGEST_SHARE),
            ..Tuning::default()
        },
        ..Demand::new(LEAST_CONTEXT)
    };
    let demand = demand.configured(settings, shape.format.is_some());
    if demand.parallel == Parallel::default() {
        let best = plan::best(shape, group, framework, &demand)?;
        return Some((best.demand, best.plan));
    }
    let used = group.get(..usize::try_from(demand.parallel.gpus()).ok()?)?;
    let planned = plan::plan(shape, used, framework, &demand)?;
    Some((demand, planned))
}

/// What a configuration is spread over by its own settings.
fn split(settings: &Settings) -> Vec<(&'static str, u32)> {
    let count = |key| Some((key, settings.get(key)?.parse::<u32>().ok().filter(|one| *one > 1)?));
    ["tp", "pp"].into_iter().filter_map(count).collect()
}

fn gpus(split: &[(&str, u32)]) -> u64 {
    split.iter().map(|one| u64::from(one.1)).product()
}

/// A GPU that is named once stands for its kind: for as many as the configuration takes.
fn group(settings: &Settings, target: &Target) -> Target {
    let needed = u32::try_from(gpus(&split(settings))).unwrap_or(u32::MAX);
    let is_kind = target.what_if && target.equals == 1;
    Target { equals: if is_kind { needed } else { target.equals }, ..target.clone() }
}

/// A split that takes more GPUs than there are.
fn too_few(settings: &Settings, target: &Target) -> Option<TooBig> {
    let split = split(settings);
    let needed = gpus(&split);
    let there = u64::from(target.equals);
    if there == 0 || needed <= there {
        return None;
    }
    let said: Vec<String> = split.iter().map(|(key, count)| format!("{key} {count}")).collect();
    let (needs, are) =
        (if said.len() > 1 { "need" } else { "needs" }, if there == 1 { "is" } else { "are" });
    Some(TooBig {
        id: "memory.gpus",
        floor: None,
        source: "GPUs that the configuration is spread over, against those there are",
        reason: format!("{} {needs} {needed} GPUs, there {are} {there}", said.join(" and ")),
        needs: format!("{needed} GPUs"),
        has: format!("{there} of them"),
    })
}

fn by_plan(plan: &Plan, gpus: u64, group: &[Device]) -> TooBig {
    let (free, all) = (plan.usable as u64, group.first().map_or(0, |one| one.usable as u64));
    let (on, each) = if gpus > 1 {
        (format!(" on each of {gpus} GPUs"), "each")
    } else {
        (String::new(), "this GPU")
    };
    let has = format!("{} memory", gib(plan.memory as u64));
    let needs = format!("{}{on} at least", gib(plan.must.low as u64));
    let reason = match &plan.refusal {
        Some(refusal) => refusal.clone(),
        None => format!(
            "{} weights, {} context and {} beside them need {needs}, and {each} has {}{}",
            gib(plan.weights.bytes.mid as u64),
            gib(plan.kv.bytes.mid as u64),
            gib((plan.must.low - plan.weights.bytes.mid - plan.kv.bytes.mid).max(0.0) as u64),
            gib(all),
            held(all.saturating_sub(free)),
        ),
    };
    let needs =
        if plan.refusal.is_some() { "a split that divides the model".to_owned() } else { needs };
    TooBig {
        id: "memory.plan",
        floor: Some(plan.must.low as u64),
        source: "dimensions of the model and the framework's own way to take memory",
        reason,
        needs,
        has,
    }
}

/// By the weights alone.
fn by_weights(
    question: &Question,
    settings: &Settings,
    target: &Target,
    spreads: bool,
) -> Option<TooBig> {
    let (bytes, one) = (question.weight_bytes?, target.memory_bytes?);
    let weights = on_the_gpu(bytes, settings)?;
    let gpus = if spreads { target.equals.max(1) } else { 1 };
    let memory = one.checked_mul(u64::from(gpus))?;
    let taken = one.saturating_sub(target.memory_free_bytes.unwrap_or(one));
    let taken = taken.saturating_mul(u64::from(gpus)).min(memory);
    if weights <= memory - taken {
        return None;
    }
    let (have, on) = match gpus {
        1 => ("this GPU has".to_owned(), "one GPU".to_owned()),
        gpus => (format!("{gpus} such GPUs have"), format!("{gpus} GPUs")),
    };
    Some(TooBig {
        id: "memory.weights",
        floor: Some(weights),
        source: "size of the model files against GPU memory",
        reason: format!(
            "the weights alone need {}, and {have} {}{}",
            gib(weights),
            gib(memory),
            held(taken)
        ),
        needs: format!(
            "more than {} of free memory on {on}, or fewer bytes per weight",
            gib(weights)
        ),
        has: format!("{} memory", gib(memory)),
    })
}

fn held(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        bytes => format!(", of which {} are in use", gib(bytes)),
    }
}

/// Bytes once loaded. Packed weights keep their size; others change with the compute type.
fn on_the_gpu(bytes: u64, settings: &Settings) -> Option<u64> {
    let packed = settings.get("quantization").is_some_and(|format| format != "none");
    if packed {
        return Some(bytes);
    }
    let width = |key: &str| {
        let id = settings.get(key)?;
        WIDTHS.iter().find(|row| row.0 == id).map(|row| row.1)
    };
    let saved = width("checkpoint_dtype")?;
    match settings.get("dtype") {
        // Checkpoints saved in 32 bits are often loaded in 16; those saved in 16 stay so.
        None | Some("auto") => (saved == 2).then_some(bytes),
        Some(_) => (bytes / saved).checked_mul(width("dtype")?),
    }
}

/// `15.3 GiB`.
pub(super) fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn target(gib: Option<u64>) -> Target {
        Target { memory_bytes: gib.map(|gib| gib * GIB), ..Target::default() }
    }

    #[test]
    fn equal_gpus_share_a_model_where_the_framework_can() {
        let settings = Settings::new([("quantization", "awq")]).expect("good settings");
        let question = |framework: &str| Question {
            weight_bytes: Some(18 * GIB),
            framework: framework.to_owned(),
            ..Question::default()
        };
        let two = Target { equals: 2, ..target(Some(15)) };
        assert_eq!(TooBig::of(&question("vllm"), &settings, &two), None);
        assert!(TooBig::of(&question("nonesuch"), &settings, &two).is_some());
        assert!(TooBig::of(&question("vllm"), &settings, &target(Some(15))).is_some());
        let held = Target { memory_free_bytes: Some(8 * GIB), ..two };
        let found = TooBig::of(&question("vllm"), &settings, &held).expect("others hold 14 GiB");
        assert!(found.reason.contains("of which 14.0 GiB are in use"), "{}", found.reason);
    }

    #[test]
    fn a_split_needs_as_many_gpus_as_it_takes() {
        let vllm = Question { framework: "vllm".to_owned(), ..Question::default() };
        for (pairs, equals, said) in [
            (&[("tp", "4")][..], 2, Some("tp 4 needs 4 GPUs, there are 2")),
            (&[("tp", "2"), ("pp", "2")], 1, Some("tp 2 and pp 2 need 4 GPUs, there is 1")),
            (&[("pp", "2")], 2, None),
            (&[("tp", "1")], 1, None),
            // Nobody counted.
            (&[("tp", "4")], 0, None),
        ] {
            let settings = Settings::new(pairs.iter().copied()).expect("good settings");
            let found = TooBig::of(&vllm, &settings, &Target { equals, ..target(None) });
            assert_eq!(found.as_ref().map(|one| &*one.reason), said);
        }
    }

    #[test]
    fn a_gpu_named_once_stands_for_as_many_as_the_split_takes() {
        let settings =
            Settings::new([("tp", "8"), ("quantization", "fp8")]).expect("good settings");
        let question = |gib| Question {
            framework: "vllm".to_owned(),
            weight_bytes: Some(gib * GIB),
            ..Question::default()
        };
        let named = Target { what_if: true, equals: 1, ..target(Some(80)) };
        assert_eq!(TooBig::of(&question(400), &settings, &named), None);
        let found = TooBig::of(&question(700), &settings, &named).expect("640 GiB are there");
        assert!(found.reason.contains("8 such GPUs have 640.0 GiB"), "{}", found.reason);
        let two = Target { equals: 2, ..named };
        assert!(TooBig::of(&question(400), &settings, &two).is_some());
    }

    fn verdict(gib: u64, pairs: &[(&str, &str)], memory: Option<u64>) -> bool {
        let settings = Settings::new(pairs.iter().copied()).expect("good settings");
        let question = Question { weight_bytes: Some(gib * GIB), ..Question::default() };
        TooBig::of(&question, &settings, &target(memory)).is_some()
    }

    #[test]
    fn weights_are_counted_in_the_type_they_are_computed_in() {
        let bf16 = ("checkpoint_dtype", "bf16");
        assert!(verdict(61, &[bf16, ("dtype", "bf16")], Some(32)));
        assert!(verdict(20, &[bf16, ("dtype", "fp32")], Some(32)));
        assert!(!verdict(20, &[bf16, ("dtype", "auto")], Some(32)));
        let fp32 = ("checkpoint_dtype", "fp32");
        assert!(!verdict(40, &[fp32, ("dtype", "fp16")], Some(32)));
        assert!(verdict(40, &[("quantization", "awq"), ("dtype", "fp16")], Some(32)));
    }

    #[test]
    fn an_unknown_size_decides_nothing() {
        let bf16 = ("checkpoint_dtype", "bf16");
        assert!(!verdict(900, &[bf16, ("dtype", "bf16")], None));
        assert!(!verdict(900, &[("dtype", "bf16")], Some(32)));
        assert!(!verdict(900, &[("checkpoint_dtype", "fp32"), ("dtype", "auto")], Some(32)));
        let none = TooBig::of(&Question::default(), &Settings::default(), &target(Some(1)));
        assert_eq!(none, None);
    }
}
