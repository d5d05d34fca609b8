//! Every option once: the command line, the environment, the configuration file, the help, the man
//! page, the completions and the sample file are made from this table.
//!
//! Derive macros were rejected: they would spread one option over three structs, and the layers
//! could not be walked by a test.

use super::value::Kind;
use crate::bench::points::PARSERS;
use crate::sink::export::EXPORT_IDS;

/// Names an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the help of each option in the table says what it is")]
pub enum Id {
    Action,
    Against,
    Anyway,
    Ascii,
    AskedDtype,
    Attach,
    Bench,
    BenchDevice,
    BenchEvents,
    BenchMemory,
    BenchShare,
    Blocks,
    Color,
    Command,
    CommandName,
    Config,
    Count,
    Csv,
    Cublas,
    Device,
    Dtypes,
    Duration,
    ExportFormat,
    FailOn,
    File,
    Filter,
    FixNumber,
    Frameworks,
    Full,
    Goals,
    Gpus,
    Import,
    Inspect,
    Inspected,
    Installed,
    Interval,
    Journal,
    Json,
    Keep,
    Kernels,
    Library,
    LineFormat,
    Markdown,
    MaxSize,
    Model,
    Mouse,
    Noise,
    OnGpu,
    Once,
    Only,
    OnlyProbes,
    Output,
    Panel,
    Parsers,
    Patience,
    Paths,
    Pattern,
    PictureFormat,
    Profile,
    Readonly,
    Record,
    Recording,
    Redact,
    Remark,
    RequireGpu,
    Rules,
    Runs,
    Shape,
    Shell,
    Size,
    Source,
    Speed,
    Start,
    StartTab,
    Stdin,
    Theme,
    TuneExport,
    TuneOnce,
    TuneSpec,
    TuneVariants,
    Variant,
    Weak,
    WhatIf,
    Write,
}

/// How an option is given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// With dashes.
    Option,
    /// By its place, may be left out.
    Operand,
    /// By its place, must be there.
    RequiredOperand,
    /// Everything behind `--`.
    Rest,
}

/// How an environment variable is read. An empty one counts as unset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnvRule {
    /// Its content is the value.
    Value,
    /// Being set at all means this value.
    Means(&'static str),
    /// Being set to anything but `0` means this value, for everything but the dashboard.
    OneShotMeans(&'static str),
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct ArgSpec {
    /// Its name in the code.
    pub id: Id,
    /// How it is given on the command line.
    pub form: Form,
    /// Long flag, without dashes.
    pub long: Option<&'static str>,
    /// Short flag.
    pub short: Option<char>,
    /// Flags without a value and what they mean; only the first is shown in the help.
    pub shorthands: &'static [(&'static str, &'static str)],
    /// Placeholder in the help.
    pub value_name: &'static str,
    /// What the value may be.
    pub kind: Kind,
    /// The value nobody gave, as text.
    pub default: Option<&'static str>,
    /// Environment variables, the stronger first.
    pub env: &'static [(&'static str, EnvRule)],
    /// Key in the configuration file.
    pub key: Option<&'static str>,
    /// What the key means, one sentence without its full stop.
    pub key_help: &'static str,
    /// Flags it cannot stand beside.
    pub apart: &'static [&'static str],
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// One sentence or two.
    pub help: &'static str,
}

impl ArgSpec {
    const BASE: Self = Self {
        id: Id::File,
        form: Form::Option,
        long: None,
        short: None,
        shorthands: &[],
        value_name: "",
        kind: Kind::Switch,
        default: None,
        env: &[],
        key: None,
        key_help: "",
        apart: &[],
        hidden: false,
        help: "",
    };

    const fn switch(
        id: Id,
        shorthands: &'static [(&'static str, &'static str)],
        help: &'static str,
    ) -> Self {
        Self { id, shorthands, default: Some("off"), help, ..Self::BASE }
    }

    const fn option(id: Id, long: &'static str, value_name: &'static str, kind: Kind) -> Self {
        Self { id, long: Some(long), value_name, kind, ..Self::BASE }
    }

    const fn operand(id: Id, form: Form, value_name: &'static str, kind: Kind) -> Self {
        Self { id, form, value_name, kind, ..Self::BASE }
    }

    /// What error messages call it.
    pub fn name(&self) -> &'static str {
        let flag = self.long.or(self.shorthands.first().map(|row| row.0));
        flag.or(self.key).unwrap_or(self.value_name)
    }
}

/// Shells completions are made for.
pub const SHELLS: &[&str] = &["bash", "elvish", "fish", "powershell", "zsh"];
/// Tabs the dashboard may start on.
pub const TABS: &[&str] = &["overview", "compat", "bench", "processes", "history"];
/// Number formats of the benchmark.
pub const DTYPES: &[&str] = &["fp32", "fp16", "bf16", "int4"];
/// Paths of the micro decoder on a GPU, by their ids.
pub const PATHS: &[&str] = &[
    "all",
    "f32",
    "f16",
    "f16.wide",
    "f16.acc16",
    "bf16",
    "w4",
    "w4.bf16",
    "awq",
    "w4a8",
    "nf4",
    "nf4.bf16",
];
/// When to measure.
pub(super) const BENCHES: &[&str] = &["off", "auto", "on"];
/// When to use colour.
pub const COLORS: &[&str] = &["auto", "always", "never"];
/// What `check` shows.
pub const ONLY: &[&str] = &["fails", "problems", "unknown"];
/// When to show GPUs of the catalogue.
pub const WHAT_IFS: &[&str] = &["auto", "always", "never"];

/// Every option, sorted by name in the code.
pub const ARGS: &[ArgSpec] = &[
    ArgSpec {
        help: "sample prints a documented configuration, check reads one and names its errors, path says where it is looked for",
        ..ArgSpec::operand(
            Id::Action,
            Form::RequiredOperand,
            "ACTION",
            Kind::OneOf(&["sample", "check", "path"]),
        )
    },
    ArgSpec {
        help: "Judge this program against another warpscope: both run in turn, block by block",
        ..ArgSpec::option(Id::Against, "against", "PROGRAM", Kind::Path)
    },
    ArgSpec::switch(
        Id::Anyway,
        &[("anyway", "on")],
        "Also on a GPU that others are using, or of which nobody can tell",
    ),
    ArgSpec {
        env: &[("WARPSCOPE_ASCII", EnvRule::Value)],
        key: Some("ascii"),
        key_help: "Draw with ASCII characters only",
        ..ArgSpec::switch(
            Id::Ascii,
            &[("ascii", "on"), ("no-ascii", "off")],
            "Draw with ASCII characters only",
        )
    },
    ArgSpec {
        help: "Ask about this number format: float16, bf16, …",
        ..ArgSpec::option(Id::AskedDtype, "dtype", "DTYPE", Kind::Text)
    },
    ArgSpec {
        help: "Record points of a process that runs already, until it ends; where to send them is printed",
        ..ArgSpec::option(Id::Attach, "attach", "PID", Kind::Count)
    },
    ArgSpec {
        shorthands: &[("no-bench", "off")],
        default: Some("auto"),
        env: &[("WARPSCOPE_BENCH", EnvRule::Value)],
        key: Some("bench"),
        key_help: "When to measure: auto measures the CPU all the time and idle GPUs while the Bench tab is open, on also while it is not; the key b pauses",
        help: "When to measure: the CPU all the time and idle GPUs while the Bench tab is open (auto), GPUs also while it is not (on), or nothing until the key b is pressed (off)",
        ..ArgSpec::option(Id::Bench, "bench", "WHEN", Kind::OneOf(BENCHES))
    },
    ArgSpec {
        default: Some("all"),
        help: "What to measure: the CPU, the GPUs, or both",
        ..ArgSpec::option(Id::BenchDevice, "device", "DEVICE", Kind::OneOf(&["all", "cpu", "gpu"]))
    },
    ArgSpec {
        help: "Show what a benchmark said: a file of its events, one per line",
        ..ArgSpec::option(Id::BenchEvents, "bench-events", "FILE", Kind::Path)
    },
    ArgSpec {
        default: Some("256MiB"),
        env: &[("WARPSCOPE_BENCH_MEMORY", EnvRule::Value)],
        key: Some("bench_memory"),
        key_help: "Most memory the benchmark may take on a GPU, its context aside",
        help: "Most memory the benchmark may take on a GPU, its context aside",
        ..ArgSpec::option(Id::BenchMemory, "bench-memory", "SIZE", Kind::Size)
    },
    ArgSpec {
        default: Some("2%"),
        env: &[("WARPSCOPE_BENCH_SHARE", EnvRule::Value)],
        key: Some("bench_share"),
        key_help: "Most of a GPU's time the benchmark may take",
        help: "Most of a GPU's time the benchmark may take",
        ..ArgSpec::option(Id::BenchShare, "bench-share", "PERCENT", Kind::Percent)
    },
    ArgSpec {
        default: Some("5"),
        help: "Blocks of each side where two take turns",
        ..ArgSpec::option(Id::Blocks, "blocks", "N", Kind::Count)
    },
    ArgSpec {
        default: Some("auto"),
        env: &[
            ("WARPSCOPE_COLOR", EnvRule::Value),
            ("NO_COLOR", EnvRule::Means("never")),
            ("CLICOLOR_FORCE", EnvRule::OneShotMeans("always")),
        ],
        key: Some("color"),
        key_help: "When to use colour",
        help: "When to use colour; auto asks the terminal",
        ..ArgSpec::option(Id::Color, "color", "WHEN", Kind::OneOf(COLORS))
    },
    ArgSpec {
        help: "Program to run and record: its points among what it prints, and the machine around them",
        ..ArgSpec::operand(Id::Command, Form::Rest, "COMMAND", Kind::Words)
    },
    ArgSpec {
        help: "Command to describe instead of the whole program",
        ..ArgSpec::operand(Id::CommandName, Form::Operand, "COMMAND", Kind::Text)
    },
    ArgSpec {
        env: &[("WARPSCOPE_CONFIG", EnvRule::Value)],
        help: "Read this configuration file instead of the usual one; it must exist",
        ..ArgSpec::option(Id::Config, "config", "PATH", Kind::Path)
    },
    ArgSpec {
        short: Some('n'),
        help: "End after so many frames",
        ..ArgSpec::option(Id::Count, "count", "N", Kind::Count)
    },
    ArgSpec {
        apart: &["json", "markdown"],
        ..ArgSpec::switch(Id::Csv, &[("csv", "on")], "Print CSV: one line per verdict")
    },
    ArgSpec {
        help: "Ask this libcublas, with the libcublasLt beside it, instead of the copies found on this machine",
        ..ArgSpec::option(Id::Cublas, "cublas", "PATH", Kind::Path)
    },
    ArgSpec {
        default: Some("cpu"),
        help: "Device to measure",
        ..ArgSpec::option(Id::Device, "device", "DEVICE", Kind::OneOf(&["cpu"]))
    },
    ArgSpec {
        default: Some("fp32,fp16,bf16,int4"),
        help: "Number formats to run, separated by commas",
        ..ArgSpec::option(Id::Dtypes, "dtype", "LIST", Kind::AnyOf(DTYPES))
    },
    ArgSpec {
        short: Some('d'),
        help: "End after this time",
        ..ArgSpec::option(Id::Duration, "duration", "TIME", Kind::Span)
    },
    ArgSpec {
        default: Some("csv"),
        help: "Format to write: csv has one row per sample, t4 is kernel_tuner's, perfetto a trace",
        ..ArgSpec::option(Id::ExportFormat, "format", "FORMAT", Kind::OneOf(EXPORT_IDS))
    },
    ArgSpec {
        help: "End with 1 when a comparison says so; ambiguous counts neither way",
        ..ArgSpec::option(Id::FailOn, "fail-on", "CALL", Kind::OneOf(&["slower", "faster"]))
    },
    ArgSpec {
        help: "Recording to write; an existing one is continued",
        ..ArgSpec::operand(Id::File, Form::RequiredOperand, "FILE", Kind::Path)
    },
    ArgSpec {
        help: "Words to look for; every one must occur",
        ..ArgSpec::operand(Id::Filter, Form::Operand, "WORD", Kind::List)
    },
    ArgSpec {
        shorthands: &[("fix-only", "1")],
        help: "Print only this fix, to be pasted; 1 is the cheapest",
        ..ArgSpec::option(Id::FixNumber, "fix", "N", Kind::Count)
    },
    ArgSpec {
        help: "Framework by name, with version and configuration if wanted: vllm, vllm@0.9.2, vllm:awq, lmdeploy pytorch, vllm dtype=bf16",
        ..ArgSpec::operand(
            Id::Frameworks,
            Form::Operand,
            "FRAMEWORK[@VERSION][:CONFIG]",
            Kind::List,
        )
    },
    ArgSpec::switch(
        Id::Full,
        &[("full", "on")],
        "Measure warm and long, for figures to quote: a quarter of a minute for each kernel and size; runs every path of the micro decoder",
    ),
    ArgSpec::switch(
        Id::Goals,
        &[("goals", "on")],
        "Measure what kernels are to reach, each in turns with what it is held against: cuBLASLt, the bandwidth of reading",
    ),
    ArgSpec {
        short: Some('g'),
        env: &[("WARPSCOPE_GPU", EnvRule::Value)],
        key: Some("gpus"),
        key_help: "GPUs of the catalogue to look at as what-if, by name, alias or PCI id",
        help: "Look at this GPU as what-if, by name, alias or PCI id: T4, \"RTX 3090\", 2xT4, 10de:1eb8; may be repeated",
        ..ArgSpec::option(Id::Gpus, "gpu", "NAME", Kind::List)
    },
    ArgSpec {
        help: "Take the runs of this journal into the history first (a picture: show them instead of it); may be repeated",
        ..ArgSpec::option(Id::Import, "import", "FILE", Kind::Paths)
    },
    ArgSpec {
        default: Some("on"),
        env: &[("WARPSCOPE_INSPECT", EnvRule::Value)],
        key: Some("inspect"),
        key_help: "Look in the background at what is installed and which GPUs its binaries run on",
        ..ArgSpec::switch(
            Id::Inspect,
            &[("no-inspect", "off"), ("inspect", "on")],
            "Do not look at what is installed; the key i does",
        )
    },
    ArgSpec {
        help: "Binary, wheel, folder of an environment, image.tar or process id; everything on this machine when empty",
        ..ArgSpec::operand(Id::Inspected, Form::Operand, "WHAT", Kind::Paths)
    },
    ArgSpec {
        shorthands: &[("installed", "yes"), ("not-installed", "no")],
        help: "Ask about what is installed here, by version and by its binaries; auto does for GPUs that are here",
        default: Some("auto"),
        ..ArgSpec::option(
            Id::Installed,
            "use-installed",
            "WHEN",
            Kind::OneOf(&["auto", "yes", "no"]),
        )
    },
    ArgSpec {
        short: Some('i'),
        default: Some("1s"),
        env: &[("WARPSCOPE_INTERVAL", EnvRule::Value)],
        key: Some("interval"),
        key_help: "Time between frames",
        help: "Time between frames, 0.1s to 60s; a bare number is seconds",
        ..ArgSpec::option(Id::Interval, "interval", "TIME", Kind::Interval)
    },
    ArgSpec {
        help: "Journal of runs to read",
        ..ArgSpec::operand(Id::Journal, Form::RequiredOperand, "JOURNAL", Kind::Path)
    },
    ArgSpec::switch(
        Id::Json,
        &[("json", "on")],
        "Print JSON: numbers as numbers, null for unknown",
    ),
    ArgSpec {
        default: Some("3"),
        help: "Older files to keep when --max-size is reached: FILE.1, FILE.2, …",
        ..ArgSpec::option(Id::Keep, "keep", "N", Kind::Count)
    },
    ArgSpec {
        help: "Only GPU kernels with such names, * for any letters: gemm.*,gemv.f16; may be repeated",
        ..ArgSpec::option(Id::Kernels, "kernel", "GLOB", Kind::List)
    },
    ArgSpec {
        env: &[("WARPSCOPE_LIBRARY", EnvRule::Value)],
        hidden: true,
        help: "Load this NVML library instead of libnvidia-ml.so.1",
        ..ArgSpec::option(Id::Library, "library", "PATH", Kind::Path)
    },
    ArgSpec {
        default: Some("jsonl"),
        help: "jsonl writes whole frames, csv one row per GPU and frame",
        ..ArgSpec::option(Id::LineFormat, "format", "FORMAT", Kind::OneOf(&["jsonl", "csv"]))
    },
    ArgSpec {
        apart: &["json"],
        ..ArgSpec::switch(Id::Markdown, &[("markdown", "on")], "Print a Markdown table")
    },
    ArgSpec {
        help: "Start a new file when this one would grow beyond the size",
        ..ArgSpec::option(Id::MaxSize, "max-size", "SIZE", Kind::Size)
    },
    ArgSpec {
        help: "Ask about this model: its folder, its config.json, a .gguf or a .safetensors file",
        ..ArgSpec::option(Id::Model, "model", "PATH", Kind::Path)
    },
    ArgSpec {
        default: Some("on"),
        env: &[("WARPSCOPE_MOUSE", EnvRule::Value)],
        key: Some("mouse"),
        key_help: "Use the mouse",
        ..ArgSpec::switch(
            Id::Mouse,
            &[("no-mouse", "off"), ("mouse", "on")],
            "Leave the mouse to the terminal",
        )
    },
    ArgSpec {
        help: "Noise of this machine: differences below twice this are not called; else what `warpscope noise` measured, else 0.5%",
        ..ArgSpec::option(Id::Noise, "noise", "PERCENT", Kind::Percent)
    },
    ArgSpec {
        help: "GPUs by number or UUID, or the beginning of one; all of them where none is named; may be repeated",
        ..ArgSpec::option(Id::OnGpu, "gpu", "WHICH", Kind::Devices)
    },
    ArgSpec::switch(Id::Once, &[("once", "on")], "End after one complete frame"),
    ArgSpec {
        shorthands: &[("only-failures", "fails")],
        help: "Show only what fails, gives wrong output or runs in part (fails), everything but what runs as asked (problems), or what nobody knows (unknown)",
        ..ArgSpec::option(Id::Only, "only", "WHAT", Kind::OneOf(ONLY))
    },
    ArgSpec {
        help: "Probes by name, with * for any part: gate.*,cublas.*; may be repeated",
        ..ArgSpec::option(Id::OnlyProbes, "only", "ID", Kind::List)
    },
    ArgSpec {
        short: Some('o'),
        help: "File to write instead of standard output",
        ..ArgSpec::option(Id::Output, "output", "FILE", Kind::Path)
    },
    ArgSpec {
        default: Some("overview"),
        help: "Panel to draw",
        ..ArgSpec::option(Id::Panel, "panel", "NAME", Kind::Text)
    },
    ArgSpec {
        help: "Look for lines of these tools too, separated by commas",
        ..ArgSpec::option(Id::Parsers, "parse", "LIST", Kind::AnyOf(PARSERS))
    },
    ArgSpec {
        default: Some("60s"),
        help: "Kill the process on the GPU when it says nothing for so long",
        ..ArgSpec::option(Id::Patience, "patience", "TIME", Kind::Span)
    },
    ArgSpec {
        apart: &["tune", "goals", "against", "shape", "variant"],
        help: "Run only these paths of the micro decoder, on GPUs: f32, f16, bf16 and w4 are those of --dtype; .wide stores fp32 in front of norms, .acc16 sums in \
               fp16, .bf16 has bf16 activations; awq has zero points, w4a8 activations of 8 bits, nf4 the 4-bit floats of bitsandbytes",
        ..ArgSpec::option(Id::Paths, "path", "LIST", Kind::AnyOf(PATHS))
    },
    ArgSpec {
        help: "Look for lines that match this regular expression; groups name what they are: (?<name>…), (?<t_us>…), (?<per_s>…)",
        ..ArgSpec::option(Id::Pattern, "pattern", "REGEX", Kind::Text)
    },
    ArgSpec {
        default: Some("svg"),
        help: "Kind of picture",
        ..ArgSpec::option(Id::PictureFormat, "format", "FORMAT", Kind::OneOf(&["svg", "text"]))
    },
    ArgSpec {
        default: Some("clean"),
        help: "Weights of the model: clean stays in the range of fp16, glm4 and gemma3 leave it; kq and cancel do so on the way",
        ..ArgSpec::option(
            Id::Profile,
            "profile",
            "NAME",
            Kind::OneOf(&["clean", "glm4", "gemma3", "kq", "cancel"]),
        )
    },
    ArgSpec {
        env: &[("WARPSCOPE_READONLY", EnvRule::Value)],
        key: Some("readonly"),
        key_help: "Never send a signal to a process",
        ..ArgSpec::switch(
            Id::Readonly,
            &[("readonly", "on"), ("no-readonly", "off")],
            "Never send a signal to a process",
        )
    },
    ArgSpec {
        help: "Write every sample, with who ran what, into this journal; an existing one is continued",
        ..ArgSpec::option(Id::Record, "record", "FILE", Kind::Path)
    },
    ArgSpec {
        help: "Recording to play",
        ..ArgSpec::operand(Id::Recording, Form::RequiredOperand, "FILE", Kind::Path)
    },
    ArgSpec::switch(
        Id::Redact,
        &[("redact", "on")],
        "Replace host and user names, identifiers, command lines and home paths by placeholders",
    ),
    ArgSpec {
        help: "What to write beside the measurements",
        ..ArgSpec::operand(Id::Remark, Form::RequiredOperand, "TEXT", Kind::Words)
    },
    ArgSpec::switch(
        Id::RequireGpu,
        &[("require-gpu", "on")],
        "End with code 3 when no GPU answers",
    ),
    ArgSpec {
        env: &[("WARPSCOPE_RULES", EnvRule::Value)],
        key: Some("rules"),
        key_help: "Folders of rules of your own, besides the folder rules beside this file",
        help: "Read the rules (*.toml) in this folder too; they win over those that come with the program; may be repeated",
        ..ArgSpec::option(Id::Rules, "rules", "DIR", Kind::List)
    },
    ArgSpec {
        help: "Files of runs, the first one to compare the others with: a journal of warpscope, or what llama-bench, nvbench, Google Benchmark, kernel_tuner or cutlass_profiler wrote",
        ..ArgSpec::operand(Id::Runs, Form::RequiredOperand, "RUN", Kind::Paths)
    },
    ArgSpec {
        help: "Time GPU kernels at this size and not at their own: rows, columns and inner dimension, such as 16,4096,4096",
        ..ArgSpec::option(Id::Shape, "shape", "M,N,K", Kind::Text)
    },
    ArgSpec {
        help: "Shell to complete for",
        ..ArgSpec::operand(Id::Shell, Form::RequiredOperand, "SHELL", Kind::OneOf(SHELLS))
    },
    ArgSpec {
        default: Some("120x36"),
        help: "Columns and lines of the picture",
        ..ArgSpec::option(Id::Size, "size", "SIZE", Kind::Cells)
    },
    ArgSpec {
        short: Some('s'),
        help: "Take frames from this recording instead of this machine",
        ..ArgSpec::option(Id::Source, "source", "FILE", Kind::Path)
    },
    ArgSpec {
        default: Some("1"),
        help: "Speed against real time, 0.01 to 1000",
        ..ArgSpec::option(Id::Speed, "speed", "FACTOR", Kind::Factor)
    },
    ArgSpec {
        default: Some("0s"),
        help: "Begin this far into the recording",
        ..ArgSpec::option(Id::Start, "start", "TIME", Kind::Span)
    },
    ArgSpec {
        default: Some("overview"),
        env: &[("WARPSCOPE_TAB", EnvRule::Value)],
        key: Some("start_tab"),
        key_help: "Tab to start on",
        help: "Tab to start on",
        ..ArgSpec::option(Id::StartTab, "tab", "NAME", Kind::OneOf(TABS))
    },
    ArgSpec::switch(
        Id::Stdin,
        &[("stdin", "on")],
        "Record points among the lines of standard input, which is passed on",
    ),
    ArgSpec {
        default: Some("auto"),
        env: &[("WARPSCOPE_THEME", EnvRule::Value)],
        key: Some("theme"),
        key_help: "Colours by name; auto follows COLORFGBG and is dark without it",
        help: "Colours by name or file; auto follows COLORFGBG and is dark without it",
        ..ArgSpec::option(Id::Theme, "theme", "NAME", Kind::Text)
    },
    ArgSpec {
        help: "Write every candidate, the wrong ones too, to this file as kernel_tuner's T4",
        ..ArgSpec::option(Id::TuneExport, "export", "FILE", Kind::Path)
    },
    ArgSpec::switch(
        Id::TuneOnce,
        &[("once", "on")],
        "Search the grid once instead of at every save",
    ),
    ArgSpec {
        help: "What to tune: a TOML file",
        ..ArgSpec::operand(Id::TuneSpec, Form::RequiredOperand, "SPEC", Kind::Path)
    },
    ArgSpec {
        apart: &["against", "record", "variant", "goals", "markdown", "csv"],
        ..ArgSpec::switch(
            Id::TuneVariants,
            &[("tune", "on")],
            "Time the variants of every kernel in turn, on GPUs, and remember which is best here",
        )
    },
    ArgSpec {
        help: "Time this variant of the kernels named with --kernel, and not the one they take by themselves; a name that is none is answered with those there are",
        ..ArgSpec::option(Id::Variant, "variant", "NAME", Kind::Text)
    },
    ArgSpec::switch(
        Id::Weak,
        &[("weak", "on")],
        "Show changes too that are small or may be chance",
    ),
    ArgSpec {
        shorthands: &[("no-what-if", "never")],
        default: Some("auto"),
        env: &[("WARPSCOPE_WHAT_IF", EnvRule::Value)],
        key: Some("what_if"),
        key_help: "When to show GPUs of the catalogue",
        help: "When to show GPUs of the catalogue: auto where no real one answers or --gpu names one",
        ..ArgSpec::option(Id::WhatIf, "what-if", "WHEN", Kind::OneOf(WHAT_IFS))
    },
    ArgSpec {
        help: "Write the fix to this file; one that is there is never overwritten",
        ..ArgSpec::option(Id::Write, "write", "FILE", Kind::Path)
    },
];

/// The row of an option.
pub fn spec(id: Id) -> &'static ArgSpec {
    ARGS.iter().find(|spec| spec.id == id).expect("every option has a row")
}

/// The row behind a key of the configuration file.
pub(super) fn by_key(key: &str) -> Option<&'static ArgSpec> {
    ARGS.iter().find(|spec| spec.key == Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_each_stands_once() {
        assert!(ARGS.windows(2).all(|pair| pair[0].id < pair[1].id));
    }

    #[test]
    fn every_row_can_be_given_and_explains_itself() {
        for spec in ARGS {
            assert!(!spec.help.is_empty() && !spec.help.ends_with('.'), "{:?}", spec.id);
            let flags = spec.long.is_some() || !spec.shorthands.is_empty();
            assert_eq!(flags, spec.form == Form::Option, "{:?}", spec.id);
            assert_eq!(spec.long.is_some(), !spec.value_name.is_empty() && flags, "{:?}", spec.id);
        }
    }

    #[test]
    fn every_value_a_row_mentions_is_allowed() {
        for spec in ARGS {
            let means = spec.env.iter().filter_map(|(_, rule)| match rule {
                EnvRule::Value => None,
                EnvRule::Means(text) | EnvRule::OneShotMeans(text) => Some(*text),
            });
            let shorthands = spec.shorthands.iter().map(|row| row.1);
            for text in spec.default.into_iter().chain(means).chain(shorthands) {
                assert!(spec.kind.parse(text).is_ok(), "{:?}: {text}", spec.id);
            }
        }
    }

    #[test]
    fn keys_and_variables_stand_once_and_speak_of_their_flag() {
        for spec in ARGS.iter().filter(|spec| spec.key.is_some()) {
            assert_eq!(ARGS.iter().filter(|other| other.key == spec.key).count(), 1);
            assert!(!spec.env.is_empty(), "{:?} has no variable", spec.id);
            assert!(!spec.key_help.is_empty(), "{:?} has no sentence", spec.id);
        }
        let mut names: Vec<_> = ARGS.iter().flat_map(|spec| spec.env).map(|row| row.0).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
