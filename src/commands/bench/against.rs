//! `warpscope bench --against PROGRAM`: two programs on one machine, block by block in turn.

use std::collections::BTreeMap;
use std::path::Path;

use crate::commands::bench::interleave::{Side, keys, median, take_turns};
use crate::commands::cli::{CliError, Exit, Options};
use crate::commands::compare::thresholds::thresholds;
use crate::commands::compare::{Shown, outcome, show};
use crate::commands::output;
use crate::config::args;
use crate::runs::compare::{Groups, compare_groups};
use crate::runs::noise::floor_of;
use crate::runs::run_log::SampleMode;
use crate::runs::samples::Key;

/// Judges this program against another one.
pub(crate) fn run(options: &Options, base: &Path) -> Result<Exit, CliError> {
    if options.get(&args::RECORD).is_some() {
        return Err(CliError::Usage(
            "--record cannot be combined with --against; record each program separately".to_owned(),
        ));
    }
    let exe = std::env::current_exe()?;
    let [before, after] = take_turns([base, &exe], options, |done, all| {
        output::note(format_args!("block {done} of {all}"))
    })?;
    let thresholds = thresholds(options).between(floors(&before, &after));
    let comparison =
        compare_groups(vec![groups(before), groups(after)], |key| thresholds.limits(key));
    let names = [base.display().to_string(), exe.display().to_string()];
    show(&Shown { comparison: &comparison, names: &names, thresholds: &thresholds }, options)?;
    Ok(outcome(&comparison, options))
}

/// How much the blocks of either side differ among themselves; the larger of the two counts. Samples of all blocks are judged together, and
/// what differs from block to block averages out with the root of their number.
fn floors(before: &Side, after: &Side) -> BTreeMap<Key, f64> {
    let floor = |side: &Side, key: &Key| {
        floor_of(&side.iter().filter_map(|block| median(block, key)).collect::<Vec<_>>())
    };
    let known = keys(before.iter()).into_iter().filter_map(|key| {
        let larger = floor(before, &key)?.max(floor(after, &key)?);
        Some((key, larger / (before.len() as f64).sqrt()))
    });
    known.collect()
}

fn groups(side: Side) -> Groups {
    let mut groups = Groups::default();
    side.into_iter().flatten().for_each(|point| groups.add(point, SampleMode::Sustained));
    groups
}
