//! GPUs of the catalogue, as named on the command line.

use std::cell::LazyCell;

use warpscope_probes::catalogue::{Catalogue, DEFAULT_WHAT_IF, Part, what_if};
use warpscope_probes::{Frame, Gpu};

use crate::commands::cli::{CliError, Options, Result};
use crate::config::args;
use crate::features::what_if::{Policy, WhatIf};

/// What the options say about GPUs that are not there.
pub(crate) fn choice(options: &Options) -> Result<WhatIf> {
    let mut parts = Vec::new();
    for request in options.get(&args::GPUS) {
        let (count, part) = Catalogue::load().parse_request(&request).map_err(CliError::usage)?;
        parts.extend((0..count).map(|_| part));
    }
    let policy = options.get(&args::WHAT_IF);
    let named = numbered(parts.into_iter());
    Ok(WhatIf { policy, named, defaults: LazyCell::new(defaults) })
}

fn defaults() -> Vec<Gpu> {
    numbered(DEFAULT_WHAT_IF.iter().filter_map(|name| Catalogue::load().find(name).ok()))
}

fn numbered(parts: impl Iterator<Item = &'static Part>) -> Vec<Gpu> {
    (0..).zip(parts).map(|(at, part)| what_if(part, at)).collect()
}

/// Adds the named ones to a frame that is printed. Defaults are for looking at, not for printing.
pub(crate) fn overlay(options: &Options, frame: &mut Frame) -> Result<()> {
    let mut what_if = choice(options)?;
    if what_if.policy == Policy::Auto {
        what_if.policy = Policy::Never;
    }
    what_if.overlay(frame);
    Ok(())
}
