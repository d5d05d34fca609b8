//! `warpscope bench --against PROGRAM`: two programs on one machine, block by block in turn.

use std::path::Path;

use crate::commands::bench::interleave::{Side, take_turns};
use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::commands::compare::{Shown, outcome, show};
use crate::commands::output;
use crate::config::args;
use crate::runs::compare::{Design, Groups, Terms, compare_groups};
use crate::runs::run_log::SampleMode;

/// Judges this program against another one.
pub(crate) fn run(options: &Options, base: &Path) -> Result<Exit> {
    if options.get(&args::RECORD).is_some() {
        return Err(CliError::usage(
            "--record cannot be combined with --against; record each program separately",
        ));
    }
    let exe = std::env::current_exe()?;
    let [before, after] = take_turns([base, &exe], options, |done, all| {
        output::note(format_args!("block {done} of {all}"))
    })?;
    let terms = Terms { design: Design::Turns, ..Terms::default() };
    let comparison = compare_groups(vec![groups(before), groups(after)], &terms);
    let names = [base.display().to_string(), exe.display().to_string()];
    let shown = Shown { comparison: &comparison, names: &names, errors: &[] };
    show(&shown, options)?;
    Ok(outcome(&shown, options))
}

fn groups(side: Side) -> Groups {
    let mut groups = Groups::default();
    for block in side {
        groups.next_process();
        block.into_iter().for_each(|point| groups.add(point, SampleMode::Sustained));
    }
    groups
}
