//! `warpscope plan`: whether a model fits a group of GPUs, in which framework, with what to spare, and the command that starts it.
//!
//! Exit codes are those of `check`: 0 what is recommended runs and fits, 1 nothing does, 4 it may.

mod candidate;
mod copies;
mod heard;
mod json;
mod request;
mod saved;
mod text;
mod train;
mod visible;

use std::collections::BTreeSet;
use std::io::Write;

use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use crate::commands::answer::query::{Words, asked, read};
use crate::commands::answer::rules::rule_base;
use crate::commands::answer::{Seen, assumptions, open, seen};
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, Form, HOSTS, LIVE, NAMED_GPUS, Options, Result, STYLE,
};
use crate::commands::output;
use crate::config::args;
use crate::engine::plan::{Demand, Device, KvFormat, Parallel, Tuning};
use crate::engine::{Assumptions, Question, Target};

use candidate::{Candidate, candidates};
use copies::{Copy, copies};
use request::PlanRequest;
use saved::SelectedCopy;
use train::Trained;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "plan",
    about: "Plan a model on a group of GPUs: what fits, how fast, and the command that starts it",
    more: "All GPUs named (or those here) are one group unless --each is given. Speed is predicted, memory has an error bar: \"tight\" means within it.\n\
           Exits with 0 if something runs and fits, with 1 if nothing does, with 4 if that is tight or unknown.",
    args: &[
        &[&args::PLANNED, &args::FRAMEWORKS, &args::PLAN_FRAMEWORKS, &args::ON, &args::EACH],
        &[&args::CONTEXT, &args::CONCURRENCY, &args::KV_DTYPE, &args::TP, &args::PP],
        &[&args::UTILIZATION, &args::MAX_SEQS, &args::BATCHED_TOKENS, &args::EAGER],
        &[&args::TRAIN, &args::ZERO, &args::NO_CHECKPOINTING, &args::ADAM8],
        &[&args::ASKED_DTYPE, &args::FETCH, &args::INSTALLED, &args::RULES],
        NAMED_GPUS,
        LIVE,
        &[&args::WHY, &args::JSON, &args::MARKDOWN, &args::REQUIRE_GPU],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[
        (
            "plan Qwen2.5-32B-Instruct-AWQ/ --gpu 2xT4",
            "will it run on two T4, and how is it started",
        ),
        ("plan model.gguf --gpu \"RTX 3090\" --context 32768", "a GGUF file with a long context"),
        ("plan llama/ vllm --on 0,1 --concurrency 16", "one framework on two GPUs of this machine"),
        ("plan qwen/ --gpu 8xH100 --train full --zero 3", "train every weight"),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

fn run(options: &Options) -> Result<Exit> {
    let named = options.get(&args::PLANNED);
    let model = open(options, &named)?;
    let queries = [options.get(&args::FRAMEWORKS), options.get(&args::PLAN_FRAMEWORKS)].concat();
    let SelectedCopy { named, model, queries, is_usual } = SelectedCopy::of(named, model, queries);
    let base = rule_base(options)?;
    let dtype = options.get(&args::ASKED_DTYPE);
    let words = Words { words: &queries, dtype: dtype.as_deref() };
    let said = read(&base, words).map_err(CliError::Usage)?;
    heard::check(&said.unheard)?;
    let mut seen = seen(options)?;
    if let Some(driver) = &said.driver {
        let instances = seen.instances.values_mut().flatten();
        seen.gpus.iter_mut().chain(instances).for_each(|gpu| gpu.set_driver(driver));
    }
    let groups = groups(options, &seen)?;
    let gpus = groups.concat();
    let assumptions =
        Assumptions { model: Some(model.clone()), ..assumptions(options, &base, &gpus)? };
    let request = PlanRequest {
        demand: demand(options, &model)?,
        split: split(options),
        named,
        model,
        host_memory: seen.host_memory,
        machine: seen.gpus,
        groups,
        queries,
        is_usual,
        unheard: said.unheard,
        dtype,
        assumptions,
        why: options.get(&args::WHY),
        form: options.form(),
        style: output::style(options),
    };
    if let Some(method) = options.get(&args::TRAIN) {
        let trained = Trained::new(options, method, &request)?;
        return train::answer(&request, &trained, &mut output::stdout());
    }
    answer(&base, &request, &mut output::stdout())
}

/// The groups that are planned: all GPUs together, or each by itself. Of those in MIG mode a process gets one instance.
fn groups(options: &Options, seen: &Seen) -> Result<Vec<Vec<Target>>> {
    let picked = on(options, seen.gpus.len())?;
    let (cut, whole): (Vec<usize>, Vec<usize>) =
        picked.into_iter().partition(|at| seen.instances.contains_key(at));
    let mut whole: Vec<Target> = whole.into_iter().map(|at| seen.gpus[at].clone()).collect();
    Device::most_free_first(&mut whole, Device::new);
    let mut instances: Vec<Target> = cut.iter().flat_map(|at| seen.instances[at].clone()).collect();
    Device::most_free_first(&mut instances, Device::new);
    let is_like = |a: &mut Target, b: &mut Target| {
        (&a.label, a.memory_free_bytes) == (&b.label, b.memory_free_bytes)
    };
    instances.dedup_by(is_like);
    let alone = |gpus: Vec<Target>| gpus.into_iter().map(|gpu| vec![gpu]);
    match (options.get(&args::EACH), whole.is_empty()) {
        (true, _) => Ok(alone(whole).chain(alone(instances)).collect()),
        (false, false) => Ok(vec![whole]),
        (false, true) if instances.is_empty() => Err(CliError::NoGpu(
            "every GPU is in MIG mode, and none has an instance; `nvidia-smi mig -cgi` makes one"
                .to_owned(),
        )),
        (false, true) => Ok(alone(instances).collect()),
    }
}

/// The places that are named; all of them where none is.
fn on(options: &Options, gpus: usize) -> Result<Vec<usize>> {
    let wanted = options.get(&args::ON);
    if wanted.is_empty() {
        return Ok((0..gpus).collect());
    }
    let mut seen = BTreeSet::new();
    let mut pick = |word: &String| {
        let refused = |why: String| Err(CliError::Usage(format!("--on {word:?}: {why}")));
        match word.trim().parse().ok().filter(|at| *at < gpus) {
            None => refused(format!("GPUs are 0 to {}", gpus.saturating_sub(1))),
            Some(at) if !seen.insert(at) => refused(format!("GPU {at} is named twice")),
            Some(at) => Ok(at),
        }
    };
    wanted.iter().map(&mut pick).collect()
}

/// Tokens of a request, where nobody asks for others and the model takes so many.
const CONTEXT: u64 = 8192;

fn demand(options: &Options, model: &Model) -> Result<Demand> {
    let word = options.get(&args::KV_DTYPE);
    let kv = word.as_deref().map(|word| {
        KvFormat::parse(&word.to_ascii_lowercase()).ok_or_else(|| {
            CliError::Usage(format!(
                "--kv-dtype {word:?} is none of fp16, fp8, nvfp4, int8, int4, q8_0, q6, q4_0"
            ))
        })
    });
    let limit = model.shape.as_ref().and_then(|shape| shape.max_context);
    let usual = limit.map_or(CONTEXT, |limit| limit.min(CONTEXT));
    let context = options.get(&args::CONTEXT).unwrap_or(usual);
    let concurrency = options.get(&args::CONCURRENCY);
    if context == 0 || concurrency == 0 || context.saturating_mul(concurrency) > MOST {
        return Err(CliError::usage("--context and --concurrency count from 1"));
    }
    let tuning = Tuning {
        utilization: options.get(&args::UTILIZATION),
        sequences: options.get(&args::MAX_SEQS),
        batched_tokens: options.get(&args::BATCHED_TOKENS),
        eager: options.get(&args::EAGER),
        ..Tuning::default()
    };
    check(&tuning, concurrency)?;
    Ok(Demand { kv: kv.transpose()?, concurrency, tuning, ..Demand::new(context) })
}

/// The largest count that is no slip of the keyboard.
const MOST: u64 = 1 << 40;

/// Whether the options of the framework can be meant.
fn check(tuning: &Tuning, concurrency: u64) -> Result<()> {
    let counts = [("--max-seqs", tuning.sequences), ("--batched-tokens", tuning.batched_tokens)];
    for (name, count) in counts {
        if let Some(count) = count.filter(|count| *count == 0 || *count > MOST) {
            let why = format!("{name} {count}: expected a whole number from 1 to {MOST}");
            return Err(CliError::Usage(why));
        }
    }
    match tuning.sequences {
        Some(most) if most < concurrency => Err(CliError::Usage(format!(
            "--max-seqs {most} is less than --concurrency {concurrency}: \
             raise --max-seqs to {concurrency}, or lower --concurrency to {most}"
        ))),
        _ => Ok(()),
    }
}

fn split(options: &Options) -> Option<Parallel> {
    let (tp, pp) = (options.get(&args::TP), options.get(&args::PP));
    (tp.is_some() || pp.is_some()).then(|| Parallel {
        tp: tp.unwrap_or(1).max(1),
        pp: pp.unwrap_or(1).max(1),
        ..Parallel::default()
    })
}

/// What was found for one group.
pub(crate) struct Planned {
    /// Ways to run the model, best first.
    pub(crate) candidates: Vec<Candidate>,
    /// Quantised copies that run where the model itself does not, or not on the GPUs alone.
    pub(crate) copies: Vec<Copy>,
}

impl Planned {
    fn new(base: &RuleBase, request: &PlanRequest, group: &[Target], asked: &[Question]) -> Self {
        let candidates = candidates(base, request, group, asked);
        let runs = candidates.first().is_some_and(Candidate::is_all_on_gpus);
        let packed = request.model.shape.as_ref().is_none_or(|shape| shape.format.is_some());
        let copies = if runs || packed { Vec::new() } else { copies(base, request, group) };
        Self { candidates, copies }
    }
}

/// Plans every group, and ends with the worst of their codes.
pub(crate) fn answer(base: &RuleBase, request: &PlanRequest, out: &mut dyn Write) -> Result<Exit> {
    let words = Words { words: &request.queries, dtype: request.dtype.as_deref() };
    let asked = asked(base, words, &request.assumptions).map_err(CliError::Usage)?;
    let planned: Vec<_> =
        request.groups.iter().map(|group| Planned::new(base, request, group, &asked)).collect();
    match request.form {
        Form::Json => json::write(request, &planned, out)?,
        Form::Markdown => write!(out, "{}", text::markdown(request, &planned))?,
        _ => write!(out, "{}", text::text(request, &planned))?,
    }
    let exits = planned.iter().map(|planned| exit(&planned.candidates));
    Ok(exits.max_by_key(|exit| exit.code().wrapping_sub(1)).unwrap_or(Exit::Unknown))
}

fn exit(candidates: &[Candidate]) -> Exit {
    match candidates.first() {
        None => Exit::Unknown,
        Some(best) if best.runs_and_fits() => Exit::Fine,
        Some(best) if best.fails() => Exit::CheckFailed,
        Some(_) => Exit::Unknown,
    }
}

#[cfg(test)]
mod tests;
