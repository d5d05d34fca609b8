//! `warpscope tuned`: what searches found best on this machine.

use std::collections::BTreeSet;
use std::path::PathBuf;

use warpscope_probes::Timestamp;

use super::compare::{duration, percent};
use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::output::file::Target;
use crate::config::{Environment, args, state_folder};
use crate::io::sink::export::wisdom;
use crate::io::sink::noise_file::machine;
use crate::io::sink::state_file;
use crate::io::sink::table::{Column, grid};
use crate::text::clean;
use crate::tuner::{Winner, Winners};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "tuned",
    about: "Show the best candidates found by tune on this machine",
    more: "With words of a key (kernel, sizes, number format, device), the parameters of the one winner that has them all are printed as name=value, for scripts. Winners are kept in $XDG_STATE_HOME/warpscope/tune/winners.json, else below ~/.local/state.\n\
           Exits with 1 if there is no such winner, or more than one.",
    args: &[&[&args::TUNED_KEY, &args::WISDOM, &args::FORCE], &[&args::JSON], STYLE, CONFIG_FILE],
    examples: &[
        ("tuned", "all of them"),
        ("tuned gemv n=4096 bf16", "block=128 rows=4"),
        ("tuned gemv --wisdom gemv.json", "a results file for kernel_tuner"),
    ],
    run,
    ..CommandSpec::BASE
};

/// `$XDG_STATE_HOME/warpscope/tune/winners.json`; nothing where neither XDG_STATE_HOME nor HOME is set.
pub(crate) fn winners_path(env: &Environment) -> Option<PathBuf> {
    Some(state_folder(env)?.join("tune").join("winners.json"))
}

fn run(options: &Options) -> Result<Exit> {
    let target = options.get(&args::WISDOM);
    let target = target.as_deref().map(|path| Target { path, force: options.get(&args::FORCE) });
    target.map(|target| target.check()).transpose()?;
    let path = winners_path(&options.env);
    let read =
        path.map_or_else(|| Ok(Winners::default()), |path| state_file::read(&path, Winners::parse));
    let winners = read.map_err(CliError::Failed)?;
    let words = options.get(&args::TUNED_KEY);
    let found = winners.named(&machine(), &words);
    if found.is_empty() {
        let what =
            if words.is_empty() { String::new() } else { format!(" as {}", words.join(" ")) };
        return Err(CliError::Failed(format!(
            "nothing was tuned{what} on this machine; `warpscope tune SPEC` does"
        )));
    }
    if let Some(target) = target {
        let kernel = kernel(&found)?;
        target.write(|out| wisdom(&kernel, &found, out))?;
        return Ok(Exit::Fine);
    }
    if options.get(&args::JSON) {
        output::json(&found)?;
        return Ok(Exit::Fine);
    }
    match (&found[..], words.is_empty()) {
        ([one], false) => {
            output::print(&format!("{}\n", clean(&one.best[0].parameters.to_string(), false)))?
        }
        _ => output::print(&grid(&columns(), &found, output::style(options)))?,
    };
    Ok(if found.len() > 1 && !words.is_empty() { Exit::CheckFailed } else { Exit::Fine })
}

/// The one kernel they are of: a file of kernel_tuner's holds no other.
fn kernel(winners: &[&Winner]) -> Result<String> {
    let names: BTreeSet<&str> = winners.iter().map(|winner| winner.key.name.as_str()).collect();
    let mut all = names.iter();
    match (all.next(), all.next()) {
        (Some(one), None) => Ok((*one).to_owned()),
        _ => {
            let names: Vec<&str> = names.into_iter().collect();
            Err(CliError::Usage(format!("name one kernel: {}", names.join(", "))))
        }
    }
}

fn columns<'a>() -> [Column<&'a Winner>; 5] {
    [
        Column::left("kernel", 0, |one, style| {
            clean(&one.key.to_string(), style.ascii).into_owned()
        }),
        Column::left("best", 0, |one, style| {
            clean(&one.best[0].parameters.to_string(), style.ascii).into_owned()
        }),
        Column::right("median", 1, |one, _| duration(one.best[0].median_ns)),
        Column::right("baseline", 0, |one, _| percent(one.change)),
        Column::left("tuned", 2, |one, _| {
            Timestamp(one.at_ms).to_string().chars().take(10).collect()
        }),
    ]
}
