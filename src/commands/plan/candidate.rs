//! One framework in one configuration on one group, with everything that is known of it.

use warpscope_probes::rules::RuleBase;

use super::request::PlanRequest;
use crate::engine::plan::{
    Alternative, Demand, Device, Fits, Framework, Parallel, Plan, Speed, alternatives, best, plan,
    refusal, release, speed,
};
use crate::engine::{Outcome, Question, Target, Verdict, evaluate, start_command};

/// One way to run the model.
pub(crate) struct Candidate {
    /// Which framework, version and configuration.
    pub(crate) question: Question,
    /// Rules for the worst GPU of the group.
    pub(crate) verdict: Verdict,
    /// The split and what was asked.
    pub(crate) demand: Demand,
    /// GPUs it uses.
    pub(crate) gpus: usize,
    /// Memory; absent where dimensions, GPU memory or the framework's rules are unknown.
    pub(crate) plan: Option<Plan>,
    /// Speed, where bandwidth is known.
    pub(crate) speed: Option<Speed>,
    /// The command that starts it.
    pub(crate) command: Option<String>,
    /// Why all GPUs do not share each layer.
    pub(crate) refused: Option<String>,
    /// Cheaper ways; asked for only where they are shown.
    pub(crate) cheaper: Vec<Alternative>,
    /// Where constants of the framework come from.
    pub(crate) source: &'static str,
}

impl Candidate {
    /// Whether it fits.
    pub(crate) fn fits(&self) -> Fits {
        self.plan.as_ref().map_or(Fits::Unknown, |plan| plan.fits)
    }

    /// Whether nothing stands in its way.
    pub(crate) fn runs_and_fits(&self) -> bool {
        let outcome = self.verdict.outcome;
        !outcome.is_bad() && outcome != Outcome::Unknown && self.fits() == Fits::Fits
    }

    /// Whether it is known not to run, or not to fit.
    pub(crate) fn fails(&self) -> bool {
        self.verdict.outcome.is_bad() || self.fits() == Fits::DoesNotFit
    }

    /// What runs and fits first, then what may, fastest first.
    fn rank(&self) -> (bool, bool, bool, Fits, u8, i64) {
        let speed = self.speed.map_or(0.0, |speed| speed.decode_total.mid);
        let sure = self.verdict.outcome != Outcome::Unknown;
        let bad = self.verdict.outcome.is_bad();
        let severity = self.verdict.outcome.severity();
        (self.fails(), bad, !sure, self.fits(), severity, -(speed * 1000.0) as i64)
    }
}

/// Every way to run the model on a group, best first. Without a word about frameworks, the best configuration of each.
pub(crate) fn candidates(
    base: &RuleBase,
    request: &PlanRequest,
    group: &[Target],
    asked: &[Question],
) -> Vec<Candidate> {
    let devices: Option<Vec<Device>> = group.iter().map(Device::new).collect();
    let devices = devices.unwrap_or_default();
    let named = !request.queries.is_empty();
    let known = |question: &&Question| named || Framework::find(&question.framework).is_some();
    let mut found: Vec<Candidate> = asked
        .iter()
        .filter(known)
        .filter_map(|question| candidate(base, request, group, &devices, question))
        .collect();
    found.sort_by_key(Candidate::rank);
    if !named {
        let mut seen: Vec<String> = Vec::new();
        found.retain(|one| {
            let new = !seen.contains(&one.question.framework);
            seen.push(one.question.framework.clone());
            new
        });
    }
    if let Some(first) = found.first_mut() {
        first.cheaper = cheaper(base, request, group, &devices, first);
    }
    found
}

fn candidate(
    base: &RuleBase,
    request: &PlanRequest,
    group: &[Target],
    devices: &[Device],
    question: &Question,
) -> Option<Candidate> {
    // The plan says more of memory than a comparison of weights with one GPU.
    let question = Question {
        weight_bytes: None,
        shape: None,
        model: Some(request.named.display().to_string()),
        ..question.clone()
    };
    let verdict = worst(base, request, group, &question)?;
    let framework = Framework::find(&question.framework);
    let shape = request.model.shape.as_ref();
    let demand = request
        .demand
        .clone()
        .configured(&question.config, shape.is_some_and(|shape| shape.format.is_some()));
    let demand = Demand { release: Some(release(question.version.as_deref())), ..demand };
    let named = Some(demand.parallel).filter(|split| *split != Parallel::default());
    let split = request.split.or(named);
    let planned = shape.zip(framework).and_then(|(shape, framework)| match split {
        Some(parallel) => {
            let demand = Demand { parallel, ..demand.clone() };
            let used = used(devices, &demand, framework)?;
            Some((demand.clone(), plan(shape, used, framework, &demand)?))
        }
        None => best(shape, devices, framework, &demand),
    });
    let (demand, plan) = planned.map_or((demand, None), |(demand, plan)| (demand, Some(plan)));
    let whole = Parallel { tp: devices.len() as u64, ..Parallel::default() };
    let refused = shape.zip(framework).and_then(|(shape, framework)| {
        refusal(shape, framework.family, whole).filter(|_| split.is_none())
    });
    let used = framework.and_then(|framework| used(devices, &demand, framework)).unwrap_or(devices);
    let speed = match (shape, framework, &plan) {
        (Some(shape), Some(framework), Some(plan)) => speed(shape, used, framework, &demand, plan),
        _ => None,
    };
    let command = start_command(base, group.first()?, &question)
        .map(|text| with_flags(&text, framework, &demand, plan.as_ref()));
    Some(Candidate {
        verdict,
        gpus: used.len(),
        speed,
        command,
        refused,
        cheaper: Vec::new(),
        source: framework.map_or("", |framework| framework.source),
        question,
        demand,
        plan,
    })
}

/// The GPUs that a split uses; none where there are too few.
fn used<'d>(devices: &'d [Device], demand: &Demand, framework: &Framework) -> Option<&'d [Device]> {
    match framework.family.is_tensor_parallel() {
        true => devices.get(..usize::try_from(demand.parallel.gpus()).ok()?),
        false => Some(devices),
    }
}

/// The verdict for the GPU where it looks worst.
fn worst(
    base: &RuleBase,
    request: &PlanRequest,
    group: &[Target],
    question: &Question,
) -> Option<Verdict> {
    let mut kinds: Vec<&Target> = Vec::new();
    for gpu in group {
        if !kinds.iter().any(|one| one.label == gpu.label && one.sm == gpu.sm) {
            kinds.push(gpu);
        }
    }
    let verdicts = kinds
        .into_iter()
        .map(|gpu| evaluate(base, gpu, question, &request.assumptions.about(base, gpu, question)));
    verdicts.max_by_key(|one| match one.outcome {
        outcome if outcome.is_bad() => 2,
        Outcome::Unknown => 1,
        _ => 0,
    })
}

/// Cheaper ways that the rules do not refuse.
fn cheaper(
    base: &RuleBase,
    request: &PlanRequest,
    group: &[Target],
    devices: &[Device],
    first: &Candidate,
) -> Vec<Alternative> {
    let framework = Framework::find(&first.question.framework);
    let (Some(shape), Some(framework), Some(plan)) =
        (request.model.shape.as_ref(), framework, &first.plan)
    else {
        return Vec::new();
    };
    let used = used(devices, &first.demand, framework).unwrap_or(devices);
    let mut ways = alternatives(shape, used, framework, &first.demand, plan);
    ways.retain(|way| {
        let Some((key, value)) = way.setting else { return true };
        let mut changed = first.question.clone();
        let set = changed.config.set(key, value).is_ok();
        let verdict = worst(base, request, group, &changed);
        set && verdict.is_some_and(|verdict| !verdict.outcome.is_bad())
    });
    ways
}

/// A command with the words for what was planned.
fn with_flags(
    text: &str,
    framework: Option<&Framework>,
    demand: &Demand,
    plan: Option<&Plan>,
) -> String {
    let (Some(framework), Some(plan)) = (framework, plan) else { return text.to_owned() };
    let words = framework.words;
    let mut flags = Vec::new();
    let mut add = |word: &str, value: u64, when: bool| {
        if when && !word.is_empty() {
            flags.push(word.replace("{}", &value.to_string()));
        }
    };
    add(words.tensor, demand.parallel.tp, demand.parallel.tp > 1);
    add(words.pipeline, demand.parallel.pp, demand.parallel.pp > 1);
    // llama.cpp divides its context among the requests.
    let slots = if words.layers.is_empty() { 1 } else { demand.concurrency };
    add(words.context, demand.context * slots, true);
    add(words.concurrency, demand.concurrency, demand.concurrency > 1);
    add(words.eager, 0, demand.tuning.eager);
    add(words.kv8, 0, demand.kv.is_some_and(|kv| kv.bytes() < 2.0));
    let text = match plan.offload {
        Some(offload) => text.replace("-ngl 99", &format!("-ngl {}", offload.layers)),
        None => text.to_owned(),
    };
    if flags.is_empty() { text } else { format!("{text} {}", flags.join(" ")) }
}
