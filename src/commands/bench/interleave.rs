//! Benchmark runs in blocks that take turns: the same machine, minutes apart at most, for both sides.
//!
//! A machine drifts: clocks, neighbours, temperature. Two runs one after the other carry the drift as if it were the code's; blocks that take
//! turns carry it on both sides. The order turns round with every pair (A B, B A, …), so that a steady drift cancels.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::commands::bench::samples::points_of;
use crate::commands::cli::{CliError, Options, Result};
use crate::config::args;
use crate::runs::compare::Series;
use crate::runs::samples::{Key, Point};
use crate::worker::{Hello, PathSamples};

/// Most bytes of a program's answer that are read; a block is about 200 kB.
const MOST_BYTES: u64 = 64 << 20;
/// Most blocks of each side.
const MAX_BLOCKS: u64 = 1000;

/// What one side measured, block by block, in the order of time.
pub(crate) type Side = Vec<Vec<Point>>;

/// Which side a block belongs to: A B, B A, A B, …
fn order(blocks: usize) -> impl Iterator<Item = usize> {
    (0..blocks).flat_map(|block| if block % 2 == 0 { [0, 1] } else { [1, 0] })
}

/// Runs so many blocks of each program in turn.
pub(crate) fn take_turns(
    programs: [&Path; 2],
    options: &Options,
    mut block_done: impl FnMut(usize, usize),
) -> Result<[Side; 2]> {
    let blocks = options.get(&args::BLOCKS).clamp(1, MAX_BLOCKS) as usize;
    let mut sides = [Side::new(), Side::new()];
    for (done, side) in order(blocks).enumerate() {
        let program = programs[side];
        let why = |why: String| CliError::Failed(format!("{}: {why}", program.display()));
        let result = measure(program, options).map_err(why)?;
        let device = result.hello.as_ref().map(|hello| hello.device_name.as_str());
        let points: Vec<Point> =
            result.samples.iter().flat_map(|path| points_of(path, device)).collect();
        if points.is_empty() {
            let shown = program.display();
            return Err(CliError::Failed(format!(
                "{shown} gives no samples: it is older than this comparison"
            )));
        }
        sides[side].push(points);
        block_done(done + 1, 2 * blocks);
    }
    Ok(sides)
}

/// What one run of `bench --json` says, as far as it is compared: any version of the program says it.
#[derive(Deserialize)]
struct Measured {
    hello: Option<Hello>,
    #[serde(default)]
    samples: Vec<PathSamples>,
}

/// Has a program measure the CPU once.
fn measure(program: &Path, options: &Options) -> Result<Measured, String> {
    let (dtypes, profile) = (options.get(&args::DTYPES), options.get(&args::PROFILE));
    let dtypes = dtypes.iter().flat_map(|dtype| ["--dtype", dtype.id()]);
    let mut command = Command::new(program);
    command.args(["bench", "--json", "--device", "cpu", "--profile"]);
    command.arg(profile).args(dtypes);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    let read = child.stdout.take().map(|out| out.take(MOST_BYTES).read_to_end(&mut text));
    let status = child.wait().map_err(|error| error.to_string())?;
    read.transpose().map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("{status}, not understood: {error}"))
}

/// Kernels of some blocks, each once, in the order they were met.
pub(crate) fn keys<'a>(blocks: impl Iterator<Item = &'a Vec<Point>>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for point in blocks.flatten() {
        if !keys.contains(&point.key) {
            keys.push(point.key.clone());
        }
    }
    keys
}

/// Median of the clean samples of a kernel in one block.
pub(crate) fn median(block: &[Point], key: &Key) -> Option<f64> {
    let clean = block.iter().filter(|point| point.key == *key && point.tainted.is_empty());
    Series::new(clean.flat_map(|point| point.t_ns.iter().copied())).median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_drift_falls_on_both_sides_alike() {
        for blocks in [2, 4, 10] {
            let mut sums = [0, 0];
            for (at, side) in order(blocks).enumerate() {
                sums[side] += at;
            }
            assert_eq!(sums[0], sums[1], "{blocks} blocks");
        }
    }
}
