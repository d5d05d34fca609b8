//! `warpscope explain`: from the text of an error to its cause, and what to do.
//!
//! The text comes from a file, from standard input or from a command that is run; what is true on this machine is asked only where the text
//! can come from here, so that a log pasted from elsewhere is not judged by the wrong GPU.

mod probed;
mod show;
mod subject;

use std::io::Write;

use serde::Serialize;

use super::output;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, Form, LIVE, NAMED_GPUS, Options, Result, STYLE,
};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::{first_frame, what_if};
use crate::config::args;
use crate::engine::Target;
use crate::engine::explain::{Answer, Confidence, Digest, Facts, Origin, Problem, explain};
use crate::io::machine;
use crate::io::sink::jsonl;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "explain",
    about: "Explain an error message: its cause, how sure that is, what else it could be, and the fix",
    more: "Reads a file, standard input, or the output of a command behind --, which is passed through and ends with the command's own code. \
Facts of this machine decide where it has a GPU and the text names no other; --here says that it comes from here. \
Exits with 0 if a cause was found, with 1 if one of two or several fits, with 4 if none is known.",
    args: &[
        &[&args::ERROR_TEXT, &args::COMMAND],
        &[&args::HERE, &args::ENVIRONMENT, &args::OF_PROCESS, &args::RUN_PROBES],
        NAMED_GPUS,
        LIVE,
        &[&args::RULES, &args::JSON, &args::MARKDOWN],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("explain crash.log --gpu V100", "a log from another machine, of which the GPU is known"),
        ("explain -- python train.py", "run it, and explain the error if it fails"),
        ("explain crash.log --markdown", "an issue report, names and paths hidden"),
    ],
    run,
    ..CommandSpec::BASE
};

/// Number of the JSON format.
const SCHEMA: u32 = 1;

/// The first problem stands at the top, so that a script need not look into the list.
#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    lines: u64,
    #[serde(flatten)]
    first: Option<&'a Problem>,
    others: &'a [Problem],
    look: Option<&'a str>,
}

fn run(options: &Options) -> Result<Exit> {
    let command = options.get(&args::COMMAND);
    if command.is_empty() {
        let digest = subject::read(options.get(&args::ERROR_TEXT).as_deref())?;
        return tell(options, &digest, output::print);
    }
    let ended = subject::watch(&command)?;
    if ended.is_suspicious {
        tell(options, &ended.digest, beside)?;
    }
    Ok(ended.exit)
}

/// Standard output belongs to the command that ran.
fn beside(text: &str) -> Result<Exit> {
    output::stderr().write_all(text.as_bytes())?;
    Ok(Exit::Fine)
}

fn tell(options: &Options, digest: &Digest, print: fn(&str) -> Result<Exit>) -> Result<Exit> {
    let answer = answer(options, digest)?;
    let shown = match options.form() {
        Form::Json => {
            let bytes = jsonl::line(&report(&answer)).map_err(output::not_json)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
        Form::Markdown => show::markdown(&answer, digest, &options.env),
        _ => show::text(&answer, output::style(options)),
    };
    print(&shown)?;
    Ok(exit(&answer))
}

fn answer(options: &Options, digest: &Digest) -> Result<Answer> {
    let rules = rule_base(options)?;
    let mut facts = Facts::default();
    let named = what_if::choice(options)?.named;
    match named.first() {
        Some(gpu) => machine::state_gpu(
            &mut facts,
            &Target::from_gpu(gpu, &Default::default()),
            Origin::Named,
        ),
        None => facts.join(&of_here(options, digest)),
    }
    let environment = options.get(&args::ENVIRONMENT);
    if let Some(folder) = &environment
        && !machine::is_environment(folder)
    {
        let name = folder.display();
        return Err(CliError::Usage(format!("--env {name}: is no folder of a Python environment")));
    }
    let active = || is_from_here(options).then(|| machine::active_environment(&variable(options)));
    let environment = environment.or_else(|| active().flatten());
    facts.join(&machine::libraries(digest, environment.as_deref()));
    let answer = explain(digest, &facts, &rules);
    let wanted = answer.problems.first().map_or(&[][..], |problem| &problem.probes);
    if !options.get(&args::RUN_PROBES) || wanted.is_empty() {
        return Ok(answer);
    }
    probed::state(&mut facts, wanted, options.get(&args::LIBRARY).as_deref())?;
    Ok(explain(digest, &facts, &rules))
}

/// What is true here: always where the user says that the text comes from here, else where it can.
fn of_here(options: &Options, digest: &Digest) -> Facts {
    let Some(frame) = open_source(options, AtEnd::Stop).and_then(first_frame).ok() else {
        return Facts::default();
    };
    match is_from_here(options) {
        true => machine::of_here(&frame, &variable(options)),
        false => machine::facts_for(digest, &frame, Some(&variable(options))),
    }
}

/// Whether the text comes from this machine for sure: the user says so, or a command or process of it was named.
fn is_from_here(options: &Options) -> bool {
    let process = options.get(&args::OF_PROCESS);
    options.get(&args::HERE) || process.is_some() || !options.get(&args::COMMAND).is_empty()
}

/// Variables of the process that is asked about, else of this one.
fn variable(options: &Options) -> impl Fn(&str) -> Option<String> {
    let process = options.get(&args::OF_PROCESS);
    move |name| match process {
        Some(pid) => machine::of_process(pid, name),
        None => options.env.text(name),
    }
}

fn report(answer: &Answer) -> Report<'_> {
    let others = answer.problems.get(1..).unwrap_or_default();
    let first = answer.problems.first();
    Report { schema: SCHEMA, lines: answer.lines, first, others, look: answer.look.as_deref() }
}

fn exit(answer: &Answer) -> Exit {
    match answer.problems.first().map(|problem| problem.confidence) {
        Some(Confidence::OneOfTwo | Confidence::OneOfSeveral) => Exit::CheckFailed,
        Some(Confidence::Settled | Confidence::Fits) => Exit::Fine,
        None => Exit::Unknown,
    }
}
