//! One framework in one configuration on one group, with everything that is known of it.

use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::request::PlanRequest;
use super::visible;
use crate::engine::plan::{
    Alternative, Demand, Device, Fits, Framework, KvFormat, Way, alternatives, release,
};
use crate::engine::{Outcome, Question, Target, Verdict, evaluate, start_command};

/// One way to run the model.
pub(crate) struct Candidate {
    /// Which framework, version and configuration.
    pub(crate) question: Question,
    /// Rules for the worst GPU of the group.
    pub(crate) verdict: Verdict,
    /// How it is spread, what it takes and how fast it is.
    pub(crate) way: Way,
    /// The command that starts it.
    pub(crate) command: Option<String>,
    /// Cheaper ways; asked for only where they are shown.
    pub(crate) cheaper: Vec<Alternative>,
    /// Where constants of the framework come from.
    pub(crate) source: &'static str,
}

impl Candidate {
    /// Whether nothing stands in its way.
    pub(crate) fn runs_and_fits(&self) -> bool {
        let outcome = self.verdict.outcome;
        !outcome.is_bad() && outcome != Outcome::Unknown && self.way.fits() == Fits::Fits
    }

    /// Whether it runs with nothing in host memory.
    pub(crate) fn is_all_on_gpus(&self) -> bool {
        self.runs_and_fits() && self.way.plan.as_ref().is_some_and(|plan| plan.offload.is_none())
    }

    /// Whether it is known not to run, or not to fit.
    pub(crate) fn fails(&self) -> bool {
        self.verdict.outcome.is_bad() || self.way.fits() == Fits::DoesNotFit
    }

    /// What runs and fits first, then what may; the checkpoint as it is saved before what is quantised on loading; fastest first.
    pub(crate) fn rank(&self) -> (bool, bool, bool, Fits, u8, bool, i64) {
        let speed = self.way.tokens_per_second();
        let sure = self.verdict.outcome != Outcome::Unknown;
        let bad = self.verdict.outcome.is_bad();
        let severity = self.verdict.outcome.severity();
        let packed = self.way.demand.packed.is_some();
        (self.fails(), bad, !sure, self.way.fits(), severity, packed, -(speed * 1000.0) as i64)
    }
}

/// A group for which ways to run the model are looked for.
struct Search<'a> {
    base: &'a RuleBase,
    request: &'a PlanRequest,
    group: &'a [Target],
    /// The same GPUs, where the memory of each is known.
    devices: Vec<Device>,
}

/// Every way to run the model on a group, best first. Without a word about frameworks, the best configuration of each.
pub(crate) fn candidates(
    base: &RuleBase,
    request: &PlanRequest,
    group: &[Target],
    asked: &[Question],
) -> Vec<Candidate> {
    let devices: Option<Vec<Device>> = group.iter().map(Device::new).collect();
    let search = Search { base, request, group, devices: devices.unwrap_or_default() };
    let named = !request.queries.is_empty();
    let known = |question: &&Question| named || Framework::find(&question.framework).is_some();
    let asked = asked.iter().filter(known);
    let mut found: Vec<Candidate> = asked.filter_map(|one| search.candidate(one)).collect();
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
        first.cheaper = search.cheaper(first);
    }
    found
}

impl Search<'_> {
    fn candidate(&self, question: &Question) -> Option<Candidate> {
        let Self { request, group, devices, .. } = self;
        // The plan says more of memory than a comparison of weights with one GPU.
        let question = Question {
            weight_bytes: None,
            shape: None,
            model: Some(model_name(request, &question.framework)),
            ..question.clone()
        };
        let framework = Framework::find(&question.framework);
        let shape = request.model.shape.as_ref();
        if shape.zip(framework).is_some_and(|(shape, framework)| !framework.family.loads(shape)) {
            return None;
        }
        let demand = request
            .demand
            .clone()
            .configured(&question.config, shape.is_some_and(|shape| shape.format.is_some()));
        let demand = Demand { release: Some(release(question.version.as_deref())), ..demand };
        if framework.is_some_and(|framework| !framework.can(&demand)) {
            return None;
        }
        let way = match shape.zip(framework) {
            Some((shape, framework)) => {
                let way = Way::new(shape, devices, framework, demand, request.split);
                Way { plan: way.plan.map(|plan| plan.beside(request.host_memory)), ..way }
            }
            None => Way::unknown(demand, devices.len()),
        };
        let used = group.get(..way.gpus).unwrap_or(group);
        let command = self.start(&question, &way, used);
        let question = match framework {
            Some(framework) => with_cache(question, framework, &way.demand),
            None => question,
        };
        let verdict = self.worst(used, &question)?;
        Some(Candidate {
            verdict,
            command,
            cheaper: Vec::new(),
            source: framework.map_or("", |framework| framework.source),
            question,
            way,
        })
    }

    /// The command that starts it on the GPUs it uses.
    fn start(&self, question: &Question, way: &Way, used: &[Target]) -> Option<String> {
        let framework = Framework::find(&question.framework);
        let text = start_command(self.base, self.group.first()?, question)?;
        let text = framework.map_or(text.clone(), |framework| way.command(&text, framework));
        let text = visible::only(text, used, &self.request.machine, framework);
        Some(match ollama_run(self.request, &question.framework) {
            Some(run) => format!("{text}\n{run}"),
            None => text,
        })
    }

    /// The verdict for the GPU where it looks worst.
    fn worst(&self, group: &[Target], question: &Question) -> Option<Verdict> {
        let Self { base, request, .. } = self;
        let mut kinds: Vec<&Target> = Vec::new();
        for gpu in group {
            if !kinds.iter().any(|one| one.label == gpu.label && one.sm == gpu.sm) {
                kinds.push(gpu);
            }
        }
        let verdicts = kinds.into_iter().map(|gpu| {
            evaluate(base, gpu, question, &request.assumptions.about(base, gpu, question))
        });
        verdicts.max_by_key(|one| match one.outcome {
            outcome if outcome.is_bad() => 2,
            Outcome::Unknown => 1,
            _ => 0,
        })
    }

    /// Cheaper ways that the rules do not refuse.
    fn cheaper(&self, first: &Candidate) -> Vec<Alternative> {
        let Self { request, group, devices, .. } = self;
        let framework = Framework::find(&first.question.framework);
        let (Some(shape), Some(framework), Some(plan)) =
            (request.model.shape.as_ref(), framework, &first.way.plan)
        else {
            return Vec::new();
        };
        let used = devices.get(..first.way.gpus).unwrap_or(devices);
        let ways = alternatives(shape, used, framework, &first.way.demand, plan);
        let beside =
            |way: Alternative| Alternative { plan: way.plan.beside(request.host_memory), ..way };
        let mut ways: Vec<Alternative> = ways.into_iter().map(beside).collect();
        ways.retain(|way| {
            let Some((key, value)) = way.setting else { return true };
            let mut changed = first.question.clone();
            let set = changed.config.set(key, value).is_ok();
            let verdict = self.worst(group.get(..first.way.gpus).unwrap_or(group), &changed);
            set && verdict.is_some_and(|verdict| !verdict.outcome.is_bad())
        });
        ways
    }
}

/// The model's name in the framework's own terms: only Ollama knows its own names.
fn model_name(request: &PlanRequest, framework: &str) -> String {
    if request.named.exists() {
        return Model::file(&request.named).display().to_string();
    }
    let named = request.named.display().to_string();
    if framework == OLLAMA { named } else { Model::known_to_ollama(&named).unwrap_or(named) }
}

const OLLAMA: &str = "ollama";

/// What loads the model into a server of Ollama that was started; none for files here, which it has to be told of first.
fn ollama_run(request: &PlanRequest, framework: &str) -> Option<String> {
    let named = request.named.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:".contains(c);
    let is_name = !named.starts_with(['/', '.', '-']) && named.chars().all(plain);
    if framework != OLLAMA || !is_name || request.named.exists() {
        return None;
    }
    match named.matches('/').count() {
        0 => Some(format!("ollama run {named}")),
        1 => Some(format!("ollama run hf.co/{named}")),
        _ => None,
    }
}

/// Asks the rules about the cache that is planned, in the framework's own word for it.
fn with_cache(mut question: Question, framework: &Framework, demand: &Demand) -> Question {
    let named = question.config.get("kv_cache").and_then(KvFormat::parse);
    let planned = demand.kv.filter(|kv| named != Some(*kv));
    if let Some(word) = planned.and_then(|kv| framework.words.cache(kv, demand.release)) {
        // A word that no key takes leaves the question as it was.
        let _ = question.config.set("kv_cache", word.value);
    }
    question
}
