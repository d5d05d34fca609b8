//! `warpscope noise`: how much this machine differs from itself.

use super::identity::now_ms;
use super::output;
use crate::commands::bench::interleave::{keys, median, take_turns};
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, STYLE};
use crate::commands::compare::thresholds::noise_file_path;
use crate::config::args;
use crate::io::sink::noise_file;
use crate::runs::compare::Limits;
use crate::runs::noise::{Floor, floor_of};
use crate::text::clean;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "noise",
    about: "Measure the run-to-run noise of this machine and keep it for compare",
    more: "Runs the benchmark in blocks and compares adjacent ones. The 95th percentile of their differences is kept in $XDG_STATE_HOME/warpscope/noise.json; compare ignores changes below twice that.",
    args: &[&[&args::DEVICE, &args::PROFILE, &args::DTYPES], &[&args::BLOCKS], STYLE, CONFIG_FILE],
    examples: &[("noise --dtype bf16 --blocks 10", "twenty runs of one number format")],
    run,
    ..CommandSpec::BASE
};

/// Runs the same program against itself, prints the floor of every kernel and keeps it.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let path = noise_file_path(&options.env).ok_or_else(|| {
        let why = "set HOME or XDG_STATE_HOME: there is no place to keep it";
        CliError::Usage(why.to_owned())
    })?;
    let mut noise = noise_file::read(&path).map_err(CliError::Failed)?;
    let exe = std::env::current_exe()?;
    let [first, second] = take_turns([&exe, &exe], options, |done, all| {
        output::note(format_args!("block {done} of {all}"))
    })?;
    // In the order of time: A B, B A, A B, …
    let pairs = first.iter().zip(&second).enumerate();
    let in_time: Vec<_> =
        pairs.flat_map(|(at, (a, b))| if at % 2 == 0 { [a, b] } else { [b, a] }).collect();
    let mut lines = format!("{:>7}  {:>11}  {:>6}  kernel\n", "noise", "counts from", "blocks");
    for key in keys(in_time.iter().copied()) {
        let medians: Vec<f64> = in_time.iter().filter_map(|block| median(block, &key)).collect();
        let name = clean(&key.to_string(), options.get(&args::ASCII)).into_owned();
        let Some(share) = floor_of(&medians) else {
            let blocks = medians.len();
            lines += &format!(
                "{:>7}  {:>11}  {blocks:>6}  {name}: too few blocks with a clean sample\n",
                "-", "-"
            );
            continue;
        };
        let practical = Limits::for_noise(share).practical;
        let (noise_pct, from_pct) = (share * 100.0, practical * 100.0);
        lines += &format!("{noise_pct:>5.2} %  {from_pct:>9.2} %  {:>6}  {name}\n", medians.len());
        noise.set(&key, Floor { share, blocks: medians.len(), at_ms: now_ms() });
    }
    noise_file::write(&path, &noise)
        .map_err(|error| CliError::Failed(format!("{}: {error}", path.display())))?;
    output::print(&lines)?;
    output::note(format_args!("kept in {}", path.display()));
    Ok(Exit::Fine)
}
