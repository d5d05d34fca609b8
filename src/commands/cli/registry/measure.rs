//! Commands that run something and time or judge it.

use super::{CONFIG_FILE, CommandSpec, LOOK};
use crate::commands::{bench, noise, probe, selftest, tune};
use crate::config::Id;

const ON_GPU: &[Id] = &[Id::OnGpu, Id::Kernels, Id::Anyway, Id::Patience];
const MODEL: &[Id] = &[Id::Device, Id::Profile, Id::Dtypes];

pub(crate) const BENCH: CommandSpec = CommandSpec {
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
        CONFIG_FILE,
    ],
    examples: &[
        ("bench --device cpu", "all four number formats on the CPU"),
        ("bench --gpu 0 --kernel 'gemm.*' --full", "figures to quote, of one family of kernels"),
        ("bench --profile glm4 --dtype fp16,bf16 --json", "weights that leave the range of fp16"),
        (
            "bench --path f16,f16.acc16,awq --profile cancel",
            "does it matter that sums are kept in fp16?",
        ),
        ("bench --tune --gpu 0", "the best variant of every kernel on the first GPU, remembered"),
        ("bench --goals --gpu 0", "how far the kernels are from the vendor's library and the roof"),
        ("bench --against target/release/warpscope-before", "did a change make it slower?"),
    ],
    run: bench::run,
    ..CommandSpec::BASE
};

pub(crate) const NOISE: CommandSpec = CommandSpec {
    name: "noise",
    about: "Measure how much this machine differs from itself, and keep it for compare",
    more: "Runs the benchmark in blocks and compares neighbours. The 95th percentile of their differences is kept in \
           $XDG_STATE_HOME/warpscope/noise.json; compare counts a change from twice that on.",
    args: &[MODEL, &[Id::Blocks], LOOK, CONFIG_FILE],
    examples: &[("noise --dtype bf16 --blocks 10", "twenty runs of one number format")],
    run: noise::run,
    ..CommandSpec::BASE
};

pub(crate) const PROBE: CommandSpec = CommandSpec {
    name: "probe",
    about: "Run single instructions, images and calls of cuBLAS on the GPUs here, and say what each proves",
    more: "Answers go before the rules from then on, on this very GPU and with this driver: in check, why, doctor and on the Compat tab. \
           They are kept in $XDG_CACHE_HOME/warpscope/probes, else ~/.cache/warpscope/probes. A GPU that others use is left alone.\n\
           A copy of cuBLAS that another user can have put there is named and not loaded; --cublas loads any.\n\
           Ends with 1 when a result is wrong, an answer contradicts a rule or a GPU was not probed to the end, and with 3 when there is no GPU.",
    args: &[
        &[Id::OnGpu, Id::OnlyProbes, Id::Cublas, Id::Anyway, Id::Patience],
        &[Id::Library],
        &[Id::Json],
        LOOK,
        CONFIG_FILE,
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
    run: probe::run,
    ..CommandSpec::BASE
};

pub(crate) const SELFTEST: CommandSpec = CommandSpec {
    name: "selftest",
    about: "Run every GPU kernel against the inputs and answers it was proven with; ends with 1 when one is wrong",
    more: "The same cases prove the kernels on an interpreter when they are built. Outputs are poisoned before and guarded by sentinels; \
           whole numbers must come out to the bit. Ends with 3 when there is no GPU.",
    args: &[ON_GPU, &[Id::Json], LOOK, CONFIG_FILE],
    examples: &[
        ("selftest --gpu", "every kernel on every GPU"),
        ("selftest --gpu 0 --kernel 'gemm.*,gemv.*'", "some kernels on the first GPU"),
    ],
    run: selftest::run,
    ..CommandSpec::BASE
};

pub(crate) const TUNE: CommandSpec = CommandSpec {
    name: "tune",
    about: "Build, check and time the candidates of one kernel, again at every save",
    more: "The spec is TOML: a command that prints name=… t_us=… lines, or a kernel for a GPU in CUDA C++, PTX or machine code with its \
           launch; how its result is known to be right, shapes, number formats and lists of parameters. A candidate whose result is wrong is never timed. Right ones take turns with the baseline in blocks. In a \
           terminal every save of a source begins anew; Ctrl-C ends it and keeps what was measured. Runs are kept in \
           $XDG_STATE_HOME/warpscope/tune/NAME.jsonl, else below ~/.local/state, for compare and history.\n\
           Ends with 0 when something right was found for every shape, 1 when not, 3 without a GPU for a kernel that needs one.",
    args: &[
        &[Id::TuneSpec, Id::TuneOnce, Id::Record, Id::TuneExport, Id::Force, Id::Noise],
        &[Id::Json],
        LOOK,
        CONFIG_FILE,
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
};
