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

/// What is known of the memory that a configuration takes with a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// Nothing is to be compared: no model of known size is asked about, the memory of the GPU is not known, or what does not fit stays in
    /// the memory of the machine.
    NotAsked,
    /// The model has a size, but what it takes in this configuration does not follow from it.
    Unknown,
    /// There is as much as it can do with; with what the framework has to be told where others hold memory.
    Enough(Option<String>),
    /// It does not fit.
    Lacks(TooBig),
}

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

impl Memory {
    /// Compares what the configuration in `settings` needs with what there is.
    pub(super) fn of(question: &Question, settings: &Settings, target: &Target) -> Self {
        let framework = Framework::find(&question.framework);
        let group = framework.map(|_| group(settings, target));
        let target = group.as_ref().unwrap_or(target);
        if let Some(found) = framework.and_then(|_| too_few(settings, target)) {
            return Self::Lacks(found);
        }
        let model = question.shape.as_deref().zip(framework);
        let known = model.and_then(|model| Some((model, Device::new(target)?)));
        let Some(((shape, framework), device)) = known else {
            return by_weights(question, settings, target, framework.is_some());
        };
        let group = vec![device; target.equals.clamp(1, MOST_GPUS) as usize];
        let model = (shape, framework);
        let Some((demand, plan)) = smallest(question, settings, model, &group) else {
            return Self::Unknown;
        };
        match plan.fits {
            Fits::DoesNotFit => Self::Lacks(by_plan(&plan, &demand, model, &group)),
            _ if !framework.can(&demand) => Self::Unknown,
            _ => Self::Enough(told(framework, &demand)),
        }
    }

    /// What the model lacks.
    pub(super) fn lack(&self) -> Option<&TooBig> {
        match self {
            Self::Lacks(found) => Some(found),
            _ => None,
        }
    }
}

/// The words for a smaller share than a server takes by itself, which it does not start with where others hold memory.
fn told(framework: &Framework, demand: &Demand) -> Option<String> {
    let share = demand.tuning.utilization.filter(|share| *share < LARGEST_SHARE)?;
    Some(framework.words.utilization.replace("{}", &share.to_string()))
}

impl TooBig {
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

/// The plan that needs least: a short context, one request, what the framework can be told to take. Where others hold memory, that is
/// less than its largest share.
fn smallest(
    question: &Question,
    settings: &Settings,
    (shape, framework): (&Shape, &Framework),
    group: &[Device],
) -> Option<(Demand, Plan)> {
    let with = |utilization: Option<f64>| {
        let demand = Demand {
            release: Some(plan::release(question.version.as_deref())),
            tuning: Tuning { utilization, ..Tuning::default() },
            ..Demand::new(LEAST_CONTEXT)
        };
        let demand = demand.configured(settings, shape.format.is_some());
        least(demand, (shape, framework), group)
    };
    let rank = |plan: &Plan| (plan.rank(), plan.refusal.is_some());
    let share = (framework.family == Family::Vllm).then_some(LARGEST_SHARE);
    let first = with(share)?;
    if share.is_none() || first.1.fits != Fits::DoesNotFit {
        return Some(first);
    }
    let second = with(None)?;
    Some(if rank(&second.1) < rank(&first.1) { second } else { first })
}

/// The plan of the split that a demand names, else of the best.
fn least(
    demand: Demand,
    (shape, framework): (&Shape, &Framework),
    group: &[Device],
) -> Option<(Demand, Plan)> {
    if demand.parallel == Parallel::default() {
        let best = plan::best(shape, group, framework, &demand)?;
        return Some((best.demand, best.plan));
    }
    let used = group.get(..usize::try_from(demand.parallel.gpus()).ok()?)?;
    let demand = framework.met(demand, used);
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

fn by_plan(
    plan: &Plan,
    demand: &Demand,
    (shape, framework): (&Shape, &Framework),
    group: &[Device],
) -> TooBig {
    let gpus = demand.parallel.gpus();
    let (free, all) = (plan.usable as u64, group.first().map_or(0, |one| one.usable as u64));
    let (on, each) = if gpus > 1 {
        (format!(" on each of {gpus} GPUs"), "each")
    } else {
        (String::new(), "this GPU")
    };
    let has = format!("{} memory", gib(plan.memory as u64));
    let needs = format!("{}{on} at least", gib(plan.must.low as u64));
    let undivided = plan::refusal(shape, framework.family, demand.parallel).is_some();
    // What is short of memory has no use for another split or share.
    let refusal = plan.refusal.as_ref().filter(|_| undivided || plan.must.low <= plan.usable);
    let needs = match refusal {
        Some(_) => "a split that divides the model".to_owned(),
        None => needs,
    };
    let reason = match refusal {
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
fn by_weights(question: &Question, settings: &Settings, target: &Target, spreads: bool) -> Memory {
    let is_sized = question.weight_bytes.is_some() || question.shape.is_some();
    let Some(one) = target.memory_bytes.filter(|_| is_sized) else { return Memory::NotAsked };
    let weights = question.weight_bytes.and_then(|bytes| on_the_gpu(bytes, settings));
    let Some(weights) = weights else { return Memory::Unknown };
    let gpus = if spreads { target.equals.max(1) } else { 1 };
    let memory = one.saturating_mul(u64::from(gpus));
    let taken = one.saturating_sub(target.memory_free_bytes.unwrap_or(one));
    let taken = taken.saturating_mul(u64::from(gpus)).min(memory);
    if weights <= memory - taken {
        return Memory::Enough(None);
    }
    let (have, on) = match gpus {
        1 => ("this GPU has".to_owned(), "one GPU".to_owned()),
        gpus => (format!("{gpus} such GPUs have"), format!("{gpus} GPUs")),
    };
    Memory::Lacks(TooBig {
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
    use std::sync::Arc;

    use warpscope_probes::model::Model;

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
        let lack = |framework: &str, target: &Target| {
            Memory::of(&question(framework), &settings, target).lack().cloned()
        };
        assert_eq!(lack("vllm", &two), None);
        assert!(lack("nonesuch", &two).is_some());
        assert!(lack("vllm", &target(Some(15))).is_some());
        let held = Target { memory_free_bytes: Some(8 * GIB), ..two };
        let found = lack("vllm", &held).expect("others hold 14 GiB");
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
            let found = Memory::of(&vllm, &settings, &Target { equals, ..target(None) });
            assert_eq!(found.lack().map(|one| &*one.reason), said);
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
        let lack =
            |gib, target: &Target| Memory::of(&question(gib), &settings, target).lack().cloned();
        assert_eq!(lack(400, &named), None);
        let found = lack(700, &named).expect("640 GiB are there");
        assert!(found.reason.contains("8 such GPUs have 640.0 GiB"), "{}", found.reason);
        let two = Target { equals: 2, ..named };
        assert!(lack(400, &two).is_some());
    }

    fn verdict(gib: u64, pairs: &[(&str, &str)], memory: Option<u64>) -> bool {
        let settings = Settings::new(pairs.iter().copied()).expect("good settings");
        let question = Question { weight_bytes: Some(gib * GIB), ..Question::default() };
        Memory::of(&question, &settings, &target(memory)).lack().is_some()
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
        let none = Memory::of(&Question::default(), &Settings::default(), &target(Some(1)));
        assert_eq!(none, Memory::NotAsked);
    }

    fn of_the_table(id: &str, framework: &str) -> Question {
        let model = Model::known(id).expect("is in the table");
        Question {
            framework: framework.to_owned(),
            weight_bytes: model.weight_bytes,
            shape: model.shape.map(Arc::new),
            config: model.settings,
            ..Question::default()
        }
    }

    /// 65% of each GPU is free: with its own share vLLM stops ("Free memory on device is less than desired GPU memory utilization").
    #[test]
    fn where_others_hold_memory_a_server_is_told_of_a_smaller_share() {
        let mut question = of_the_table("meta-llama/Llama-3.3-70B-Instruct", "vllm");
        question.config.set("quantization", "fp8").expect("a good setting");
        let hopper = Target {
            label: "NVIDIA H100 80GB HBM3".to_owned(),
            sm: Some(warpscope_kernels::Sm::new(9, 0)),
            memory_bytes: Some(80 * GIB),
            memory_free_bytes: Some(52 * GIB),
            equals: 2,
            ..Target::default()
        };
        let found = Memory::of(&question, &question.config, &hopper);
        let Memory::Enough(Some(told)) = &found else { panic!("{found:?}") };
        assert!(told.starts_with("--gpu-memory-utilization 0.6"), "{told}");
        let idle = Target { memory_free_bytes: None, ..hopper.clone() };
        assert_eq!(Memory::of(&question, &question.config, &idle), Memory::Enough(None));
        let full = Target { memory_free_bytes: Some(30 * GIB), ..hopper };
        let found = Memory::of(&question, &question.config, &full);
        let lack = found.lack().expect("35 GiB of weights on each");
        assert!(lack.needs.contains("on each of 2 GPUs at least"), "{}", lack.needs);
        assert!(lack.reason.contains("are in use"), "{}", lack.reason);
    }

    #[test]
    fn what_weights_take_that_are_packed_on_loading_is_not_guessed() {
        let mut question = of_the_table("Qwen/Qwen3-8B", "bitsandbytes");
        (question.weight_bytes, question.config) = (None, Settings::default());
        question.config.set("quantization", "nf4").expect("a good setting");
        let here = target(Some(80));
        assert_eq!(Memory::of(&question, &question.config, &here), Memory::Unknown);
        let unknown = Memory::of(&question, &question.config, &target(None));
        assert_eq!(unknown, Memory::NotAsked);
    }
}
