//! Commands that answer what runs where, and say what is here.

use super::{CONFIG_FILE, CommandSpec, LIVE, LOOK, NAMED_GPUS};
use crate::commands::{answer, doctor, inspect};
use crate::config::Id;

const ASKED: &[Id] = &[Id::AskedDtype, Id::Model, Id::Installed, Id::Rules];

pub(crate) const CHECK: CommandSpec = CommandSpec {
    name: "check",
    about: "Say which frameworks run on these GPUs; ends with 1 when one does not",
    more: "Without a framework everything known is asked, as a table: configurations down, GPUs across.\n\
           Ends with 0 when everything asked runs, 1 when something does not, 4 when nothing fails but something is unknown.",
    args: &[
        &[Id::Frameworks],
        ASKED,
        NAMED_GPUS,
        LIVE,
        &[Id::Only, Id::Json, Id::Markdown, Id::Csv, Id::RequireGpu],
        LOOK,
        CONFIG_FILE,
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
    run: answer::check,
    ..CommandSpec::BASE
};

pub(crate) const DOCTOR: CommandSpec = CommandSpec {
    name: "doctor",
    about: "Say what was found, what not, why, and what to do; ends with 1 when something fails",
    args: &[&[Id::Json, Id::Redact, Id::Source], NAMED_GPUS, LIVE, LOOK, CONFIG_FILE],
    examples: &[("doctor --redact", "to be pasted into a bug report")],
    lenient: true,
    run: doctor::run,
    ..CommandSpec::BASE
};

pub(crate) const INSPECT: CommandSpec = CommandSpec {
    name: "inspect",
    about: "Say what is installed and which GPUs its binaries can run on; ends with 1 when something cannot",
    more: "Nothing is imported or run: environments, packages and the device code in their binaries are read from the files. \
           Ends with 1 when a package that is installed has no code for a GPU that was named or is here.",
    args: &[&[Id::Inspected], NAMED_GPUS, &[Id::Library], &[Id::Json], LOOK, CONFIG_FILE],
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
};

pub(crate) const WHY: CommandSpec = CommandSpec {
    name: "why",
    about: "Explain one verdict: needs, has, evidence, the message you would see, the fix",
    more: "Ends as check does: 0 when it runs, 1 when it does not, 4 when that is unknown.",
    args: &[
        &[Id::Frameworks],
        ASKED,
        NAMED_GPUS,
        LIVE,
        &[Id::FixNumber, Id::Write, Id::Json],
        LOOK,
        CONFIG_FILE,
    ],
    run: answer::why,
    examples: &[
        ("why --gpu V100 GLM-4", "why it prints nothing but exclamation marks there"),
        (
            "why vllm@0.9.0 --dtype float16 --model glm4/ --gpu V100",
            "about a model on this machine",
        ),
        ("why ktransformers@0.1.1 image --gpu T4 --write rules.yaml", "the fix as a file"),
    ],
    ..CommandSpec::BASE
};
