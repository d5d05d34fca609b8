//! `warpscope history`: journals into the store, and kernels over their runs out of it.

pub(crate) mod text;
use std::path::Path;

use serde::Serialize;
use warpscope_probes::Timestamp;

use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::frames::source::note_skipped;
use crate::config::{args, data_folder};
use crate::io::sink::history::{DATABASE, FOLDER, History, HistoryError};
use crate::runs::compare::Quartiles;
use crate::store::trends::{ChangePoint, Difference, RecordedRun, RunMedian, Trend, regime_word};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "history",
    about: "Show kernel speeds over recorded runs, and where they changed",
    more: "Shows medians of clean samples, run by run, never mixing devices or timing modes. Change points need at least eight runs and are shown with what changed at the same time: commit, driver, environment. Runs are imported from run logs into $XDG_DATA_HOME/warpscope/history/, else ~/.local/share/warpscope/history/; importing a log twice changes nothing. `record --history` and `bench --record FILE --history` import their run themselves; nothing else adds one.",
    args: &[
        &[&args::FILTER, &args::IMPORT, &args::FORGET],
        &[&args::WEAK, &args::FAIL_ON_CHANGE, &args::JSON],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("history --import run.jsonl", "import what `bench --record` or `record` wrote"),
        ("history gemm bf16", "all kernels with these words in their names"),
        ("history --import run.jsonl --fail-on slower", "to stop a nightly build"),
        ("history --forget 1a2b3c4", "without the runs of a commit"),
    ],
    run,
    ..CommandSpec::BASE
};

/// Number of the JSON form.
const SCHEMA: u32 = 1;

/// What there is to do when nothing was ever recorded.
const EMPTY: &str = "No run is in the history yet. `warpscope bench --record run.jsonl` or `warpscope record run.jsonl -- COMMAND` records one;\n\
     --history there, or `warpscope history --import run.jsonl`, takes it in.";

/// Takes a journal that was just written into the history where that is asked for. Trouble is told and costs nothing: the journal is the truth.
pub(crate) fn remember(options: &Options, journal: &Path) {
    if !options.get(&args::KEEP_IN_HISTORY) {
        return;
    }
    let Some(folder) = data_folder(&options.env) else { return };
    let kept = History::create(&folder.join(FOLDER)).and_then(|store| store.import(journal));
    if let Err(error) = kept {
        let way_out = format!("`warpscope history --import {}` imports it", journal.display());
        output::note(format_args!("not in the history yet: {error}; {way_out}"));
    }
}

/// Imports what is named and prints what matches.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let folder = data_folder(&options.env).ok_or_else(|| {
        CliError::usage("neither XDG_DATA_HOME nor HOME is set; set one of them to keep a history")
    })?;
    let path = folder.join(FOLDER);
    let database = folder.join(DATABASE);
    if database.exists() {
        let name = database.display();
        output::note(format_args!(
            "{name} of an earlier version is no longer read: import its journals again with `warpscope history --import JOURNAL`, then remove it"
        ));
    }
    let store = if options.get(&args::IMPORT).is_empty() {
        open(&path)?
    } else {
        Some(import(options, History::create(&path).map_err(unusable)?)?)
    };
    forget(options, store.as_ref())?;
    let all = store.map_or(Ok(Vec::new()), |store| store.trends()).map_err(unusable)?;
    let words: Vec<String> =
        options.get(&args::FILTER).iter().map(|word| word.to_lowercase()).collect();
    let asked = |trend: &&Trend| {
        let text = format!("{} {}", trend.name(), trend.circumstances()).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let chosen: Vec<&Trend> = all.iter().filter(asked).collect();
    let weak = options.get(&args::WEAK);
    if options.get(&args::JSON) {
        output::json(&document(&chosen, weak))?;
        return Ok(outcome(&chosen, options));
    }
    let style = output::style(options);
    output::print(&match (all.len(), chosen.len()) {
        (0, _) => EMPTY.to_owned(),
        (all, 0) => format!("None of {all} kernels has these words in its name."),
        (_, 2..) if words.is_empty() => text::overview(&chosen, weak, style),
        _ => text::details(&chosen, weak, style),
    })?;
    Ok(outcome(&chosen, options))
}

/// 1 where the last change of a kernel is one that must not be.
fn outcome(trends: &[&Trend], options: &Options) -> Exit {
    let fail_on = options.get(&args::FAIL_ON_CHANGE);
    let last = |trend: &&Trend| trend.change_points(false).last().copied();
    let word = |change: ChangePoint| if change.change > 0.0 { "slower" } else { "faster" };
    let mut words = trends.iter().filter_map(last).map(word);
    let fails = words.any(|word| fail_on.iter().any(|one| one == word));
    if fails { Exit::CheckFailed } else { Exit::Fine }
}

/// Shortest beginning of a commit that names it.
const SHORTEST_COMMIT: usize = 7;

/// Removes the runs that are named; one that is not there is a fault, since it may be a misprint.
fn forget(options: &Options, store: Option<&History>) -> Result<()> {
    for word in options.get(&args::FORGET) {
        let file =
            std::path::absolute(&word).map_or(word.clone(), |path| path.display().to_string());
        let is_meant = |run: &RecordedRun| {
            let commit = run.identity.commit.as_deref().unwrap_or_default();
            run.identity.name.as_ref() == Some(&word)
                || run.file == file
                || (word.len() >= SHORTEST_COMMIT && commit.starts_with(&word))
        };
        match store.map_or(Ok(0), |store| store.forget(is_meant)).map_err(unusable)? {
            0 => return Err(CliError::Usage(format!("no run in the history is named {word}"))),
            1 => output::note(format_args!("{word}: 1 run forgotten")),
            count => output::note(format_args!("{word}: {count} runs forgotten")),
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<Option<History>> {
    let store = History::open(path).map_err(unusable)?;
    if store.as_ref().is_some_and(History::is_read_only) {
        let name = path.display();
        output::note(format_args!(
            "{name} is not writable: it is shown as it is, and no run is added"
        ));
    }
    Ok(store)
}

/// A store that cannot be used is a file that cannot be used.
fn unusable(error: HistoryError) -> CliError {
    CliError::usage(error)
}

fn import(options: &Options, store: History) -> Result<History> {
    for journal in options.get(&args::IMPORT) {
        let imported = store.import(&journal).map_err(unusable)?;
        let name = journal.display();
        let again = match imported.again {
            0 => String::new(),
            again => format!(" ({again} already known, rebuilt)"),
        };
        let runs = if imported.runs == 1 { "run" } else { "runs" };
        output::note(format_args!(
            "{name}: {} {runs}{again}, {} samples",
            imported.runs, imported.samples
        ));
        note_skipped(&journal, &imported.skipped);
    }
    Ok(store)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    kernels: Vec<JsonTrend<'a>>,
}

#[derive(Serialize)]
struct JsonTrend<'a> {
    kernel: &'a str,
    shape: &'a crate::runs::samples::Shape,
    dtype: Option<&'a str>,
    config: &'a str,
    device: &'a str,
    regime: &'static str,
    cold: Option<bool>,
    runs: Vec<JsonRun<'a>>,
    changes: Vec<JsonShift>,
}

#[derive(Serialize)]
struct JsonRun<'a> {
    at: Option<Timestamp>,
    name: Option<&'a str>,
    commit: Option<&'a str>,
    dirty: Option<&'a str>,
    driver: Option<&'a str>,
    samples: u64,
    tainted: u64,
    lower_quartile_ns: Option<f64>,
    median_ns: Option<f64>,
    upper_quartile_ns: Option<f64>,
    marks: Vec<&'a str>,
    journal: &'a str,
}

#[derive(Serialize)]
struct JsonShift {
    /// The first run at the new level, counted from 0.
    run: usize,
    change_share: f64,
    before_ns: f64,
    after_ns: f64,
    p: f64,
    weak: bool,
    beside: Vec<Difference>,
}

fn document<'a>(trends: &[&'a Trend], weak: bool) -> Document<'a> {
    let kernels = trends.iter().map(|trend| JsonTrend {
        kernel: &trend.key.name,
        shape: &trend.key.shape,
        dtype: trend.key.dtype.as_deref(),
        config: &trend.config,
        device: &trend.device,
        regime: regime_word(trend.regime),
        cold: trend.cold,
        runs: trend.run_medians.iter().map(json_run).collect(),
        changes: trend.change_points(weak).iter().map(|shift| json_shift(trend, shift)).collect(),
    });
    Document { schema: SCHEMA, kernels: kernels.collect() }
}

fn json_run(moment: &RunMedian) -> JsonRun<'_> {
    let identity = &moment.run.identity;
    let quartile = |of: fn(&Quartiles) -> f64| moment.quartiles.as_ref().map(of);
    JsonRun {
        at: (identity.at_ms > 0).then_some(Timestamp(identity.at_ms)),
        name: identity.name.as_deref(),
        commit: identity.commit.as_deref(),
        dirty: identity.dirty.text(),
        driver: identity.driver.as_deref(),
        samples: moment.clean,
        tainted: moment.tainted,
        lower_quartile_ns: quartile(|all| all.lower),
        median_ns: quartile(|all| all.median),
        upper_quartile_ns: quartile(|all| all.upper),
        marks: moment.run.marks.iter().map(|mark| mark.text.as_str()).collect(),
        journal: &moment.run.file,
    }
}

fn json_shift(trend: &Trend, shift: &ChangePoint) -> JsonShift {
    JsonShift {
        run: shift.at,
        change_share: shift.change,
        before_ns: shift.before,
        after_ns: shift.after,
        p: shift.p,
        weak: shift.weak,
        beside: trend.beside(shift),
    }
}
