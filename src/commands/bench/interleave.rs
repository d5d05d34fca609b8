//! Benchmark runs in blocks that take turns: the same machine, minutes apart at most, for both sides.
//!
//! A machine drifts: clocks, neighbours, temperature. Two runs one after the other carry the drift as if it were the code's; blocks that take
//! turns carry it on both sides. The order turns round with every pair (A B, B A, …), so that a steady drift cancels.

use std::path::Path;

use crate::commands::bench::decoder::collect;
use crate::commands::bench::samples::points_of;
use crate::commands::cli::{CliError, Options};
use crate::config::args;
use crate::runs::compare::Series;
use crate::runs::points::{Key, Point};
use crate::worker::{Mode, WorkerOptions, worker_command};

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
) -> Result<[Side; 2], CliError> {
    let dtypes = options.get(&args::DTYPES);
    let dtypes: Vec<String> = dtypes.iter().map(|dtype| dtype.id().to_owned()).collect();
    let (device, profiles) = (options.get(&args::DEVICE), [options.get(&args::PROFILE)]);
    let worker = WorkerOptions::read(&device, &profiles, &dtypes, Mode::Once)
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let blocks = options.get(&args::BLOCKS).clamp(1, MAX_BLOCKS) as usize;
    let mut sides = [Side::new(), Side::new()];
    for (done, side) in order(blocks).enumerate() {
        let program = programs[side];
        let (result, failure) = collect(worker_command(program, &worker), &worker.device);
        if let Some(failure) = failure {
            return Err(CliError::Failed(format!("{}: {failure}", program.display())));
        }
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
