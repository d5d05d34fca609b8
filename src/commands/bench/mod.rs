//! `warpscope bench`: options in, [`BenchRequest`] out.

pub(crate) mod against;
pub(crate) mod autotune;
mod conflicts;
pub mod decoder;
pub(crate) mod goals;
pub(crate) mod interleave;
mod samples;
mod table;
pub(crate) mod timing;
use std::path::Path;

use super::output;
use crate::commands::bench::decoder::{BenchRequest, BenchResult, run as run_once, show};
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, HOSTS, ON_GPU, Options, Result, STYLE,
};
use crate::commands::gpu::outcome::Outcome;
use crate::config::args::{self, BenchDevice};
use crate::io::sink::{Holds, Limits, Recorder};
use crate::worker::Globs;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "bench",
    about: "Benchmark the micro decoder on the CPU and all kernels on the GPUs",
    more: "The micro decoder is a four-layer language model whose weights are the same numbers in every format, so only the arithmetic differs. Its tokens and logits are compared with fp64. GPUs have several precision configs per format, of which one runs by default; --path selects others, and --full runs all.\n\
           Columns of a precision config: tokens per second at batch 1 with their median deviation, prefill rate, bytes read per second and their share of the read bandwidth measured in the same run, error of the logits, and how many tokens match fp64. For a kernel, TOP/s counts floating-point or integer operations, a multiply-add as two. Exits with 1 if a config gives wrong results that its arithmetic does not explain, or if something requested was not done.\n\
           GPUs in use by other processes are skipped unless --anyway is given. Without --full, kernels are timed in bursts of milliseconds, which show ratios and health but are not figures to quote. Ctrl-C stops and keeps what was measured.\n\
           --against runs two programs in interleaved blocks (A/B), so that machine drift affects both alike, and prints the answer of compare.\n\
           --tune checks every variant of every kernel, times it interleaved with the default, and uses the fastest from then on if its lead is significant. The result applies to this GPU with this driver, these kernels, application clocks and power limit, and is kept in $XDG_STATE_HOME/warpscope/tuned.json, else below ~/.local/state. Nothing is tuned unless you ask.\n\
           --goals compares GEMMs with cuBLASLt (as found here, or named with --cublas), GEMVs with the read bandwidth, attention with our own GEMM, and the decoder with its roofline, on random numbers, in A B B A blocks; --kernel selects goals by name. Exits with 1 if a floor is missed.",
    args: &[
        &[&args::BENCH_DEVICE, &args::PROFILE, &args::DTYPES, &args::PATHS],
        ON_GPU,
        &[&args::SHAPE, &args::FULL, &args::VARIANT, &args::TUNE_VARIANTS],
        &[&args::GOALS, &args::CUBLAS],
        &[&args::RECORD, &args::KEEP_IN_HISTORY],
        &[&args::AGAINST, &args::BLOCKS, &args::FAIL_ON, &args::NOISE],
        &[&args::JSON, &args::MARKDOWN, &args::CSV],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[
        ("bench --device cpu", "all four number formats on the CPU"),
        ("bench --gpu 0 --kernel 'gemm.*' --full", "figures to quote, for one kernel family"),
        ("bench --profile glm4 --dtype fp16,bf16 --json", "weights that exceed the range of fp16"),
        ("bench --path f16,f16.acc16,awq --profile cancel", "does accumulating in fp16 matter?"),
        (
            "bench --tune --gpu 0",
            "find and remember the best variant of every kernel on the first GPU",
        ),
        (
            "bench --goals --gpu 0",
            "how close the kernels are to the vendor's library and the roofline",
        ),
        ("bench --against target/release/warpscope-before", "did a change make it slower?"),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Runs the benchmark once and prints what it reached.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    conflicts::check(options)?;
    if options.get(&args::TUNE_VARIANTS) {
        return tune(options);
    }
    if let Some(base) = options.get(&args::AGAINST) {
        return against::run(options, &base);
    }
    if options.get(&args::GOALS) {
        return goals::run(options);
    }
    if options.get(&args::BENCH_DEVICE) == BenchDevice::Cpu && !options.get(&args::PATHS).is_empty()
    {
        let why = "--path selects precision configs of GPUs; the CPU has one per format of --dtype";
        return Err(CliError::usage(why));
    }
    check_record(options)?;
    measure(options)
}

/// Measures once on the devices asked for, and prints and keeps the result.
fn measure(options: &Options) -> Result<Exit> {
    let request = BenchRequest {
        device: options.get(&args::DEVICE),
        profiles: vec![options.get(&args::PROFILE)],
        dtypes: options.get(&args::DTYPES).iter().map(|dtype| dtype.id().to_owned()).collect(),
        json: options.get(&args::JSON),
        record: options.get(&args::RECORD),
    };
    let exe = std::env::current_exe()?;
    let (mut out, mut err) = (output::stdout(), output::stderr());
    let exit = match part(options) {
        BenchDevice::Cpu => run_once(&exe, &request, |_| Ok(()), (&mut out, &mut err))?,
        BenchDevice::All => {
            let more = |result: &mut BenchResult| add_gpus(options, &exe, result);
            run_once(&exe, &request, more, (&mut out, &mut err))?
        }
        BenchDevice::Gpu => {
            let mut result = BenchResult::new("gpu");
            result.gpus = timing::measure(options, &exe)?;
            show(&result, &Outcome::default(), &request, (&mut out, &mut err))?
        }
    };
    if let Some(journal) = request.record.filter(|_| exit != Exit::Usage) {
        super::history::remember(options, &journal);
    }
    Ok(exit)
}

/// Opens the journal once before anything is measured: afterwards is too late to learn that it cannot be written.
pub(crate) fn check_record(options: &Options) -> Result<()> {
    let Some(path) = options.get(&args::RECORD) else { return Ok(()) };
    let opened = Recorder::open_as(Holds::RunLog, &path, Limits::default());
    opened.map(drop).map_err(CliError::usage)
}

/// Tries the variants of kernels. Those of the CPU are chosen by its instructions.
fn tune(options: &Options) -> Result<Exit> {
    if options.get(&args::BENCH_DEVICE) == BenchDevice::Cpu {
        return Err(CliError::usage("--tune applies to GPU kernels, not to the CPU"));
    }
    autotune::run(options)
}

/// What asks for kernels or devices of its own asks for nothing else.
fn part(options: &Options) -> BenchDevice {
    let special = !options.get(&args::ON_GPU).is_empty()
        || options.get(&args::FULL)
        || options.get(&args::SHAPE).is_some()
        || options.get(&args::VARIANT).is_some()
        || !options.get(&args::PATHS).is_empty()
        || options.get(&args::KERNELS) != Globs::default();
    match options.get(&args::BENCH_DEVICE) {
        BenchDevice::All if special => BenchDevice::Gpu,
        named => named,
    }
}

/// The GPUs' part, where there is one: the CPU's is worth printing without it.
fn add_gpus(options: &Options, exe: &Path, result: &mut BenchResult) -> Result<()> {
    match timing::measure(options, exe) {
        Ok(gpus) => result.gpus = gpus,
        Err(CliError::NoGpu(why)) => {
            output::note(format_args!("warpscope bench: no GPU part: {why}"));
            result.no_gpu = Some(why);
        }
        Err(other) => return Err(other),
    }
    Ok(())
}
