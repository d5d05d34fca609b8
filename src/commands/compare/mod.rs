//! `warpscope compare`: files of runs in, calls out.

mod ci;
mod forms;
pub(crate) mod known;
mod read;
mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::output;
use crate::commands::cli::{Args, CONFIG_FILE, CliError, CommandSpec, Exit, Form, Options, STYLE};
use crate::commands::compare::known::known_noise;
use crate::config::args;
use crate::runs::compare::{Call, Comparison, Groups, Terms, compare_groups};
pub(crate) use ci::check_report;
pub(crate) use text::{duration, percent};

/// What build servers ask for.
pub(crate) const CI: Args = &[&args::JUNIT, &args::GITHUB, &args::FORCE];

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "compare",
    about: "Compare runs kernel by kernel: faster, slower, unchanged or ambiguous",
    more: "The process is the unit: each counts once, by the median of its samples, and the interval is that of Student's t between processes. \
           With one process on each side the answer is AMBIGUOUS unless the noise of that command is known (`warpscope noise -- CMD`, or --noise); \
           several files a side (--old, --new), or `warpscope versus`, need no such knowledge. A change counts from 1%, at a false discovery rate of 1%. \
           Exits with 0 unless --fail-on is given.",
    args: &[
        &[&args::RUNS, &args::OLD, &args::NEW],
        &[&args::FAIL_ON, &args::NOISE, &args::JSON, &args::MARKDOWN, &args::CSV],
        CI,
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("compare before.jsonl after.jsonl", "kernel by kernel"),
        (
            "compare --old a1.json a2.json a3.json --new b1.json b2.json b3.json",
            "three processes a side",
        ),
        (
            "compare base.json new.json --fail-on slower,missing --junit out.xml --github",
            "to block a merge",
        ),
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
}

/// Compares the files that were named.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    check_report(options)?;
    let sides = sides(options)?;
    let (mut runs, mut machines, mut commands) = (Vec::new(), Vec::new(), BTreeSet::new());
    for side in &sides {
        let (mut groups, mut devices) = (Groups::default(), BTreeSet::new());
        for path in &side.files {
            let read = read::read(path, &mut groups)?;
            for remark in &read.remarks {
                output::note(format_args!("{}: {remark}", path.display()));
            }
            devices.extend(read.devices);
            commands.extend(read.commands);
        }
        runs.push(groups);
        machines.push(devices);
    }
    let known = known_noise(options, &commands);
    let terms = Terms { known: &|key| known.spread(key), ..Terms::default() };
    let comparison = compare_groups(runs, &terms);
    let names: Vec<String> = sides.into_iter().map(|side| side.name).collect();
    show(&Shown { comparison: &comparison, names: &names }, options)?;
    if let Some(warning) = other_machine(&comparison, &machines) {
        output::note(format_args!("warpscope: {warning}"));
    }
    Ok(outcome(&comparison, options))
}

/// Files that are one side.
struct Files {
    name: String,
    files: Vec<PathBuf>,
}

/// The baseline and what is compared with it: file by file, or all of --old with all of --new.
fn sides(options: &Options) -> Result<Vec<Files>, CliError> {
    let (runs, old, new) =
        (options.get(&args::RUNS), options.get(&args::OLD), options.get(&args::NEW));
    let wrong = |why: &str| Err(CliError::Usage(why.to_owned()));
    match (runs.len(), old.is_empty(), new.is_empty()) {
        (2.., true, true) => Ok(runs
            .into_iter()
            .map(|path| Files { name: path.display().to_string(), files: vec![path] })
            .collect()),
        (0, false, false) => {
            let all = |name: &str, files: Vec<PathBuf>| Files { name: name.to_owned(), files };
            Ok(vec![all("old", old), all("new", new)])
        }
        (1.., _, _) if !(old.is_empty() && new.is_empty()) => {
            wrong("name files by --old and --new, or one after the other, not both")
        }
        _ => wrong(
            "name two runs or more: `warpscope compare before.jsonl after.jsonl`, or --old FILE... --new FILE...",
        ),
    }
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

/// Prints a comparison in the form that was asked for, and what build servers asked for.
pub(crate) fn show(shown: &Shown<'_>, options: &Options) -> Result<(), CliError> {
    match options.form() {
        Form::Json => output::json(&forms::document(shown))?,
        Form::Csv => output::write(forms::csv(shown).as_bytes())?,
        Form::Markdown => output::write(forms::markdown(shown).as_bytes())?,
        Form::Text => output::write(text::text(shown, output::style(options)).as_bytes())?,
    }
    ci::publish(shown, options)
}

/// Results that must not be.
struct FailOn(Vec<String>);

impl FailOn {
    fn new(options: &Options) -> Self {
        Self(options.get(&args::FAIL_ON))
    }

    fn call(&self, call: Call) -> bool {
        let call = call.to_string().to_lowercase();
        self.0.contains(&call)
    }

    fn missing(&self) -> bool {
        self.0.iter().any(|one| one == "missing")
    }
}

/// 1 where what must not be was found.
pub(crate) fn outcome(comparison: &Comparison, options: &Options) -> Exit {
    let fail_on = FailOn::new(options);
    let is_missing = comparison.alone.iter().any(|one| one.run == 0);
    let called = comparison.rows.iter().any(|row| fail_on.call(row.judgement.call));
    if called || (is_missing && fail_on.missing()) { Exit::CheckFailed } else { Exit::Fine }
}
