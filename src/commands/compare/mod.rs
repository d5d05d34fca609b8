//! `warpscope compare`: files of runs in, calls out.

mod forms;
mod read;
mod text;
pub(crate) mod thresholds;

use std::collections::BTreeSet;

use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Form, Options, STYLE};
use crate::config::args::{self, FailOn};
use crate::runs::compare::{Call, Comparison, compare_groups};
use crate::worker::Thresholds;
pub(crate) use text::{duration, percent};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "compare",
    about: "Compare runs kernel by kernel: faster, slower, unchanged or ambiguous",
    more: "Uses medians of raw samples, a rank-sum test corrected for multiple comparisons, and a bootstrap interval. A change must exceed 1% and twice the noise of the machine. Exits with 0 unless --fail-on is given.",
    args: &[
        &[&args::RUNS, &args::FAIL_ON, &args::NOISE, &args::JSON, &args::MARKDOWN, &args::CSV],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("compare before.jsonl after.jsonl", "kernel by kernel"),
        ("compare base.json new.json --fail-on slower", "to block a merge"),
    ],
    run,
    ..CommandSpec::BASE
};

/// What a comparison is shown from.
pub(crate) struct Shown<'a> {
    /// The answers.
    pub(crate) comparison: &'a Comparison,
    /// Names of the runs, the baseline first.
    pub(crate) names: &'a [String],
    /// From where on a difference counts.
    pub(crate) thresholds: &'a Thresholds,
}

/// Compares the files that were named.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let paths = options.get(&args::RUNS);
    if paths.len() < 2 {
        return Err(CliError::Usage(
            "name two runs or more: `warpscope compare before.jsonl after.jsonl`".to_owned(),
        ));
    }
    let (mut runs, mut machines) = (Vec::new(), Vec::new());
    for path in &paths {
        let read = read::read(path)?;
        for remark in &read.remarks {
            output::note(format_args!("{}: {remark}", path.display()));
        }
        runs.push(read.groups);
        machines.push(read.devices);
    }
    let thresholds = thresholds::thresholds(options);
    let comparison = compare_groups(runs, |key| thresholds.limits(key));
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let shown = Shown { comparison: &comparison, names: &names, thresholds: &thresholds };
    show(&shown, options)?;
    if let Some(warning) = other_machine(&comparison, &machines) {
        output::note(format_args!("warpscope: {warning}"));
    }
    Ok(outcome(&comparison, options))
}

/// A warning where points that name no device come from machines with other devices: nobody knows whether they can be compared.
fn other_machine(comparison: &Comparison, machines: &[BTreeSet<String>]) -> Option<String> {
    let base = machines.first()?;
    let row = comparison.rows.iter().find(|row| {
        let machine = &machines[row.run + 1];
        row.key.device.is_none() && !base.is_empty() && !machine.is_empty() && machine != base
    })?;
    let names = |machine: &BTreeSet<String>| machine.iter().cloned().collect::<Vec<_>>().join(", ");
    Some(format!(
        "{} names no device, and the runs were on different machines: {}; {}",
        row.key,
        names(base),
        names(&machines[row.run + 1])
    ))
}

/// Prints a comparison in the form that was asked for.
pub(crate) fn show(shown: &Shown<'_>, options: &Options) -> Result<(), CliError> {
    match options.form() {
        Form::Json => output::json(&forms::document(shown))?,
        Form::Csv => output::write(forms::csv(shown).as_bytes())?,
        Form::Markdown => output::write(forms::markdown(shown).as_bytes())?,
        Form::Text => output::write(text::text(shown, output::style(options)).as_bytes())?,
    }
    Ok(())
}

/// 1 where the call that must not be was made.
pub(crate) fn outcome(comparison: &Comparison, options: &Options) -> Exit {
    let bad = match options.get(&args::FAIL_ON) {
        Some(FailOn::Slower) => comparison.count(Call::Slower),
        Some(FailOn::Faster) => comparison.count(Call::Faster),
        None => 0,
    };
    if bad > 0 { Exit::CheckFailed } else { Exit::Fine }
}
