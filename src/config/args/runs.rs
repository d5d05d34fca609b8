//! Runs of the past and of a search: compared, exported, kept, tuned.

use std::path::PathBuf;
use std::time::Duration;

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;
use crate::io::sink::export::EXPORT_IDS;

/// Results that can make a comparison end with 1.
const FAILURES: &[&str] = &["slower", "faster", "ambiguous", "missing", "error"];

args! {
    RUNS: Vec<PathBuf> = operand(Form::Operand, "RUN", Kind::Paths)
        .help("Run logs to compare, the baseline first: of warpscope, or results of other benchmarks (llama-bench, nvbench, Google Benchmark, hyperfine, criterion, ncu, ...)");
    OLD: Vec<PathBuf> = option("old", "FILE", Kind::Paths)
        .help("Run logs of the baseline, a process each")
        .several(true);
    NEW: Vec<PathBuf> = option("new", "FILE", Kind::Paths)
        .help("Run logs compared with --old, a process each")
        .several(true);
    BASELINE: Option<String> = option("baseline", "NAME", Kind::Text)
        .help("Compare with the runs kept under this name on this machine; @ is the branch checked out");
    SAVE_BASELINE: Option<String> = option("save-baseline", "NAME", Kind::Text)
        .help("Keep the runs under this name on this machine, unless --fail-on finds something; @ is the branch checked out");
    BASELINES: Option<PathBuf> = option("baselines", "FOLDER", Kind::Path)
        .help("Folder of kept runs, one folder per machine and name; defaults to $XDG_DATA_HOME/warpscope/baselines");
    FAIL_ON: Vec<String> = option("fail-on", "LIST", Kind::AnyOf(FAILURES))
        .help("Exit with code 1 on any of these results, comma-separated; missing: what the baseline has and a run has not; error: a run that failed, or results that could not be read");
    JUNIT: Option<PathBuf> = option("junit", "FILE", Kind::Path)
        .help("Write a JUnit report too: a case per kernel, failed where --fail-on says so");
    GITHUB: bool = switch(&[("github", "on")])
        .help("Print GitHub annotations to stderr: errors for what --fail-on names, warnings for what else is slower or missing");
    NOISE: Option<f64> = option("noise", "PERCENT", Kind::Percent)
        .help("Standard deviation between processes that run the same, used where one process stands on a side; defaults to what `warpscope noise` measured of the command");
    MAX_BLOCKS: u64 = option("blocks", "N", Kind::Count)
        .default("40")
        .help("Most processes of each side; it ends sooner where everything is decided");
    REVISIONS: Vec<String> = option("rev", "REV", Kind::Words)
        .help("Compare the command in this revision of the git repository, the first being the baseline; repeat for each");
    BUILD: Option<String> = option("build", "COMMAND", Kind::Text)
        .help("Shell command that builds a revision, run once in each");
    RUN_LIMIT: Duration = option("timeout", "TIME", Kind::Span)
        .default("10m")
        .help("Time limit of one run");
    SIDES: Vec<String> = operand(Form::Rest, "COMMANDS", Kind::Words)
        .help("Programs with their arguments, divided by --; the first is the baseline");
    NOISY: Vec<String> = operand(Form::Rest, "COMMAND", Kind::Words)
        .help("Program to measure, with its arguments");
    JOURNAL: PathBuf = operand(Form::RequiredOperand, "JOURNAL", Kind::Path)
        .help("Run log to read");
    EXPORT_FORMAT: String = option("format", "FORMAT", Kind::OneOf(EXPORT_IDS))
        .default("csv")
        .help("Format to write: csv has one row per sample, t4 is kernel_tuner's, perfetto a trace");
    IMPORT: Vec<PathBuf> = option("import", "FILE", Kind::Paths)
        .help("Import this run log into the history first (screenshot: show it instead of the history); may be repeated");
    FORGET: Vec<String> = option("forget", "RUN", Kind::Words)
        .help("Remove runs from the history: by name, by commit or its beginning (7 characters or more), or by run log; may be repeated");
    FAIL_ON_CHANGE: Vec<String> = option("fail-on", "LIST", Kind::AnyOf(&["slower", "faster"]))
        .help("Exit with code 1 where the last change of a kernel shown is one of these, comma-separated");
    KEEP_IN_HISTORY: bool = switch(&[("history", "on")])
        .help("Import the run into the history too");
    WEAK: bool = switch(&[("weak", "on")])
        .help("Also show changes that are small or may be chance");
    TUNE_SPEC: PathBuf = operand(Form::RequiredOperand, "SPEC", Kind::Path)
        .help("What to tune: a TOML file");
    TUNE_ONCE: bool = switch(&[("once", "on")])
        .help("Search the grid once instead of after every save");
    TUNE_RESUME: bool = switch(&[("resume", "on")])
        .help("Take candidates that an earlier search measured on this machine, with the same spec and sources, as measured then");
    TUNED_KEY: Vec<String> = operand(Form::Operand, "KEY", Kind::Words)
        .help("Words of the key: kernel, sizes as name=value, number format, device");
    WISDOM: Option<PathBuf> = option("wisdom", "FILE", Kind::Path)
        .help("Write the winners to this file as kernel_tuner stores results of one kernel (format 1.0)");
    TUNE_EXPORT: Option<PathBuf> = option("export", "FILE", Kind::Path)
        .help("Write all candidates, including wrong ones, to this file in kernel_tuner's T4 format");
}
