//! Commands about runs of the past.

use super::{CONFIG_FILE, CommandSpec, LOOK};
use crate::commands::{compare, export, history};
use crate::config::Id;

pub(crate) const COMPARE: CommandSpec = CommandSpec {
    name: "compare",
    about: "Say whether kernels got faster or slower from one run to another, or that it cannot be told",
    more: "Medians of raw samples, a rank-sum test corrected for the number of comparisons, and a bootstrap interval. \
           A change counts from one per cent, and from twice the noise of the machine, on. \
           Ends with 0 unless --fail-on says otherwise.",
    args: &[&[Id::Runs, Id::FailOn, Id::Noise, Id::Json, Id::Markdown, Id::Csv], LOOK, CONFIG_FILE],
    examples: &[
        ("compare before.jsonl after.jsonl", "kernel by kernel"),
        ("compare base.json new.json --fail-on slower", "to stop a merge"),
    ],
    run: compare::run,
    ..CommandSpec::BASE
};

pub(crate) const EXPORT: CommandSpec = CommandSpec {
    name: "export",
    about: "Write a journal of runs in the format of another tool",
    args: &[&[Id::Journal, Id::ExportFormat, Id::Output, Id::Force], CONFIG_FILE],
    examples: &[
        ("export run.jsonl --format csv -o run.csv", "one row per sample"),
        ("export run.jsonl --format perfetto -o run.json", "for ui.perfetto.dev"),
    ],
    run: export::run,
    ..CommandSpec::BASE
};

pub(crate) const HISTORY: CommandSpec = CommandSpec {
    name: "history",
    about: "Show how fast kernels were over recorded runs, and where that changed for good",
    more: "Medians of clean samples, run by run; never across devices or regimes. A lasting change is looked for from eight runs on \
           and told with what changed beside it: commit, driver, environment. Runs come from journals and are kept in \
           $XDG_DATA_HOME/warpscope/history/, else ~/.local/share/warpscope/history/; importing one again changes nothing.",
    args: &[&[Id::Filter, Id::Import, Id::Weak, Id::Json], LOOK, CONFIG_FILE],
    examples: &[
        ("history --import run.jsonl", "take in what `bench --record` or `record` wrote"),
        ("history gemm bf16", "run by run, every kernel with these words in its name"),
    ],
    run: history::run,
    ..CommandSpec::BASE
};
