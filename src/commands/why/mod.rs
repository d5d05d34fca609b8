//! `warpscope why`: one verdict with the whole chain that led to it, and the ways out.

pub(crate) mod text;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpscope_probes::rules::RuleBase;

use super::output::not_json;
use crate::commands::answer::model::{copies_text, model_text};
use crate::commands::answer::query::is_option;
use crate::commands::answer::rules::rule_base;
use crate::commands::answer::text::not_considered;
use crate::commands::answer::{Request, exit};
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, Form, HOSTS, LIVE, NAMED_GPUS, Options, QUESTION,
    Result, STYLE,
};
use crate::commands::output;
use crate::commands::why::text::{alike, all_fixes, explained, summarised};
use crate::config::args;
use crate::engine::{Fix, Question, Verdict};
use crate::io::sink::jsonl;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "why",
    about: "Explain one verdict: what it needs, what the GPU has, the evidence, the message you would see, the fix",
    more: "Three lines each: the outcome, its causes, what to do; --all tells the reasoning, the evidence and every fix.\n\
           Exits like check: 0 if it runs, 1 if it does not, 4 if that is unknown or has no known obstacle.",
    args: &[
        &[&args::FRAMEWORKS],
        QUESTION,
        NAMED_GPUS,
        LIVE,
        &[&args::EVERYTHING, &args::FIX_NUMBER, &args::WRITE, &args::JSON],
        &[&args::ACCEPT_NO_OBSTACLE],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    pasted: Some(is_option),
    runs_there: true,
    run,
    examples: &[
        ("why --gpu V100 GLM-4", "why it prints only exclamation marks on a V100"),
        ("why vllm@0.9.0 --dtype float16 --model glm4/ --gpu V100", "for a model on this machine"),
        ("why ktransformers@0.1.1 image --gpu T4 --write rules.yaml", "write the fix to a file"),
    ],
    ..CommandSpec::BASE
};

/// What to explain, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct WhyRequest {
    /// Words that name a framework and a configuration, at least.
    pub(crate) asked: Request,
    /// The reasoning, the evidence and every fix as well.
    pub(crate) everything: bool,
    /// Only this fix, counted from 1.
    pub(crate) fix: Option<u64>,
    /// File the fix is written to.
    pub(crate) write: Option<PathBuf>,
    /// JSON instead of text.
    pub(crate) json: bool,
}

/// A verdict, and the words of the question that were set aside.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    verdict: &'a Verdict,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_considered: &'a [String],
}

/// One verdict with everything behind it, GPU by GPU.
fn run(options: &Options) -> Result<Exit> {
    let base = rule_base(options)?;
    let request = WhyRequest {
        asked: Request::new(options, &base)?,
        everything: options.get(&args::EVERYTHING),
        fix: options.get(&args::FIX_NUMBER),
        write: options.get(&args::WRITE),
        json: options.form() == Form::Json,
    };
    answer_all(&base, &request, &mut output::stdout())
}

/// Explains every question for every GPU.
fn answer_all(base: &RuleBase, request: &WhyRequest, out: &mut dyn Write) -> Result<Exit> {
    if request.asked.queries.is_empty() {
        let message = "name a framework and a configuration, such as: why lmdeploy pytorch";
        return Err(CliError::usage(message));
    }
    let asked = request.asked.questions(base)?;
    let pairs = request.asked.gpus.iter().flat_map(|gpu| asked.iter().map(move |one| (gpu, one)));
    let answer = |(gpu, question)| (question, request.asked.answer(base, gpu, question));
    let answers: Vec<_> = pairs.map(answer).collect();
    match (&request.write, request.fix) {
        (Some(file), number) => write_fix(&answers, number.unwrap_or(1), file, out)?,
        (None, Some(number)) => {
            for line in fixes(&answers, number)?.iter().flat_map(|text| text.lines()) {
                writeln!(out, "{}", request.asked.style.clean(line))?;
            }
        }
        (None, None) => explain(request, &answers, out)?,
    }
    let verdicts: Vec<_> = answers.into_iter().map(|(_, verdict)| verdict).collect();
    Ok(exit(&verdicts, request.asked.accept_no_obstacle))
}

fn explain(
    request: &WhyRequest,
    answers: &[(&Question, Verdict)],
    out: &mut dyn Write,
) -> Result<()> {
    if request.json {
        let not_considered = &request.asked.said.unheard;
        for (_, verdict) in answers {
            let line = Line { verdict, not_considered };
            out.write_all(&jsonl::line(&line).map_err(not_json)?)?;
        }
        return Ok(());
    }
    let style = request.asked.style;
    if let Some(model) = &request.asked.assumptions.model {
        let copies = answers.iter().map(|(question, _)| (*question).clone()).collect::<Vec<_>>();
        write!(out, "{}{}", model_text(model, style), copies_text(model, &copies, style))?;
    }
    write!(out, "{}", not_considered(&request.asked.said.unheard, style))?;
    let told: Vec<String> = if request.everything {
        answers.iter().map(|(question, verdict)| explained(question, verdict, style)).collect()
    } else {
        let groups = alike(answers.iter().map(|(_, verdict)| verdict.clone()));
        groups.iter().map(|group| summarised(group, style)).collect()
    };
    write!(out, "{}", told.join("\n"))?;
    if !request.everything {
        writeln!(out, "\n`--all` tells the reasoning, the evidence and every fix")?;
    }
    Ok(())
}

/// The text of this fix in every verdict that can be fixed, each text once.
fn fixes(answers: &[(&Question, Verdict)], number: u64) -> Result<Vec<String>> {
    if number == 0 {
        return Err(CliError::usage("fixes are counted from 1"));
    }
    let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let mut texts: Vec<String> = Vec::new();
    let mut most = 0;
    for (_, verdict) in answers {
        let ways = all_fixes(verdict);
        most = most.max(ways.len());
        let text = ways.get(place).map(|way: &Fix| way.text.trim_matches('\n').to_owned());
        texts.extend(text.filter(|text| !texts.contains(text)));
    }
    if texts.is_empty() && number > 1 {
        return Err(CliError::Usage(format!("no fix {number}; there are {most}")));
    }
    Ok(texts)
}

/// Writes one fix to a file that is not there yet.
fn write_fix(
    answers: &[(&Question, Verdict)],
    number: u64,
    file: &Path,
    out: &mut dyn Write,
) -> Result<()> {
    let text = match fixes(answers, number)?.as_slice() {
        [] => return Err(CliError::failed("no fix is known, nothing was written")),
        [text] => format!("{text}\n"),
        several => {
            return Err(CliError::Usage(format!(
                "{} different fixes apply; name one GPU and one configuration",
                several.len()
            )));
        }
    };
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let name = file.display();
    let mut created = created.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliError::Usage(format!(
            "{name} exists and is never overwritten; name another file or move it away"
        )),
        _ => cannot_write(file, &error),
    })?;
    created.write_all(text.as_bytes()).map_err(|error| cannot_write(file, &error))?;
    Ok(writeln!(out, "wrote {name}")?)
}

fn cannot_write(file: &Path, error: &io::Error) -> CliError {
    CliError::Failed(format!("cannot write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests;
