//! What the benchmark runs, and how much it may take.

use super::id::Id;
use super::row::{ArgSpec, EnvRule};
use crate::config::value::Kind;

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
const BENCHES: &[&str] = &["off", "auto", "on"];

pub(super) const ROWS: &[ArgSpec] = &[
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
        default: Some("2%"),
        env: &[("WARPSCOPE_BENCH_SHARE", EnvRule::Value)],
        key: Some("bench_share"),
        key_help: "Most of a GPU's time the benchmark may take",
        help: "Most of a GPU's time the benchmark may take",
        ..ArgSpec::option(Id::BenchShare, "bench-share", "PERCENT", Kind::Percent)
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
        default: Some("all"),
        help: "What to measure: the CPU, the GPUs, or both",
        ..ArgSpec::option(Id::BenchDevice, "device", "DEVICE", Kind::OneOf(&["all", "cpu", "gpu"]))
    },
    ArgSpec {
        default: Some("cpu"),
        help: "Device to measure",
        ..ArgSpec::option(Id::Device, "device", "DEVICE", Kind::OneOf(&["cpu"]))
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
        default: Some("fp32,fp16,bf16,int4"),
        help: "Number formats to run, separated by commas",
        ..ArgSpec::option(Id::Dtypes, "dtype", "LIST", Kind::AnyOf(DTYPES))
    },
    ArgSpec {
        apart: &["tune", "goals", "against", "shape", "variant"],
        help: "Run only these paths of the micro decoder, on GPUs: f32, f16, bf16 and w4 are those of --dtype; .wide stores fp32 in front of norms, .acc16 sums in \
               fp16, .bf16 has bf16 activations; awq has zero points, w4a8 activations of 8 bits, nf4 the 4-bit floats of bitsandbytes",
        ..ArgSpec::option(Id::Paths, "path", "LIST", Kind::AnyOf(PATHS))
    },
    ArgSpec {
        help: "Write every sample, with who ran what, into this journal; an existing one is continued",
        ..ArgSpec::option(Id::Record, "record", "FILE", Kind::Path)
    },
    ArgSpec {
        help: "Judge this program against another warpscope: both run in turn, block by block",
        ..ArgSpec::option(Id::Against, "against", "PROGRAM", Kind::Path)
    },
    ArgSpec {
        default: Some("5"),
        help: "Blocks of each side where two take turns",
        ..ArgSpec::option(Id::Blocks, "blocks", "N", Kind::Count)
    },
];
