//! Runs of the past and of a search: compared, exported, kept, tuned.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;
use crate::io::sink::export::EXPORT_IDS;

/// The comparison result that makes `compare` end with 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum FailOn {
    /// Something got slower.
    Slower,
    /// Something got faster.
    Faster,
}

args! {
    RUNS: Vec<PathBuf> = operand(Form::RequiredOperand, "RUN", Kind::Paths)
        .help("Run logs to compare, the baseline first: of warpscope, llama-bench, nvbench, Google Benchmark, kernel_tuner or cutlass_profiler");
    FAIL_ON: Option<FailOn> = option("fail-on", "CALL", FailOn::KIND)
        .help("Exit with code 1 on this result; ambiguous counts as neither");
    NOISE: Option<f64> = option("noise", "PERCENT", Kind::Percent)
        .help("Noise of this machine: differences below twice this are ignored; defaults to what `warpscope noise` measured, else 0.5%");
    JOURNAL: PathBuf = operand(Form::RequiredOperand, "JOURNAL", Kind::Path)
        .help("Run log to read");
    EXPORT_FORMAT: String = option("format", "FORMAT", Kind::OneOf(EXPORT_IDS))
        .default("csv")
        .help("Format to write: csv has one row per sample, t4 is kernel_tuner's, perfetto a trace");
    IMPORT: Vec<PathBuf> = option("import", "FILE", Kind::Paths)
        .help("Import this run log into the history first (screenshot: show it instead of the history); may be repeated");
    WEAK: bool = switch(&[("weak", "on")])
        .help("Also show changes that are small or may be chance");
    TUNE_SPEC: PathBuf = operand(Form::RequiredOperand, "SPEC", Kind::Path)
        .help("What to tune: a TOML file");
    TUNE_ONCE: bool = switch(&[("once", "on")])
        .help("Search the grid once instead of after every save");
    TUNE_EXPORT: Option<PathBuf> = option("export", "FILE", Kind::Path)
        .help("Write all candidates, including wrong ones, to this file in kernel_tuner's T4 format");
}
