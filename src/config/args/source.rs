//! Where frames come from.

use std::path::PathBuf;
use std::time::Duration;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option};
use crate::config::value::Kind;

/// When to show GPUs of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum WhatIf {
    /// While no real one answers.
    #[default]
    Auto,
    /// Beside the real ones.
    Always,
    /// Not at all; only those that were named.
    Never,
}

args! {
    INTERVAL: Duration = option("interval", "TIME", Kind::Interval)
        .short('i')
        .default("1s")
        .setting("WARPSCOPE_INTERVAL", "interval")
        .key_help("Time between frames")
        .help("Time between frames, 0.1s to 60s; a bare number is seconds");
    GPUS: Vec<String> = option("gpu", "NAME", Kind::List)
        .short('g')
        .setting("WARPSCOPE_GPU", "gpus")
        .key_help("GPUs of the catalogue to show as what-if, by name, alias or PCI id")
        .help("Show this GPU as what-if, by name, alias or PCI id: T4, \"RTX 3090\", 2xT4, 10de:1eb8; may be repeated");
    WHAT_IF: WhatIf = option("what-if", "WHEN", WhatIf::KIND)
        .shorthands(&[("no-what-if", "never")])
        .default("auto")
        .setting("WARPSCOPE_WHAT_IF", "what_if")
        .key_help("When to show GPUs of the catalogue")
        .help("When to show GPUs of the catalogue: auto does when no real one responds or --gpu names one");
    LIBRARY: Option<PathBuf> = option("library", "PATH", Kind::Path)
        .variable("WARPSCOPE_LIBRARY")
        .hidden(true)
        .help("Load this NVML library instead of libnvidia-ml.so.1");
    SOURCE: Option<PathBuf> = option("source", "FILE", Kind::Path)
        .short('s')
        .help("Read frames from this recording instead of this machine");
    RECORDING: Option<PathBuf> = operand(Form::RequiredOperand, "FILE", Kind::Path)
        .help("Recording to play");
    SPEED: f64 = option("speed", "FACTOR", Kind::Factor)
        .default("1")
        .help("Playback speed, 0.01 to 1000");
    START: Duration = option("start", "TIME", Kind::Span)
        .default("0s")
        .help("Start this far into the recording");
}
