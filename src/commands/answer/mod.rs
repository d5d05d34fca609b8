//! What `check` and `why` share: what was asked, about which GPUs, under which assumptions, and the code they end with.

pub(crate) mod findings;
pub(crate) mod model;
pub(crate) mod month;
pub(crate) mod query;
pub(crate) mod rules;
pub(crate) mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use warpscope_probes::driver::Driver;
use warpscope_probes::model::{Hub, Model, Places, find};
use warpscope_probes::rules::RuleBase;

use self::query::{Read, Words, read};
use self::text::Style;
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::environments::scan_environments;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::{demand_gpu, first_frame, what_if};
use crate::commands::identity::today;
use crate::commands::output;
use crate::config::args::{self, Installed as AskInstalled};
use crate::engine::installed::Installed;
use crate::engine::{Assumptions, Confidence, Outcome, Question, Target, Verdict, evaluate};

/// What is asked of which GPUs, and how people are answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Devices, real or what-if.
    pub(crate) gpus: Vec<Target>,
    /// Words: `lmdeploy pytorch`, `vllm@0.9.2 awq`, `glm-4 dtype=fp16`. None: everything.
    pub(crate) queries: Vec<String>,
    /// Number format everything is asked in.
    pub(crate) dtype: Option<String>,
    /// What they say.
    pub(crate) said: Read,
    /// Installed versions, the model, and what was found here.
    pub(crate) assumptions: Assumptions,
    /// Whether what has no known obstacle counts as running.
    pub(crate) accept_no_obstacle: bool,
    /// How text looks.
    pub(crate) style: Style,
}

impl Request {
    pub(crate) fn new(options: &Options, base: &RuleBase) -> Result<Self> {
        let (queries, dtype) = (options.get(&args::FRAMEWORKS), options.get(&args::ASKED_DTYPE));
        let words = Words { words: &queries, dtype: dtype.as_deref() };
        let mut said = read(base, words).map_err(CliError::Usage)?;
        let mut gpus = targets(options)?;
        if let Some(driver) = &said.driver {
            gpus.iter_mut().for_each(|gpu| gpu.set_driver(driver));
        }
        demand_jetsons(&said, &gpus)?;
        let mut assumptions = assumptions(options, base, &gpus)?;
        if matches!(options.get(&args::INSTALLED), AskInstalled::Yes) && !queries.is_empty() {
            note_absent(base, said.frameworks(), &assumptions);
        }
        if let Some(name) = said.model.clone() {
            let is_certain = assumptions.model.is_some() || must_be_read(options, &name);
            match model_of_word(options, assumptions.model.take(), &name) {
                Err(error) if is_certain => return Err(error),
                Err(_) => said.set_model_aside(&name),
                Ok(model) => assumptions.model = Some(model),
            }
        }
        Ok(Self {
            assumptions,
            gpus,
            said,
            queries,
            dtype,
            accept_no_obstacle: options.get(&args::ACCEPT_NO_OBSTACLE),
            style: output::style(options),
        })
    }

    /// The questions that its words ask.
    pub(crate) fn questions(&self, base: &RuleBase) -> Result<Vec<Question>> {
        self.said.about(base, &self.assumptions).map_err(CliError::Usage)
    }

    /// What a question gets for an answer on a GPU.
    pub(crate) fn answer(&self, base: &RuleBase, gpu: &Target, question: &Question) -> Verdict {
        let answer = |question: &Question| {
            let about = self.assumptions.about(base, gpu, question);
            doubted(evaluate(base, gpu, question, &about), &self.said.open)
        };
        match self.said.months.iter().find_map(|month| month.first_of(question)) {
            Some(first) => month::of_both(answer(question), answer(&first)),
            None => answer(question),
        }
    }
}

/// An answer that something which was said may change: it is not sure.
pub(crate) fn doubted(mut verdict: Verdict, open: &[String]) -> Verdict {
    let is_known = !matches!(verdict.outcome, Outcome::Unknown | Outcome::NoObstacle);
    if is_known && !open.is_empty() {
        verdict.doubts.push(format!("not considered, and it may matter: {}", open.join(", ")));
        verdict.confidence = Some(Confidence::Medium);
    }
    verdict
}

/// JetPack is the system of a Jetson, and of nothing else.
fn demand_jetsons(said: &Read, gpus: &[Target]) -> Result<()> {
    match gpus.iter().find(|gpu| said.is_jetson && !gpu.is_jetson()) {
        None => Ok(()),
        Some(gpu) => Err(CliError::Usage(format!(
            "JetPack is the system of a Jetson, which {} is not; leave it out, or name a Jetson",
            gpu.label
        ))),
    }
}

/// Says which of the frameworks asked about are packages that are not installed here.
fn note_absent(base: &RuleBase, asked: BTreeSet<&str>, assumptions: &Assumptions) {
    let absent = asked.into_iter().filter(|id| !assumptions.versions.contains_key(*id));
    let absent = absent.filter_map(|id| base.framework(id)).filter(|one| !one.packages.is_empty());
    for framework in absent {
        let name = &framework.name;
        output::note(format!(
            "{name} is not installed here; answered for the version that is named, else for the newest"
        ));
    }
}

/// What answers take as given: the model that was named, and what is installed here. GPUs of the catalogue are asked about what is
/// installed only on request, since it may not be what will be installed beside them.
pub(crate) fn assumptions(
    options: &Options,
    base: &RuleBase,
    gpus: &[Target],
) -> Result<Assumptions> {
    let model = model(options)?;
    let ask_installed = match options.get(&args::INSTALLED) {
        AskInstalled::Auto => gpus.iter().any(|gpu| !gpu.what_if),
        AskInstalled::Yes => true,
        AskInstalled::No => false,
    };
    if !ask_installed {
        return Ok(Assumptions { model, ..Assumptions::default() });
    }
    let found = Installed::new(base, &scan_environments(), gpus, &today());
    let Installed { versions, beside, mut findings } = found;
    findings.extend(findings::findings(base, gpus));
    Ok(Assumptions { versions, beside, model, findings })
}

/// The model that was named.
pub(crate) fn model(options: &Options) -> Result<Option<Model>> {
    options.get(&args::MODEL).map(|name| open(options, &name)).transpose()
}

/// Whether a name is that of a file, or of a model that was to be fetched: then nothing is answered without it.
fn must_be_read(options: &Options, name: &str) -> bool {
    let is_file = name.ends_with(".gguf") || name.starts_with(['/', '.', '~']);
    is_file || options.get(&args::FETCH) || Path::new(name).exists()
}

/// The model that a word names, which the option must not contradict.
fn model_of_word(options: &Options, given: Option<Model>, name: &str) -> Result<Model> {
    let own = |name: &str| name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    match given {
        Some(given) if own(&given.name) == own(name) => Ok(given),
        Some(Model { name: given, .. }) => Err(CliError::Usage(format!(
            "{name} and {given} of --model are two models; ask about one"
        ))),
        None => open(options, Path::new(name)).map_err(|error| {
            CliError::usage(format!("{error}; or name its type instead, as in model_type=llama"))
        }),
    }
}

/// A model by its name: on this machine, on its hub where that may be asked, or in the table of known models.
pub(crate) fn open(options: &Options, name: &Path) -> Result<Model> {
    let places = Places::of_this_user();
    let is_away = options.get(&args::FETCH) && find(name, &places).is_err();
    let model = match is_away {
        true => Model::fetch(name, &Hub::of_this_user()),
        false => Model::open(name, &places),
    };
    let may_fetch = !is_away && name.to_str().is_some_and(|name| name.contains('/'));
    model.map_err(|error| match may_fetch && find(name, &places).is_err() {
        true => CliError::usage(format!("{error}; --fetch reads its headers from the hub")),
        false => CliError::usage(error),
    })
}

/// The exit code a list of verdicts stands for: 0 only when everything is known to run. A script that starts
/// a server on 0 must not start it on a guess, so what is unknown or merely has no known obstacle has a code of its own,
/// unless the user accepts the latter.
pub(crate) fn exit(verdicts: &[Verdict], accept_no_obstacle: bool) -> Exit {
    let outcomes = || verdicts.iter().map(|verdict| verdict.outcome);
    let runs = |one: Outcome| one.runs() || accept_no_obstacle && one == Outcome::NoObstacle;
    match () {
        () if outcomes().any(Outcome::is_bad) => Exit::CheckFailed,
        () if !outcomes().all(runs) => Exit::Unknown,
        () => Exit::Fine,
    }
}

/// GPUs that were named; without any, those of this machine. Naming one asks no driver.
pub(crate) fn targets(options: &Options) -> Result<Vec<Target>> {
    Ok(seen(options)?.gpus)
}

/// The GPUs a question is about, and the machine they are in.
pub(crate) struct Seen {
    pub(crate) gpus: Vec<Target>,
    /// What those in MIG mode are cut into, by their place.
    pub(crate) instances: BTreeMap<usize, Vec<Target>>,
    /// Main memory; none where the GPUs are what-if.
    pub(crate) host_memory: Option<u64>,
}

/// The GPUs that are named, else those that are seen.
pub(crate) fn seen(options: &Options) -> Result<Seen> {
    let named = what_if::choice(options)?.named;
    if !named.is_empty() {
        let gpus = counted(named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default())));
        return Ok(Seen { gpus, instances: BTreeMap::new(), host_memory: None });
    }
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    demand_gpu(options, &frame)?;
    if frame.gpus.is_empty() {
        let hint =
            "name one: `warpscope check --gpu T4`; `warpscope doctor` says why none was found";
        return Err(CliError::NoGpu(format!("no NVIDIA GPU to check; {hint}")));
    }
    let gpus = counted(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)));
    let host_memory = frame.host.machine.memory_total_bytes.last().map(|bytes| bytes.0);
    let instances = frame.gpus.iter().enumerate();
    let instances =
        instances.filter_map(|(at, gpu)| Some((at, Target::instances(gpu, &frame.driver)?)));
    Ok(Seen { gpus, instances: instances.collect(), host_memory })
}

/// GPUs that know how many of them are equal.
fn counted(gpus: impl Iterator<Item = Target>) -> Vec<Target> {
    let mut gpus: Vec<_> = gpus.collect();
    Target::count_equals(&mut gpus);
    gpus
}
