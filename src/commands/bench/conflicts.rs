//! Options without effect on what else was asked for: ignored, they would be taken for measured.

use crate::commands::cli::{CliError, Options, Result};
use crate::config::args::{self, BenchDevice};
use crate::config::{AnyArg, ArgSpec, Layer};

/// Arguments of the command line.
type Given = &'static [&'static dyn AnyArg];

/// What chooses among GPUs and their kernels.
const ON_GPUS: Given =
    &[&args::ON_GPU, &args::KERNELS, &args::FULL, &args::SHAPE, &args::VARIANT, &args::CUBLAS];
/// What a goal says by itself.
const OF_A_GOAL: Given =
    &[&args::SHAPE, &args::VARIANT, &args::PROFILE, &args::DTYPES, &args::MARKDOWN, &args::CSV];
/// What only a comparison takes.
const OF_A_COMPARISON: Given =
    &[&args::BLOCKS, &args::NOISE, &args::FAIL_ON, &args::MARKDOWN, &args::CSV];

const DEVICE: Given = &[&args::BENCH_DEVICE];
const GOALS: Given = &[&args::GOALS];
const CUBLAS: Given = &[&args::CUBLAS];

/// Fails where something was given that what else was asked for has no use for.
pub(super) fn check(options: &Options) -> Result<()> {
    let device = options.get(&args::BENCH_DEVICE);
    let (cpu, against) = (device == BenchDevice::Cpu, options.get(&args::AGAINST).is_some());
    let goals = options.get(&args::GOALS);
    let beside = "cannot be combined with --against, which compares the micro decoder on the CPU";
    let by_itself =
        "cannot be combined with --goals, which has kernels, sizes and a table of its own";
    let rules: [(bool, Given, &str); 8] = [
        (against, GOALS, beside),
        (against, ON_GPUS, beside),
        (against && !cpu, DEVICE, beside),
        (goals, OF_A_GOAL, by_itself),
        (goals && cpu, DEVICE, "must not be cpu with --goals, which measures GPUs"),
        (cpu, ON_GPUS, "applies to GPUs, not to the CPU"),
        (!against, OF_A_COMPARISON, "requires --against"),
        (!goals, CUBLAS, "requires --goals"),
    ];
    for (_, given, why) in rules.iter().filter(|rule| rule.0) {
        if let Some(flag) = given.iter().find_map(|arg| flag(options, arg.spec())) {
            return Err(CliError::Usage(format!("--{flag} {why}")));
        }
    }
    Ok(())
}

/// The flag of an argument that stands on the command line.
fn flag(options: &Options, spec: &ArgSpec) -> Option<&'static str> {
    let mut all = options.settings.iter();
    all.find(|(other, _, layer)| *other == spec && *layer == Layer::CommandLine)?;
    spec.long.or_else(|| spec.shorthands.first().map(|row| row.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ALL;
    use crate::commands::cli::raw_args::{Parsed, parse};
    use crate::commands::cli::resolve;
    use crate::config::Environment;

    fn checked(line: &str) -> Result<()> {
        let words = ["warpscope", "bench"].into_iter().chain(line.split_whitespace());
        let Parsed::Run(raw) = parse(ALL, words.map(std::ffi::OsString::from))? else {
            panic!("{line}")
        };
        check(&resolve(&raw, Environment::from_iter::<[(&str, &str); 0]>([]), ALL)?)
    }

    #[test]
    fn what_would_be_ignored_is_refused_by_name() {
        for (line, want) in [
            ("--against W --device gpu", "--device cannot be combined with --against"),
            ("--against W --gpu 0", "--gpu cannot be combined with --against"),
            ("--against W --kernel gemv.*", "--kernel cannot be combined with --against"),
            ("--against W --full", "--full cannot be combined with --against"),
            ("--against W --shape 1,2,3", "--shape cannot be combined with --against"),
            ("--against W --goals", "--goals cannot be combined with --against"),
            ("--goals --markdown", "--markdown cannot be combined with --goals"),
            ("--goals --csv", "--csv cannot be combined with --goals"),
            ("--goals --device cpu", "--device must not be cpu with --goals"),
            ("--goals --shape 1,2,3", "--shape cannot be combined with --goals"),
            ("--goals --variant s8", "--variant cannot be combined with --goals"),
            ("--goals --profile glm4", "--profile cannot be combined with --goals"),
            ("--goals --dtype fp16", "--dtype cannot be combined with --goals"),
            ("--device cpu --variant s8", "--variant applies to GPUs"),
            ("--device cpu --kernel gemv.*", "--kernel applies to GPUs"),
            ("--device cpu --full", "--full applies to GPUs"),
            ("--device cpu --gpu", "--gpu applies to GPUs"),
            ("--blocks 3", "--blocks requires --against"),
            ("--noise 1", "--noise requires --against"),
            ("--fail-on slower", "--fail-on requires --against"),
            ("--markdown", "--markdown requires --against"),
            ("--cublas /lib/libcublas.so", "--cublas requires --goals"),
        ] {
            let error = checked(line).expect_err(line).to_string();
            assert!(error.contains(want), "{line}: {error}");
        }
    }

    #[test]
    fn what_counts_is_taken() {
        for line in [
            "",
            "--device cpu --dtype fp16 --profile glm4 --json",
            "--gpu 0 --kernel gemm.* --full --shape 1,2,3 --variant s8",
            "--against W --device cpu --blocks 3 --noise 1 --fail-on slower --csv",
            "--goals --gpu 0 --kernel gemm.* --cublas /lib/libcublas.so --json",
            "--tune --gpu 0 --shape 1,2,3",
        ] {
            assert!(checked(line).is_ok(), "{line}");
        }
    }
}
