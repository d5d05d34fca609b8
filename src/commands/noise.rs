//! `warpscope noise`: how much processes that run the same differ on this machine.

use std::path::Path;

use super::identity::now_ms;
use super::output;
use crate::commands::bench::interleave::{keys, median, take_turns};
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::compare::known::noise_file_path;
use crate::commands::versus::{Measure, Side, processes};
use crate::config::args;
use crate::io::sink::noise_file;
use crate::runs::compare::Spread;
use crate::runs::noise::{Measured, Noise};
use crate::runs::run_log::command_name;
use crate::runs::samples::{Key, Point};
use crate::text::clean;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "noise",
    about: "Measure how much processes of a program differ, and keep it for compare",
    more: "Runs the program after -- (without one, the micro benchmark on the CPU) twice --blocks times and keeps the standard deviation of the medians of its processes \
           in $XDG_STATE_HOME/warpscope/noise.json, by machine, command and kernel. compare needs it where one process stands on each side.",
    args: &[
        &[&args::NOISY, &args::BLOCKS, &args::RUN_LIMIT, &args::PARSERS, &args::PATTERN],
        &[&args::DEVICE, &args::PROFILE, &args::DTYPES],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("noise -- ./bench --size 4096", "ten processes of a program"),
        (
            "noise --dtype bf16 --blocks 10",
            "twenty runs of the micro benchmark in one number format",
        ),
    ],
    run,
    ..CommandSpec::BASE
};

/// Measures, prints and keeps the noise of every kernel.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let path = noise_file_path(&options.env).ok_or_else(|| {
        CliError::usage("set HOME or XDG_STATE_HOME: there is no place to keep it")
    })?;
    let mut noise = noise_file::read(&path).map_err(CliError::Failed)?;
    let Blocks { command, blocks, signal } = blocks(options)?;
    let before = noise.clone();
    let mut lines = format!("{:>9}  {:>9}  kernel\n", "deviation", "processes");
    for key in keys(blocks.iter()) {
        lines += &line(&key, &blocks, &command, &mut noise, options.is_ascii());
    }
    output::print(&lines)?;
    if noise == before {
        let why = "no kernel has enough clean processes, so nothing is kept";
        return signal.map(Exit::Signal).ok_or_else(|| CliError::failed(why));
    }
    noise_file::write(&path, &noise)
        .map_err(|error| CliError::Failed(format!("{}: {error}", path.display())))?;
    output::note(format_args!("kept for `{command}` in {}", path.display()));
    Ok(Exit::Fine)
}

/// What was measured.
struct Blocks {
    /// The name the noise is kept under.
    command: String,
    /// The points of every process, in the order of time.
    blocks: Vec<Vec<Point>>,
    /// What the user ended it by.
    signal: Option<u8>,
}

fn blocks(options: &Options) -> Result<Blocks> {
    let words = options.get(&args::NOISY);
    if words.is_empty() {
        let exe = std::env::current_exe()?;
        let (command, blocks) = (own(&exe), own_blocks(&exe, options)?);
        return Ok(Blocks { command, blocks, signal: None });
    }
    let count = 2 * options.get(&args::BLOCKS).clamp(2, 10_000) as usize;
    let measure = Measure::new(options)?;
    let (blocks, errors) = processes(&Side::new(&words), &measure, count)?;
    errors.iter().for_each(|why| output::note(format_args!("error: {why}")));
    Ok(Blocks { command: command_name(&words), blocks, signal: measure.signals.came() })
}

fn own(exe: &Path) -> String {
    command_name(&[exe.display().to_string(), "bench".to_owned()])
}

fn own_blocks(exe: &Path, options: &Options) -> Result<Vec<Vec<Point>>> {
    let [first, second] = take_turns([exe, exe], options, |done, all| {
        output::note(format_args!("block {done} of {all}"))
    })?;
    // In the order of time: A B, B A, A B, …
    let pairs = first.into_iter().zip(second).enumerate();
    Ok(pairs.flat_map(|(at, (a, b))| if at % 2 == 0 { [a, b] } else { [b, a] }).collect())
}

/// What one kernel comes to, in a line.
fn line(key: &Key, blocks: &[Vec<Point>], command: &str, noise: &mut Noise, ascii: bool) -> String {
    let medians: Vec<f64> = blocks.iter().filter_map(|block| median(block, key)).collect();
    let name = clean(&key.to_string(), ascii).into_owned();
    let (processes, at_ms) = (medians.len(), now_ms());
    let Some(spread) = Spread::of(&medians) else {
        return format!(
            "{:>9}  {processes:>9}  {name}: too few processes with a clean sample\n",
            "-"
        );
    };
    let deviation = spread.deviation.exp_m1();
    noise.set(&noise_file::machine(), command, key, Measured { deviation, processes, at_ms });
    format!("{:>7.2}%  {processes:>9}  {name}\n", deviation * 100.0)
}
