//! What runs on real GPUs.

use std::path::PathBuf;
use std::time::Duration;

use warpscope_kernels::gpu::Shape;

use super::spec::{Arg, ArgSpec, option, switch};
use crate::config::value::Kind;
use crate::worker::Globs;

args! {
    ON_GPU: Vec<String> = option("gpu", "WHICH", Kind::Devices)
        .help("GPUs by index, UUID or UUID prefix; all when no value is given; may be repeated");
    KERNELS: Globs = option("kernel", "GLOB", Kind::List)
        .help("Only GPU kernels whose names match; * matches any characters: gemm.*,gemv.f16; may be repeated");
    ONLY_PROBES: Globs = option("only", "ID", Kind::List)
        .help("Only probes whose names match; * matches any characters: gate.*,cublas.*; may be repeated");
    CUBLAS: Option<PathBuf> = option("cublas", "PATH", Kind::Path)
        .help("Use this libcublas, and the libcublasLt beside it, instead of the copies found on this machine");
    SHAPE: Option<Shape> = option("shape", "M,N,K", Kind::Shape)
        .help("Time GPU kernels at this size instead of their default sizes: rows, columns and inner dimension, such as 16,4096,4096; 0 for what a kernel does not have");
    VARIANT: Option<String> = option("variant", "NAME", Kind::Text)
        .help("Time this variant of the kernels selected with --kernel instead of the default; an unknown name lists the variants");
    TUNE_VARIANTS: bool = switch(&[("tune", "on")])
        .conflicts(&["against", "record", "variant", "goals", "markdown", "csv"])
        .help("Time all variants of every GPU kernel in turn and remember the fastest for this GPU");
    FULL: bool = switch(&[("full", "on")])
        .help("Measure warm and long, for figures to quote: about 15 seconds per kernel and size; runs every precision config of the micro decoder");
    GOALS: bool = switch(&[("goals", "on")])
        .help("Measure kernels against their performance goals, interleaved with the baseline of each: cuBLASLt or the read bandwidth");
    ANYWAY: bool = switch(&[("anyway", "on")])
        .help("Also use GPUs that other processes are using, or whose users cannot be determined");
    WAIT: Option<Duration> = option("wait", "TIME", Kind::Span)
        .help("Wait this long in all for other processes to stop using a GPU, then name what was not measured: 60s unless given");
    PATIENCE: Option<Duration> = option("patience", "TIME", Kind::Span)
        .help("Kill the process on the GPU after this long without output: 15s for self-tests, 60s for everything else");
}
