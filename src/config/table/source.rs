//! Where frames come from.

use super::id::Id;
use super::row::{ArgSpec, EnvRule, Form};
use crate::config::value::Kind;

/// When to show GPUs of the catalogue.
pub const WHAT_IFS: &[&str] = &["auto", "always", "never"];

pub(super) const ROWS: &[ArgSpec] = &[
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
        short: Some('g'),
        env: &[("WARPSCOPE_GPU", EnvRule::Value)],
        key: Some("gpus"),
        key_help: "GPUs of the catalogue to look at as what-if, by name, alias or PCI id",
        help: "Look at this GPU as what-if, by name, alias or PCI id: T4, \"RTX 3090\", 2xT4, 10de:1eb8; may be repeated",
        ..ArgSpec::option(Id::Gpus, "gpu", "NAME", Kind::List)
    },
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
        env: &[("WARPSCOPE_LIBRARY", EnvRule::Value)],
        hidden: true,
        help: "Load this NVML library instead of libnvidia-ml.so.1",
        ..ArgSpec::option(Id::Library, "library", "PATH", Kind::Path)
    },
    ArgSpec {
        short: Some('s'),
        help: "Take frames from this recording instead of this machine",
        ..ArgSpec::option(Id::Source, "source", "FILE", Kind::Path)
    },
    ArgSpec {
        help: "Recording to play",
        ..ArgSpec::operand(Id::Recording, Form::RequiredOperand, "FILE", Kind::Path)
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
];
