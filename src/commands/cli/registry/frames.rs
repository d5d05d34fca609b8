//! Commands that take frames, of this machine or of a recording.

use super::{CONFIG_FILE, CommandSpec, LIVE, LOOK, NAMED_GPUS, SCREEN};

use crate::commands::{record, replay, screenshot, snapshot, stream};
use crate::config::Id;

pub(crate) const MARK: CommandSpec = CommandSpec {
    name: "mark",
    about: "Write a remark into the run that is being recorded",
    args: &[&[Id::Remark], CONFIG_FILE],
    examples: &[("mark new tile size", "while `warpscope record run.jsonl -- ./tune` runs")],
    run: record::mark,
    ..CommandSpec::BASE
};

pub(crate) const RECORD: CommandSpec = CommandSpec {
    name: "record",
    about: "Write frames to a recording, or the run of a program to a journal",
    more: "Every complete line of a recording is readable, whatever ends the program. A full disk is \
           reported and recording goes on when there is room again. Files are created for their owner only.\n\
           With a program behind -- its output is passed on unchanged, its exit code is kept, and lines such as \
           name=gemm m=16 dtype=bf16 t_us=41.3 are kept with the state of the GPU around them. The program may also write \
           such lines to the FIFO in $WARPSCOPE_POINTS or to the sockets in $WARPSCOPE_POINTS_DATAGRAM and $WARPSCOPE_POINTS_STREAM.\n\
           The program starts at once; commit, driver and GPUs are found out beside it, without running git. Signals are passed on, \
           and a second Ctrl-C kills. What the program leaves running is recorded for 10 s more and then passed on unrecorded; \
           Ctrl-C ends the 10 s.",
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
        NAMED_GPUS,
        LIVE,
        CONFIG_FILE,
    ],
    examples: &[
        ("record run.jsonl --duration 10m", "ten minutes"),
        ("record run.jsonl -- python tune.py", "a program and its points"),
        ("record run.jsonl --parse triton,vllm -- python bench.py", "and what these tools print"),
        ("record run.jsonl --max-size 64MiB --keep 3", "at most four files of 64 MiB"),
        (
            "record clean.jsonl --source run.jsonl --speed 1000 --redact",
            "a redacted copy to give away",
        ),
        ("record case.jsonl --once --redact", "one frame to be attached to a bug report"),
    ],
    run: record::frames::run,
    ..CommandSpec::BASE
};

pub(crate) const REPLAY: CommandSpec = CommandSpec {
    name: "replay",
    about: "Play a recording on the same screens",
    args: &[&[Id::Recording, Id::Speed, Id::Start], NAMED_GPUS, SCREEN, LOOK, CONFIG_FILE],
    examples: &[(
        "replay run.jsonl --speed 4 --start 5m",
        "four times as fast, from the fifth minute",
    )],
    screen: true,
    run: replay::run,
    ..CommandSpec::BASE
};

pub(crate) const SCREENSHOT: CommandSpec = CommandSpec {
    name: "screenshot",
    about: "Draw a panel as SVG or text, without a terminal",
    args: &[
        &[
            Id::Panel,
            Id::Size,
            Id::PictureFormat,
            Id::Output,
            Id::Force,
            Id::Source,
            Id::BenchEvents,
            Id::Import,
        ],
        NAMED_GPUS,
        LIVE,
        &[Id::Theme],
        LOOK,
        CONFIG_FILE,
    ],
    examples: &[("screenshot --panel overview --size 120x36 -o overview.svg", "this machine, now")],
    run: screenshot::run,
    ..CommandSpec::BASE
};

pub(crate) const SNAPSHOT: CommandSpec = CommandSpec {
    name: "snapshot",
    about: "Print one frame as a table or JSON",
    args: &[
        &[Id::Json, Id::Redact, Id::RequireGpu, Id::Source, Id::Start],
        NAMED_GPUS,
        LIVE,
        LOOK,
        CONFIG_FILE,
    ],
    examples: &[
        ("snapshot", "a table"),
        ("snapshot --json --require-gpu", "for a script that needs a GPU"),
    ],
    run: snapshot::run,
    ..CommandSpec::BASE
};

pub(crate) const STREAM: CommandSpec = CommandSpec {
    name: "stream",
    about: "Print one frame per line until stopped",
    args: &[
        &[Id::LineFormat, Id::Count, Id::Duration, Id::Redact, Id::RequireGpu],
        &[Id::Source, Id::Speed, Id::Start],
        NAMED_GPUS,
        LIVE,
        CONFIG_FILE,
    ],
    examples: &[
        ("stream -i 5s", "a frame every five seconds, as JSON Lines"),
        ("stream --format csv --count 10", "ten rows per GPU"),
    ],
    run: stream::run,
    ..CommandSpec::BASE
};
