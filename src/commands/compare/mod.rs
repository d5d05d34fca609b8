//! `warpscope compare`: files of runs in, calls out.

mod baseline;
mod ci;
mod forms;
pub(crate) mod known;
mod read;
mod text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::output;
use crate::commands::cli::{
    Args, CONFIG_FILE, CliError, CommandSpec, Exit, Form, Options, Result, STYLE,
};
use crate::commands::compare::known::known_noise;
use crate::config::args;
use crate::runs::compare::{Call, Comparison, Groups, Terms, compare_groups};
use baseline::Baselines;
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
        &[&args::BASELINE, &args::SAVE_BASELINE, &args::BASELINES],
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
            "compare new1.json new2.json --baseline main --save-baseline main --fail-on slower,error",
            "with the runs kept of a branch, which these replace where nothing fails",
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
    /// Runs that failed, and results that could not be read.
    pub(crate) errors: &'a [String],
}

/// Compares the files that were named.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    check_report(options)?;
    let kept = Baselines::new(options)?;
    let sides = sides(options, &kept)?;
    let is_alone = sides.len() == 1;
    if is_alone && is_shown(options) {
        let why = "with --save-baseline alone nothing is compared, so there is no report; name a --baseline too";
        return Err(CliError::usage(why));
    }
    let Gathered { runs, machines, commands, errors } = gather(&sides)?;
    let known = known_noise(options, &commands);
    let terms = Terms { known: &|key| known.spread(key), ..Terms::default() };
    let comparison = compare_groups(runs, &terms);
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    let shown = Shown { comparison: &comparison, names: &names, errors: &errors };
    if is_alone {
        errors.iter().for_each(|why| output::note(format_args!("error: {why}")));
    } else {
        show(&shown, options)?;
    }
    if let Some(warning) = other_machine(&comparison, &machines) {
        output::note(format_args!("warpscope: {warning}"));
    }
    let exit = outcome(&shown, options);
    if exit == Exit::Fine {
        let new = &sides[usize::from(!is_alone)..];
        let new: Vec<PathBuf> = new.iter().flat_map(|side| side.files.clone()).collect();
        kept.save(&new)?;
    }
    Ok(exit)
}

/// Whether the options ask for a report of a comparison.
fn is_shown(options: &Options) -> bool {
    let is_form = options.form() != Form::Text;
    is_form || options.get(&args::JUNIT).is_some() || options.get(&args::GITHUB)
}

/// What the files of all sides hold.
#[derive(Default)]
struct Gathered {
    /// By side.
    runs: Vec<Groups>,
    /// Devices of the machines of each side.
    machines: Vec<BTreeSet<String>>,
    commands: BTreeSet<String>,
    errors: Vec<String>,
}

fn gather(sides: &[Files]) -> Result<Gathered> {
    let mut all = Gathered::default();
    for side in sides {
        let (mut groups, mut devices) = (Groups::default(), BTreeSet::new());
        for path in &side.files {
            let read = read::read(path, &mut groups)?;
            for remark in &read.remarks {
                output::note(format_args!("{}: {remark}", path.display()));
            }
            devices.extend(read.devices);
            all.commands.extend(read.commands);
            all.errors.extend(read.errors.iter().map(|why| format!("{}: {why}", path.display())));
        }
        all.runs.push(groups);
        all.machines.push(devices);
    }
    Ok(all)
}

/// Files that are one side.
struct Files {
    name: String,
    files: Vec<PathBuf>,
}

/// The baseline and what is compared with it: file by file, or all of --old with all of --new.
fn sides(options: &Options, kept: &Baselines) -> Result<Vec<Files>> {
    let (runs, old, new) =
        (options.get(&args::RUNS), options.get(&args::OLD), options.get(&args::NEW));
    let wrong = |why: &str| Err(CliError::usage(why));
    let baseline = kept.load()?.map(|(name, files)| Files { name, files });
    if kept.are_named() && !runs.is_empty() && old.is_empty() && new.is_empty() {
        let new = Files { name: "new".to_owned(), files: runs };
        return Ok(baseline.into_iter().chain([new]).collect());
    }
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
        _ if kept.are_named() => {
            wrong("with --baseline and --save-baseline, name runs without --old and --new")
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
    let (key, base, other) = (&row.key, names(base), names(&machines[row.run + 1]));
    Some(format!("{key} names no device, and the runs were on different machines: {base}; {other}"))
}

/// Prints a comparison in the form that was asked for, and what build servers asked for.
pub(crate) fn show(shown: &Shown<'_>, options: &Options) -> Result<()> {
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
        self.has(&call.to_string().to_lowercase())
    }

    fn has(&self, result: &str) -> bool {
        self.0.iter().any(|one| one == result)
    }
}

/// 1 where what must not be was found.
pub(crate) fn outcome(shown: &Shown<'_>, options: &Options) -> Exit {
    let fail_on = FailOn::new(options);
    let is_missing = shown.comparison.alone.iter().any(|one| one.is_missing);
    let called = shown.comparison.rows.iter().any(|row| fail_on.call(row.judgement.call));
    let failed = !shown.errors.is_empty() && fail_on.has("error");
    let fails = called || failed || (is_missing && fail_on.has("missing"));
    if fails { Exit::CheckFailed } else { Exit::Fine }
}
