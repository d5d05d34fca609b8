//! `warpscope bench --against PROGRAM`: two programs on one machine, block by block in turn.

use std::path::Path;

use super::blocks::{Side, take_turns};
use super::compare::{Shown, Thresholds, outcome, show};
use super::exit::{CliError, Exit};
use super::options::Options;
use crate::bench::compare::{Groups, compare_groups};
use crate::bench::journal::Regime;

/// Judges this program against another one.
pub(super) fn run(options: &Options, base: &Path) -> Result<Exit, CliError> {
    if options.bench.record.is_some() {
        return Err(CliError::Usage(
            "--record and --against cannot stand together; record each program by itself"
                .to_owned(),
        ));
    }
    let exe = std::env::current_exe()?;
    let [before, after] =
        take_turns([base, &exe], options, |done, all| eprintln!("block {done} of {all}"))?;
    let thresholds = Thresholds::of(options);
    let comparison =
        compare_groups(vec![groups(before), groups(after)], |key| thresholds.limits(key));
    let names = [base.display().to_string(), exe.display().to_string()];
    show(&Shown { comparison: &comparison, names: &names, thresholds: &thresholds }, options)?;
    Ok(outcome(&comparison, options))
}

fn groups(side: Side) -> Groups {
    let mut groups = Groups::default();
    side.into_iter().flatten().for_each(|point| groups.add(point, Regime::Sustained));
    groups
}
