//! Commands that list what is known.

use super::{CONFIG_FILE, CommandSpec, LOOK};
use crate::commands::tables;
use crate::config::Id;

const TABLE: &[&[Id]] = &[&[Id::Filter, Id::Json], LOOK, CONFIG_FILE];

pub(crate) const DTYPES: CommandSpec = CommandSpec {
    name: "dtypes",
    about: "List the number formats and how each architecture computes in them",
    args: TABLE,
    examples: &[("dtypes fp8", "FP8 on every architecture"), ("dtypes sm_75 bf16", "one line")],
    run: tables::dtypes,
    ..CommandSpec::BASE
};

pub(crate) const FRAMEWORKS: CommandSpec = CommandSpec {
    name: "frameworks",
    about: "List the frameworks known, with the newest version the rules speak of",
    args: &[&[Id::Filter, Id::Rules, Id::Json], LOOK, CONFIG_FILE],
    examples: &[("frameworks", "all of them"), ("frameworks --json", "for a script")],
    run: tables::frameworks,
    ..CommandSpec::BASE
};

pub(crate) const GPUS: CommandSpec = CommandSpec {
    name: "gpus",
    about: "List the GPUs of the catalogue: what --gpu may name",
    args: TABLE,
    examples: &[
        ("gpus 3090", "every kind of RTX 3090"),
        ("gpus sm_89 --json", "one compute capability, for a script"),
    ],
    run: tables::gpus,
    ..CommandSpec::BASE
};
