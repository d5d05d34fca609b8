//! What runs on real GPUs.

use super::id::Id;
use super::row::ArgSpec;
use crate::config::value::Kind;

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        help: "GPUs by number or UUID, or the beginning of one; all of them where none is named; may be repeated",
        ..ArgSpec::option(Id::OnGpu, "gpu", "WHICH", Kind::Devices)
    },
    ArgSpec {
        help: "Only GPU kernels with such names, * for any letters: gemm.*,gemv.f16; may be repeated",
        ..ArgSpec::option(Id::Kernels, "kernel", "GLOB", Kind::List)
    },
    ArgSpec {
        help: "Probes by name, with * for any part: gate.*,cublas.*; may be repeated",
        ..ArgSpec::option(Id::OnlyProbes, "only", "ID", Kind::List)
    },
    ArgSpec {
        help: "Ask this libcublas, with the libcublasLt beside it, instead of the copies found on this machine",
        ..ArgSpec::option(Id::Cublas, "cublas", "PATH", Kind::Path)
    },
    ArgSpec {
        help: "Time GPU kernels at this size and not at their own: rows, columns and inner dimension, such as 16,4096,4096",
        ..ArgSpec::option(Id::Shape, "shape", "M,N,K", Kind::Text)
    },
    ArgSpec {
        help: "Time this variant of the kernels named with --kernel, and not the one they take by themselves; a name that is none is answered with those there are",
        ..ArgSpec::option(Id::Variant, "variant", "NAME", Kind::Text)
    },
    ArgSpec {
        apart: &["against", "record", "variant", "goals", "markdown", "csv"],
        ..ArgSpec::switch(
            Id::TuneVariants,
            &[("tune", "on")],
            "Time the variants of every kernel in turn, on GPUs, and remember which is best here",
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
    ArgSpec::switch(
        Id::Anyway,
        &[("anyway", "on")],
        "Also on a GPU that others are using, or of which nobody can tell",
    ),
    ArgSpec {
        default: Some("60s"),
        help: "Kill the process on the GPU when it says nothing for so long",
        ..ArgSpec::option(Id::Patience, "patience", "TIME", Kind::Span)
    },
];
