//! What the benchmark runs, and how much it may take.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, option};
use crate::config::value::Kind;
use crate::worker::PathDtype;
use crate::worker::precision::Precision;
use crate::worker::scheduler::BenchMode;

/// Number formats of the benchmark.
const DTYPE_WORDS: &[&str] = &["fp32", "fp16", "bf16", "int4"];
/// Precision configs of the micro decoder on a GPU, by their ids.
const PATH_WORDS: &[&str] = &[
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

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum BenchDevice {
    /// The CPU, and the GPUs where there are any.
    All,
    /// The CPU alone.
    Cpu,
    /// The GPUs alone.
    Gpu,
}

args! {
    BENCH: BenchMode = option("bench", "WHEN", Kind::OneOf(&["ask", "off", "auto", "on"]))
        .shorthands(&[("no-bench", "off")])
        .default("ask")
        .setting("WARPSCOPE_BENCH", "bench")
        .key_help("When to benchmark idle GPUs: ask once and remember the answer; only on request (off); while the Bench tab is open (auto); or all the time (on). The CPU is benchmarked unless this is off, with at most 1% of a core away from the Bench tab; the key b pauses")
        .help("When to benchmark idle GPUs: ask once and remember the answer; while the Bench tab is open (auto); all the time (on); nothing, the CPU included, until you press b (off)");
    BENCH_SHARE: f64 = option("bench-share", "PERCENT", Kind::Percent)
        .default("2%")
        .setting("WARPSCOPE_BENCH_SHARE", "bench_share")
        .help("Largest share of a GPU's time the benchmark may use");
    BENCH_MEMORY: u64 = option("bench-memory", "SIZE", Kind::Size)
        .default("256MiB")
        .setting("WARPSCOPE_BENCH_MEMORY", "bench_memory")
        .help("Most GPU memory the benchmark may use, not counting its context");
    BENCH_DEVICE: BenchDevice = option("device", "DEVICE", BenchDevice::KIND)
        .default("all")
        .help("What to benchmark: the CPU, the GPUs, or both");
    DEVICE: String = option("device", "DEVICE", Kind::OneOf(&["cpu"]))
        .default("cpu")
        .help("Device to benchmark");
    PROFILE: String = option("profile", "NAME", Kind::OneOf(&["clean", "glm4", "gemma3", "kq", "cancel"]))
        .default("clean")
        .help("Weights of the model: clean stays within the range of fp16; glm4 and gemma3 leave it; kq and cancel leave it in intermediate results");
    DTYPES: Vec<PathDtype> = option("dtype", "LIST", Kind::AnyOf(DTYPE_WORDS))
        .default("fp32,fp16,bf16,int4")
        .help("Number formats to run, comma-separated");
    PATHS: Vec<Precision> = option("path", "LIST", Kind::AnyOf(PATH_WORDS))
        .conflicts(&["tune", "goals", "against", "shape", "variant"])
        .help("Run only these precision configs of the micro decoder, on GPUs: f32, f16, bf16 and w4 are those of --dtype; .wide stores fp32 before norms, .acc16 accumulates in fp16, .bf16 uses bf16 activations; awq has zero points, w4a8 8-bit activations, nf4 the 4-bit floats of bitsandbytes");
    RECORD: Option<PathBuf> = option("record", "FILE", Kind::Path)
        .help("Append every sample to this run log, with the environment it was measured in");
    AGAINST: Option<PathBuf> = option("against", "PROGRAM", Kind::Path)
        .help("Compare this program with another warpscope binary: both run in interleaved blocks (A/B)");
    BLOCKS: u64 = option("blocks", "N", Kind::Count)
        .default("5")
        .help("Number of blocks per side of an interleaved A/B run");
}
