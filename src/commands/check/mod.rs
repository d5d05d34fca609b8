//! `warpscope check`: verdicts for GPUs, as blocks, as a table, as JSON, Markdown or CSV.
//!
//! Exit codes: 0 everything asked about runs (also by another route, or slowly); 1 something fails, gives wrong output or runs in part;
//! 2 the words were not understood; 4 nothing is known to go wrong, but something is unknown or has no known obstacle (0 with
//! `--accept-no-obstacle`). Unknown has a code of its own because a
//! script that reads 0 as "works" must not be told so from no evidence, and because nothing failed either.

pub(crate) mod forms;
mod reasons;
pub(crate) mod table;
use std::io::Write;

use warpscope_probes::rules::RuleBase;

use crate::commands::answer::model::{copies_text, model_text};
use crate::commands::answer::query::is_option;
use crate::commands::answer::rules::rule_base;
use crate::commands::answer::text::{block, not_considered, summary};
use crate::commands::answer::{Request, exit};
use crate::commands::check::forms::{csv, json, markdown};
use crate::commands::check::reasons::reasons;
use crate::commands::check::table::table;
use crate::commands::cli::{
    CONFIG_FILE, CommandSpec, Exit, Form, HOSTS, LIVE, NAMED_GPUS, Options, QUESTION, Result, STYLE,
};
use crate::commands::output;
use crate::config::args::{self, Detail, Only};
use crate::engine::{Outcome, Question, Target, Verdict};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "check",
    about: "Check which frameworks run on these GPUs; exits with 1 if one does not",
    more: "Shows a table: configurations down, GPUs across. Below it are the reasons why what you named does not run as asked; --brief omits them,\n\
           --long shows every verdict with its evidence instead. Without a framework, all known configurations are checked.\n\
           Exits with 0 if everything asked runs, with 1 if something does not, and with 4 if nothing fails but something is unknown\n\
           or has no known obstacle (rules cover its parts and none stops it, and a stage is silent).",
    args: &[
        &[&args::FRAMEWORKS],
        QUESTION,
        NAMED_GPUS,
        LIVE,
        &[&args::ONLY, &args::DETAIL, &args::JSON, &args::MARKDOWN, &args::CSV],
        &[&args::ACCEPT_NO_OBSTACLE, &args::REQUIRE_GPU],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[
        ("check", "all known configurations on every GPU of this machine"),
        ("check --gpu T4 ktransformers", "one framework on a GPU you do not have"),
        ("check --gpu V100 glm-4 dtype=fp16 --long", "one configuration, with the evidence"),
        ("check vllm@0.9.2:awq --gpu T4", "one version, one configuration"),
        (
            "check --model Qwen3-8B-AWQ/ --only problems",
            "everything that can load this model but does not run as asked",
        ),
    ],
    pasted: Some(is_option),
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// What to check, and how to say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckRequest {
    /// Without words everything is shown, as a table.
    pub(crate) asked: Request,
    /// Which verdicts are shown.
    pub(crate) only: Option<Only>,
    /// How much is told of each.
    pub(crate) detail: Detail,
    /// How they are written.
    pub(crate) form: Form,
}

/// Every GPU asked every question.
pub(crate) struct Report<'a> {
    pub(crate) request: &'a CheckRequest,
    /// Devices; for people, equal ones with equal answers once, with their number before the name.
    pub(crate) gpus: Vec<Target>,
    pub(crate) asked: Vec<Question>,
    /// GPU by GPU, each in the order of the questions.
    pub(crate) verdicts: Vec<Verdict>,
}

impl<'a> Report<'a> {
    fn new(base: &RuleBase, request: &'a CheckRequest, asked: Vec<Question>) -> Self {
        let answer = |gpu, question| request.asked.answer(base, gpu, question);
        let each = |gpu| asked.iter().map(|question| answer(gpu, question)).collect();
        let columns: Vec<Vec<Verdict>> = request.asked.gpus.iter().map(each).collect();
        let columns = request.asked.gpus.iter().cloned().zip(columns);
        let (gpus, verdicts): (Vec<_>, Vec<_>) = match request.form {
            Form::Text | Form::Markdown => merged(columns).into_iter().unzip(),
            Form::Json | Form::Csv => columns.unzip(),
        };
        Self { request, gpus, asked, verdicts: verdicts.into_iter().flatten().collect() }
    }

    /// Verdicts about one question, GPU by GPU.
    pub(crate) fn row(&self, question: usize) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().skip(question).step_by(self.asked.len().max(1))
    }

    /// Verdicts that are to be shown, with their questions.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&Question, &Verdict)> {
        let pairs = self.asked.iter().cycle().zip(&self.verdicts);
        pairs.filter(|(_, verdict)| self.shows(verdict))
    }

    /// Questions of which at least one verdict is to be shown.
    pub(crate) fn shown_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.asked.len()).filter(|row| self.row(*row).any(|verdict| self.shows(verdict)))
    }

    pub(crate) fn shows(&self, verdict: &Verdict) -> bool {
        match self.request.only {
            None => true,
            Some(Only::Fails) => verdict.outcome.is_bad(),
            Some(Only::Problems) => verdict.outcome != Outcome::Works,
            Some(Only::Unknown) => verdict.outcome == Outcome::Unknown,
        }
    }
}

/// Columns of which several say the same of equal GPUs, once: `2×NVIDIA T4`.
fn merged(columns: impl Iterator<Item = (Target, Vec<Verdict>)>) -> Vec<(Target, Vec<Verdict>)> {
    let mut kept: Vec<(usize, Target, Vec<Verdict>)> = Vec::new();
    for (gpu, verdicts) in columns {
        match kept.iter_mut().find(|one| one.2 == verdicts && one.1.label == gpu.label) {
            Some(twin) => twin.0 += 1,
            None => kept.push((1, gpu, verdicts)),
        }
    }
    let named = |(count, mut gpu, mut verdicts): (usize, Target, Vec<Verdict>)| {
        if count > 1 {
            gpu.label = format!("{count}×{}", gpu.label);
            verdicts.iter_mut().for_each(|verdict| verdict.gpu.clone_from(&gpu.label));
        }
        (gpu, verdicts)
    };
    kept.into_iter().map(named).collect()
}

/// Verdicts for every GPU named, or for every GPU here.
fn run(options: &Options) -> Result<Exit> {
    let base = rule_base(options)?;
    let request = CheckRequest {
        asked: Request::new(options, &base)?,
        only: options.get(&args::ONLY),
        detail: options.get(&args::DETAIL),
        form: options.form(),
    };
    answer_all(&base, &request, &mut output::stdout())
}

/// Answers every question for every GPU.
fn answer_all(base: &RuleBase, request: &CheckRequest, out: &mut dyn Write) -> Result<Exit> {
    let asked = request.asked.questions(base)?;
    if asked.is_empty() {
        output::note(format_args!("warpscope check: {}", nothing_asked(&request.asked)));
        return Ok(Exit::Unknown);
    }
    let report = Report::new(base, request, asked);
    match request.form {
        Form::Text => write!(out, "{}", text(&report))?,
        Form::Json => json(&report, out)?,
        Form::Markdown => write!(out, "{}", markdown(&report))?,
        Form::Csv => write!(out, "{}", csv(&report))?,
    }
    Ok(exit(&report.verdicts, request.asked.accept_no_obstacle))
}

/// Nothing was asked, so nothing is known to run.
fn nothing_asked(request: &Request) -> String {
    let dtype = request.dtype.as_ref().map(|dtype| format!("--dtype {dtype}"));
    let model = request.assumptions.model.as_ref().map(|model| {
        let settings = if model.settings.is_empty() {
            "nothing is said of it".to_owned()
        } else {
            model.settings.to_string()
        };
        format!("{} ({settings})", model.name)
    });
    let about: Vec<_> = dtype.into_iter().chain(model).collect();
    format!(
        "no known configuration is about {}; name a framework to ask anyway",
        about.join(" and ")
    )
}

fn text(report: &Report<'_>) -> String {
    let request = report.request;
    let style = request.asked.style;
    let mut text = format!("{}\n\n", summary(&report.verdicts));
    if let Some(model) = &request.asked.assumptions.model {
        text.push_str(&model_text(model, style));
        text.push_str(&copies_text(model, &report.asked, style));
    }
    text.push_str(&not_considered(&request.asked.said.unheard, style));
    if request.detail == Detail::Long {
        let blocks: Vec<_> = report.shown().map(|(_, verdict)| block(verdict, style)).collect();
        return text + &blocks.join("\n");
    }
    text.push_str(&table(report, style));
    if request.detail == Detail::Normal && !request.asked.queries.is_empty() {
        text.push_str(&reasons(report, style));
    }
    text
}

#[cfg(test)]
mod asked_tests;
#[cfg(test)]
pub(crate) mod tests;
