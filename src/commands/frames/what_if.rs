//! GPUs of the catalogue, as named on the command line.

use std::cell::LazyCell;

use warpscope_probes::catalogue::{Catalogue, DEFAULT_WHAT_IF, what_if};
use warpscope_probes::{Frame, Gpu};

use crate::commands::cli::{CliError, Options};
use crate::config::args;
use crate::config::args::WhatIf as When;
use crate::features::what_if::{Policy, WhatIf};

/// What the options say about GPUs that are not there.
pub(crate) fn choice(options: &Options) -> Result<WhatIf, CliError> {
    let mut named = Vec::new();
    for request in options.get(&args::GPUS) {
        let (count, part) = Catalogue::load().parse_request(&request).map_err(CliError::usage)?;
        for _ in 0..count {
            named.push(what_if(part, ordinal(&named)));
        }
    }
    let policy = match options.get(&args::WHAT_IF) {
        When::Auto => Policy::Auto,
        When::Always => Policy::Always,
        When::Never => Policy::Never,
    };
    Ok(WhatIf { policy, named, defaults: LazyCell::new(defaults) })
}

fn defaults() -> Vec<Gpu> {
    let mut gpus = Vec::new();
    for name in DEFAULT_WHAT_IF {
        if let Ok(part) = Catalogue::load().find(name) {
            gpus.push(what_if(part, ordinal(&gpus)));
        }
    }
    gpus
}

fn ordinal(gpus: &[Gpu]) -> u32 {
    u32::try_from(gpus.len()).unwrap_or(u32::MAX)
}

/// Adds the named ones to a frame that is printed. Defaults are for looking at, not for printing.
pub(crate) fn overlay(options: &Options, frame: &mut Frame) -> Result<(), CliError> {
    let mut what_if = choice(options)?;
    if what_if.policy == Policy::Auto {
        what_if.policy = Policy::Never;
    }
    what_if.overlay(frame);
    Ok(())
}
