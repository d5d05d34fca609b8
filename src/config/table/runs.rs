//! Runs of the past and of a search: compared, exported, kept, tuned.

use super::id::Id;
use super::row::{ArgSpec, Form};
use crate::config::value::Kind;
use crate::io::sink::export::EXPORT_IDS;

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        help: "Files of runs, the first one to compare the others with: a journal of warpscope, or what llama-bench, nvbench, Google Benchmark, kernel_tuner or cutlass_profiler wrote",
        ..ArgSpec::operand(Id::Runs, Form::RequiredOperand, "RUN", Kind::Paths)
    },
    ArgSpec {
        help: "End with 1 when a comparison says so; ambiguous counts neither way",
        ..ArgSpec::option(Id::FailOn, "fail-on", "CALL", Kind::OneOf(&["slower", "faster"]))
    },
    ArgSpec {
        help: "Noise of this machine: differences below twice this are not called; else what `warpscope noise` measured, else 0.5%",
        ..ArgSpec::option(Id::Noise, "noise", "PERCENT", Kind::Percent)
    },
    ArgSpec {
        help: "Journal of runs to read",
        ..ArgSpec::operand(Id::Journal, Form::RequiredOperand, "JOURNAL", Kind::Path)
    },
    ArgSpec {
        default: Some("csv"),
        help: "Format to write: csv has one row per sample, t4 is kernel_tuner's, perfetto a trace",
        ..ArgSpec::option(Id::ExportFormat, "format", "FORMAT", Kind::OneOf(EXPORT_IDS))
    },
    ArgSpec {
        help: "Take the runs of this journal into the history first (a picture: show them instead of it); may be repeated",
        ..ArgSpec::option(Id::Import, "import", "FILE", Kind::Paths)
    },
    ArgSpec::switch(
        Id::Weak,
        &[("weak", "on")],
        "Show changes too that are small or may be chance",
    ),
    ArgSpec {
        help: "What to tune: a TOML file",
        ..ArgSpec::operand(Id::TuneSpec, Form::RequiredOperand, "SPEC", Kind::Path)
    },
    ArgSpec::switch(
        Id::TuneOnce,
        &[("once", "on")],
        "Search the grid once instead of at every save",
    ),
    ArgSpec {
        help: "Write every candidate, the wrong ones too, to this file as kernel_tuner's T4",
        ..ArgSpec::option(Id::TuneExport, "export", "FILE", Kind::Path)
    },
];
