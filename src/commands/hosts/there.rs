//! Commands that run on the hosts that are named, with what they print shown here.

use std::ffi::OsString;
use std::thread;

use serde::Serialize;
use serde_json::Value;

use super::offer::offer;
use super::{Answer, build, call, checks, named, plans, ssh};
use crate::commands::cli::{CliError, CommandSpec, Exit, Form, Options, Result};
use crate::commands::output;
use crate::config::args;
use crate::io::sink::table::Style;
use crate::io::source::hosts::script::{Means, run_warpscope};
use crate::io::source::hosts::{HostName, Trouble};

/// Options that say where and how to connect: they are for this side.
const OURS: [&str; 4] = ["--host", "--ssh", "--install", "--config"];

/// What came of a host.
pub(super) type Outcome = Result<Answer, Trouble>;

/// Runs a command, as it was given here, on every host, at once. Exits with the highest code of all.
pub(crate) fn run(options: &Options, command: &CommandSpec, line: &[OsString]) -> Result<Exit> {
    let hosts = named(options)?;
    let mut words = theirs(line)?;
    let table = table_of(command).filter(|_| {
        hosts.len() > 1 && options.form() == Form::Text && options.get(&args::TRAIN).is_none()
    });
    if table.is_some() {
        words.push("--json".to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = run_warpscope(&build(), &words, ":");
    let ssh = ssh(options)?;
    offer(options, &hosts, &ssh);
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let calls: Vec<_> =
            hosts.iter().map(|host| scope.spawn(|| call(&ssh, host, &script, None))).collect();
        let what = "the thread that asked it failed";
        let lost = || Err(Trouble { what: what.to_owned(), remedy: String::new() });
        calls.into_iter().map(|call| call.join().unwrap_or_else(|_| lost())).collect()
    });
    let outcomes =
        hosts.iter().zip(outcomes).map(|(host, outcome)| (host, understood(host, outcome)));
    let outcomes: Vec<_> = outcomes.collect();
    if let Some(table) = table {
        let code = highest(&outcomes);
        output::print(&table(&outcomes, output::style(options)))?;
        return Ok(Exit::Command(code));
    }
    show(options, outcomes)
}

type Table = fn(&[(&HostName, Outcome)], Style) -> String;

/// How what several hosts answer becomes one table.
fn table_of(command: &CommandSpec) -> Option<Table> {
    match command.name {
        "check" => Some(checks::table),
        "plan" => Some(plans::table),
        _ => None,
    }
}

/// The words of a command line that are for the other side: without this program's name and what says where to connect.
fn theirs(line: &[OsString]) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut line = line.iter().skip(1);
    let mut literal = false;
    while let Some(word) = line.next() {
        let Some(text) = word.to_str().filter(|text| !text.contains(char::is_control)) else {
            return Err(CliError::Usage(format!(
                "{}: cannot be passed to another host",
                word.display()
            )));
        };
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        if literal || !OURS.contains(&name) {
            literal |= text == "--";
            words.push(text.to_owned());
        } else if name == text {
            line.next();
        }
    }
    Ok(words)
}

/// An answer of warpscope; whatever else answers is trouble.
fn understood(host: &HostName, outcome: Outcome) -> Outcome {
    let answer = outcome?;
    match answer.hello.as_ref().map(|hello| hello.means) {
        Some(Means::Warpscope) => Ok(answer),
        Some(_) => Err(Trouble {
            what: "warpscope is not installed there".to_owned(),
            remedy: format!("`warpscope host install {host}` sends this program."),
        }),
        None => {
            Err(Trouble::of(answer.words.lines().last().unwrap_or("no answer is understood"), host))
        }
    }
}

#[derive(Serialize)]
struct Answers<'a> {
    schema: u32,
    hosts: Vec<HostAnswer<'a>>,
}

#[derive(Serialize)]
struct HostAnswer<'a> {
    host: &'a str,
    exit: Option<u8>,
    answer: Option<Value>,
    error: Option<String>,
}

fn show(options: &Options, outcomes: Vec<(&HostName, Outcome)>) -> Result<Exit> {
    let code = highest(&outcomes);
    if options.form() == Form::Json {
        let hosts = outcomes.into_iter().map(|(host, outcome)| answer_of(host, outcome)).collect();
        output::json(&Answers { schema: 1, hosts })?;
        return Ok(Exit::Command(code));
    }
    let several = outcomes.len() > 1;
    for (place, (host, outcome)) in outcomes.into_iter().enumerate() {
        if several {
            output::print(&format!("{}== {host}\n", if place > 0 { "\n" } else { "" }))?;
        }
        match outcome {
            Ok(answer) => {
                output::write(&answer.output)?;
                answer.words.lines().for_each(|line| output::note(format_args!("{host}: {line}")));
            }
            Err(trouble) => {
                output::note(format_args!("{host}: {}; {}", trouble.what, trouble.remedy))
            }
        }
    }
    Ok(Exit::Command(code))
}

fn answer_of(host: &HostName, outcome: Outcome) -> HostAnswer<'_> {
    let host = host.as_str();
    match outcome {
        Err(trouble) => HostAnswer { host, exit: None, answer: None, error: Some(trouble.what) },
        Ok(answer) => {
            let parsed: Option<Value> = serde_json::from_slice(&answer.output).ok();
            let said = (!answer.words.is_empty()).then_some(answer.words);
            let error =
                if parsed.is_none() { said.or_else(|| Some("no JSON".to_owned())) } else { said };
            HostAnswer { host, exit: Some(answer.code), answer: parsed, error }
        }
    }
}

/// The highest exit code of all; a host without an answer counts as a check that failed.
fn highest(outcomes: &[(&HostName, Outcome)]) -> u8 {
    let codes = outcomes.iter().map(|(_, outcome)| {
        outcome.as_ref().map_or(Exit::CheckFailed.code(), |answer| answer.code)
    });
    codes.max().unwrap_or_default()
}
