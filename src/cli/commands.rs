use super::exit::{CliError, Exit};
use super::options::Options;
use super::{
    bench_command, compare, completions, config, dashboard, doctor, export, gpu, history, inspect,
    man, noise, record, recording, replay, screenshot, snapshot, stream, tables, tune, verdicts,
};
use crate::config::Id;

/// One command.
pub struct CommandSpec {
    /// What is typed; empty for the dashboard.
    pub name: &'static str,
    /// One line for the list of commands.
    pub about: &'static str,
    /// What a newcomer needs besides, after the options.
    pub more: &'static str,
    /// Options it takes, in groups.
    pub args: &'static [&'static [Id]],
    /// Command lines that work, each with what it does; without the program's name.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// Whether it takes over the terminal instead of printing.
    pub screen: bool,
    /// Whether it works with a configuration that cannot be used.
    pub lenient: bool,
    /// Does it.
    pub run: fn(&Options) -> Result<Exit, CliError>,
}

impl CommandSpec {
    const BASE: Self = Self {
        name: "",
        about: "",
        more: "",
        args: &[],
        examples: &[],
        hidden: false,
        screen: false,
        lenient: false,
        run: dashboard::run,
    };

    /// Its options, one after the other.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.args.iter().copied().flatten().copied()
    }
}

const ASKED: &[Id] = &[Id::AskedDtype, Id::Model, Id::Installed, Id::Rules];
const CONFIG: &[Id] = &[Id::Config];
const GPUS: &[Id] = &[Id::Gpus, Id::WhatIf];
const LIVE: &[Id] = &[Id::Interval, Id::Library];
const LOOK: &[Id] = &[Id::Color, Id::Ascii];
const ON_GPU: &[Id] = &[Id::OnGpu, Id::Kernels, Id::Anyway, Id::Patience];
const SCREEN: &[Id] = &[
    Id::Theme,
    Id::Mouse,
    Id::StartTab,
    Id::Readonly,
    Id::Bench,
    Id::BenchShare,
    Id::BenchMemory,
    Id::Inspect,
];
const MODEL: &[Id] = &[Id::Device, Id::Profile, Id::Dtypes];

const TABLE: &[&[Id]] = &[&[Id::Filter, Id::Json], LOOK, CONFIG];

/// What runs when no command is named.
pub static DASHBOARD: CommandSpec = CommandSpec {
    about: "What can run on every NVIDIA GPU you have or name, why not the rest, and how fast it really is",
    args: &[GPUS, LIVE, SCREEN, LOOK, CONFIG],
    screen: true,
    examples: &[
        ("", "the dashboard, also on a machine without a GPU"),
        ("--gpu 2xT4 --gpu \"RTX 3090\"", "the same, with GPUs you do not have beside your own"),
        ("-i 500ms --readonly", "two frames a second, and no way to signal a process"),
    ],
    run: dashboard::run,
    ..CommandSpec::BASE
};

/// Every command with a name, sorted by it.
pub static COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "bench",
        about: "Run the micro decoder on the CPU and every kernel on the GPUs, and print what they reached",
        more: "The micro decoder is a language model of four layers whose weights are the same numbers in every format: what differs is arithmetic. Its tokens and \
               logits are held against fp64. On GPUs it has several paths for a format, of which one runs; --path names others, with --full all run.\n\
               Columns of a path: tokens a second at batch 1 with their median deviation, rate of the prompt, bytes read a second and their share of the read \
               bandwidth measured in the same run, error of the logits, and how many tokens are those of fp64. Of a kernel: TOP/s counts operations, floating or \
               integer, a multiply-add as two. Ends with 1 when a path is wrong that need not be, or something asked for was not done.\n\
               A GPU that others are using is left alone unless --anyway is given. Without --full kernels are timed in pulses of milliseconds, \
               which tell ratios and health, not figures to quote. Ctrl-C ends it and keeps what was measured.\n\
               With --against the two programs take turns in blocks, so that what the machine does falls on both, and the \
               answer is that of compare.\n\
               With --tune every kernel that can be computed in several ways proves each, times it in turn with the one it takes by itself, and \
               runs the fastest from then on where its lead is no chance. That holds on this very GPU, with this driver, these kernels, application clocks and \
               power limit, and is kept in $XDG_STATE_HOME/warpscope/picks.json, else below ~/.local/state. Nothing is tuned unasked.\n\
               With --goals products go by cuBLASLt as it is found here or named by --cublas, weights by the bandwidth of reading, attention by the own \
               product and the decoder by its roof, on random numbers, in blocks A B B A; --kernel chooses goals by name. Ends with 1 when a floor is missed.",
        args: &[
            &[Id::BenchDevice, Id::Profile, Id::Dtypes, Id::Paths],
            ON_GPU,
            &[Id::Shape, Id::Full, Id::Variant, Id::TuneVariants],
            &[Id::Goals, Id::Cublas],
            &[Id::Record, Id::Against, Id::Blocks, Id::FailOn, Id::Noise],
            &[Id::Json, Id::Markdown, Id::Csv],
            LOOK,
            CONFIG,
        ],
        examples: &[
            ("bench --device cpu", "all four number formats on the CPU"),
            (
                "bench --gpu 0 --kernel 'gemm.*' --full",
                "figures to quote, of one family of kernels",
            ),
            (
                "bench --profile glm4 --dtype fp16,bf16 --json",
                "weights that leave the range of fp16",
            ),
            (
                "bench --path f16,f16.acc16,awq --profile cancel",
                "does it matter that sums are kept in fp16?",
            ),
            (
                "bench --tune --gpu 0",
                "the best variant of every kernel on the first GPU, remembered",
            ),
            (
                "bench --goals --gpu 0",
                "how far the kernels are from the vendor's library and the roof",
            ),
            ("bench --against target/release/warpscope-before", "did a change make it slower?"),
        ],
        run: bench_command::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "check",
        about: "Say which frameworks run on these GPUs; ends with 1 when one does not",
        more: "Without a framework everything known is asked, as a table: configurations down, GPUs across.\n\
               Ends with 0 when everything asked runs, 1 when something does not, 4 when nothing fails but something is unknown.",
        args: &[
            &[Id::Frameworks],
            ASKED,
            GPUS,
            LIVE,
            &[Id::Only, Id::Json, Id::Markdown, Id::Csv, Id::RequireGpu],
            LOOK,
            CONFIG,
        ],
        examples: &[
            ("check", "everything known, on every GPU here"),
            ("check --gpu T4 ktransformers", "one framework on a GPU you do not have"),
            ("check --gpu V100 glm-4 dtype=fp16", "one configuration of it"),
            ("check vllm@0.9.2:awq --gpu T4", "one version and one configuration"),
            (
                "check --model Qwen3-8B-AWQ/ --only problems",
                "everything that can load this model, and does not run as asked",
            ),
        ],
        run: verdicts::check,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "compare",
        about: "Say whether kernels got faster or slower from one run to another, or that it cannot be told",
        more: "Medians of raw samples, a rank-sum test corrected for the number of comparisons, and a bootstrap interval. \
               A change counts from one per cent, and from twice the noise of the machine, on. \
               Ends with 0 unless --fail-on says otherwise.",
        args: &[&[Id::Runs, Id::FailOn, Id::Noise, Id::Json, Id::Markdown, Id::Csv], LOOK, CONFIG],
        examples: &[
            ("compare before.jsonl after.jsonl", "kernel by kernel"),
            ("compare base.json new.json --fail-on slower", "to stop a merge"),
        ],
        run: compare::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "completions",
        about: "Print completions for a shell",
        args: &[&[Id::Shell]],
        examples: &[("completions bash", "to be saved where bash looks for completions")],
        lenient: true,
        run: completions::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "config",
        about: "Print a documented sample configuration, check one, or say where it is looked for",
        more: "The configuration is read and never written.",
        args: &[&[Id::Action], CONFIG],
        examples: &[
            ("config sample", "every key with its default"),
            ("config check --config other.toml", "all errors, each with its line"),
        ],
        lenient: true,
        run: config::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "doctor",
        about: "Say what was found, what not, why, and what to do; ends with 1 when something fails",
        args: &[&[Id::Json, Id::Redact, Id::Source], GPUS, LIVE, LOOK, CONFIG],
        examples: &[("doctor --redact", "to be pasted into a bug report")],
        lenient: true,
        run: doctor::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "dtypes",
        about: "List the number formats and how each architecture computes in them",
        args: TABLE,
        examples: &[("dtypes fp8", "FP8 on every architecture"), ("dtypes sm_75 bf16", "one line")],
        run: tables::dtypes,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "export",
        about: "Write a journal of runs in the format of another tool",
        args: &[&[Id::Journal, Id::ExportFormat, Id::Output], CONFIG],
        examples: &[
            ("export run.jsonl --format csv -o run.csv", "one row per sample"),
            ("export run.jsonl --format perfetto -o run.json", "for ui.perfetto.dev"),
        ],
        run: export::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "frameworks",
        about: "List the frameworks known, with the newest version the rules speak of",
        args: &[&[Id::Filter, Id::Rules, Id::Json], LOOK, CONFIG],
        examples: &[("frameworks", "all of them"), ("frameworks --json", "for a script")],
        run: tables::frameworks,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "gpus",
        about: "List the GPUs of the catalogue: what --gpu may name",
        args: TABLE,
        examples: &[
            ("gpus 3090", "every kind of RTX 3090"),
            ("gpus sm_89 --json", "one compute capability, for a script"),
        ],
        run: tables::gpus,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "history",
        about: "Show how fast kernels were over recorded runs, and where that changed for good",
        more: "Medians of clean samples, run by run; never across devices or regimes. A lasting change is looked for from eight runs on \
               and told with what changed beside it: commit, driver, environment. Runs come from journals and are kept in \
               $XDG_DATA_HOME/warpscope/history.db, else ~/.local/share/warpscope/history.db; importing one again changes nothing.",
        args: &[&[Id::Filter, Id::Import, Id::Weak, Id::Json], LOOK, CONFIG],
        examples: &[
            ("history --import run.jsonl", "take in what `bench --record` or `record` wrote"),
            ("history gemm bf16", "run by run, every kernel with these words in its name"),
        ],
        run: history::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "inspect",
        about: "Say what is installed and which GPUs its binaries can run on; ends with 1 when something cannot",
        more: "Nothing is imported or run: environments, packages and the device code in their binaries are read from the files. \
               Ends with 1 when a package that is installed has no code for a GPU that was named or is here.",
        args: &[&[Id::Inspected], GPUS, &[Id::Library], &[Id::Json], LOOK, CONFIG],
        examples: &[
            ("inspect", "every environment of this machine, for the GPUs here"),
            (
                "inspect torch-2.8.0-cp311-manylinux.whl --gpu P100,H200",
                "a wheel before it is installed",
            ),
            ("inspect ~/venv --gpu T4 --json", "one environment, for a program"),
        ],
        run: inspect::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "man",
        about: "Print the manual page",
        args: &[&[Id::CommandName]],
        examples: &[("man", "the page of the program"), ("man record", "the page of one command")],
        lenient: true,
        run: man::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "mark",
        about: "Write a remark into the run that is being recorded",
        args: &[&[Id::Remark], CONFIG],
        examples: &[("mark new tile size", "while `warpscope record run.jsonl -- ./tune` runs")],
        run: recording::mark,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "noise",
        about: "Measure how much this machine differs from itself, and keep it for compare",
        more: "Runs the benchmark in blocks and compares neighbours. The 95th percentile of their differences is kept in \
               $XDG_STATE_HOME/warpscope/noise.json; compare counts a change from twice that on.",
        args: &[MODEL, &[Id::Blocks], LOOK, CONFIG],
        examples: &[("noise --dtype bf16 --blocks 10", "twenty runs of one number format")],
        run: noise::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "probe",
        about: "Run single instructions, images and calls of cuBLAS on the GPUs here, and say what each proves",
        more: "Answers go before the rules from then on, on this very GPU and with this driver: in check, why, doctor and on the Compat tab. \
               They are kept in $XDG_CACHE_HOME/warpscope/probes, else ~/.cache/warpscope/probes. A GPU that others use is left alone.\n\
               Ends with 1 when a result is wrong, an answer contradicts a rule or a GPU was not probed to the end, and with 3 when there is no GPU.",
        args: &[
            &[Id::OnGpu, Id::OnlyProbes, Id::Cublas, Id::Anyway, Id::Patience],
            &[Id::Library],
            &[Id::Json],
            LOOK,
            CONFIG,
        ],
        examples: &[
            ("probe", "everything, on every GPU"),
            (
                "probe --gpu 0 --only 'gate.*,shared.*'",
                "instructions and shared memory of the first GPU",
            ),
            (
                "probe --only 'cublas*' --cublas ~/venv/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12",
                "what one copy of cuBLAS takes",
            ),
        ],
        run: gpu::probe::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "record",
        about: "Write frames to a recording, or the run of a program to a journal",
        more: "Every complete line of a recording is readable, whatever ends the program. A full disk is \
               reported and recording goes on when there is room again. Files are created for their owner only.\n\
               With a program behind -- its output is passed on unchanged, its exit code is kept, and lines such as \
               name=gemm m=16 dtype=bf16 t_us=41.3 are kept with the state of the GPU around them. The program may also write \
               such lines to the FIFO in $WARPSCOPE_POINTS or to the sockets in $WARPSCOPE_POINTS_DATAGRAM and $WARPSCOPE_POINTS_STREAM.",
        args: &[
            &[
                Id::File,
                Id::Once,
                Id::Count,
                Id::Duration,
                Id::MaxSize,
                Id::Keep,
                Id::Redact,
                Id::RequireGpu,
            ],
            &[Id::Attach, Id::Stdin, Id::Parsers, Id::Pattern, Id::Command],
            &[Id::Source, Id::Speed, Id::Start],
            GPUS,
            LIVE,
            CONFIG,
        ],
        examples: &[
            ("record run.jsonl --duration 10m", "ten minutes"),
            ("record run.jsonl -- python tune.py", "a program and its points"),
            (
                "record run.jsonl --parse triton,vllm -- python bench.py",
                "and what these tools print",
            ),
            ("record run.jsonl --max-size 64MiB --keep 3", "at most four files of 64 MiB"),
            (
                "record clean.jsonl --source run.jsonl --speed 1000 --redact",
                "a redacted copy to give away",
            ),
            ("record case.jsonl --once --redact", "one frame to be attached to a bug report"),
        ],
        run: record::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "replay",
        about: "Play a recording on the same screens",
        args: &[&[Id::Recording, Id::Speed, Id::Start], GPUS, SCREEN, LOOK, CONFIG],
        examples: &[(
            "replay run.jsonl --speed 4 --start 5m",
            "four times as fast, from the fifth minute",
        )],
        screen: true,
        run: replay::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "screenshot",
        about: "Draw a panel as SVG or text, without a terminal",
        args: &[
            &[
                Id::Panel,
                Id::Size,
                Id::PictureFormat,
                Id::Output,
                Id::Source,
                Id::BenchEvents,
                Id::Import,
            ],
            GPUS,
            LIVE,
            &[Id::Theme],
            LOOK,
            CONFIG,
        ],
        examples: &[(
            "screenshot --panel overview --size 120x36 -o overview.svg",
            "this machine, now",
        )],
        run: screenshot::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "selftest",
        about: "Run every GPU kernel against the inputs and answers it was proven with; ends with 1 when one is wrong",
        more: "The same cases prove the kernels on an interpreter when they are built. Outputs are poisoned before and guarded by sentinels; \
               whole numbers must come out to the bit. Ends with 3 when there is no GPU.",
        args: &[ON_GPU, &[Id::Json], LOOK, CONFIG],
        examples: &[
            ("selftest --gpu", "every kernel on every GPU"),
            ("selftest --gpu 0 --kernel 'gemm.*,gemv.*'", "some kernels on the first GPU"),
        ],
        run: gpu::selftest::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "snapshot",
        about: "Print one frame as a table or JSON",
        args: &[
            &[Id::Json, Id::Redact, Id::RequireGpu, Id::Source, Id::Start],
            GPUS,
            LIVE,
            LOOK,
            CONFIG,
        ],
        examples: &[
            ("snapshot", "a table"),
            ("snapshot --json --require-gpu", "for a script that needs a GPU"),
        ],
        run: snapshot::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "stream",
        about: "Print one frame per line until stopped",
        args: &[
            &[Id::LineFormat, Id::Count, Id::Duration, Id::Redact, Id::RequireGpu],
            &[Id::Source, Id::Speed, Id::Start],
            GPUS,
            LIVE,
            CONFIG,
        ],
        examples: &[
            ("stream -i 5s", "a frame every five seconds, as JSON Lines"),
            ("stream --format csv --count 10", "ten rows per GPU"),
        ],
        run: stream::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "tune",
        about: "Build, check and time the candidates of one kernel, again at every save",
        more: "The spec is TOML: a command that prints name=… t_us=… lines, or a kernel for a GPU in CUDA C++, PTX or machine code with its \
               launch; how its result is known to be right, shapes, number formats and lists of parameters. A candidate whose result is wrong is never timed. Right ones take turns with the baseline in blocks. In a \
               terminal every save of a source begins anew; Ctrl-C ends it and keeps what was measured. Runs are kept in \
               $XDG_STATE_HOME/warpscope/tune/NAME.jsonl, else below ~/.local/state, for compare and history.\n\
               Ends with 0 when something right was found for every shape, 1 when not, 3 without a GPU for a kernel that needs one.",
        args: &[
            &[Id::TuneSpec, Id::TuneOnce, Id::Record, Id::TuneExport, Id::Noise],
            &[Id::Json],
            LOOK,
            CONFIG,
        ],
        examples: &[
            (
                "tune examples/tune/sum.toml --once",
                "the grid once, on any machine with a shell and awk",
            ),
            (
                "tune examples/tune/gemv.toml --export gemv.json",
                "a CUDA kernel at every save, results for kernel_tuner beside it",
            ),
        ],
        run: tune::run,
        ..CommandSpec::BASE
    },
    CommandSpec {
        name: "why",
        about: "Explain one verdict: needs, has, evidence, the message you would see, the fix",
        more: "Ends as check does: 0 when it runs, 1 when it does not, 4 when that is unknown.",
        args: &[
            &[Id::Frameworks],
            ASKED,
            GPUS,
            LIVE,
            &[Id::FixNumber, Id::Write, Id::Json],
            LOOK,
            CONFIG,
        ],
        run: verdicts::why,
        examples: &[
            ("why --gpu V100 GLM-4", "why it prints nothing but exclamation marks there"),
            (
                "why vllm@0.9.0 --dtype float16 --model glm4/ --gpu V100",
                "about a model on this machine",
            ),
            ("why ktransformers@0.1.1 image --gpu T4 --write rules.yaml", "the fix as a file"),
        ],
        ..CommandSpec::BASE
    },
];
