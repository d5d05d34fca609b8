//! The `[contract]` of a spec.

use std::ops::Range;

use toml::Spanned;

use super::fields::{command, share};
use super::raw::{Checked, RawContract, wrong};
use crate::tuner::check::{Accuracy, NUMBERS, Numbers};
use crate::tuner::contract::{Check, Contract, WORKS};
use crate::tuner::cpu;
use crate::tuner::spec::Kind;

/// Relative accuracy where none is given.
const RELATIVE: f64 = 1e-5;

/// Reads it; the place is that of the reference, for what is wrong with its names.
pub(super) fn contract(
    raw: &RawContract,
    kind: Kind,
    shell: bool,
) -> Checked<(Contract, Range<usize>)> {
    let at = raw.kind.span();
    let word = raw.kind.get_ref();
    let Some((work, _)) = WORKS.iter().find(|row| row.1 == word) else {
        let known: Vec<&str> = WORKS.iter().map(|row| row.1).collect();
        return wrong(&at, format!("contract {word:?}: must be one of {}", known.join(", ")));
    };
    let reference = raw.reference.as_ref().map(|words| command(words, shell)).transpose()?;
    let reference_at = raw.reference.as_ref().map_or(at.clone(), Spanned::span);
    let own = kind != Kind::Command;
    if own && reference.is_some() {
        return wrong(&reference_at, "this kind is checked against fp64; leave `reference` out");
    }
    if let (Some(function), false) = (&raw.function, matches!(kind, Kind::Cuda(_))) {
        return wrong(&function.span(), "`function` is for kernels of a GPU");
    }
    let (abs, rel) = (share(raw.abs.as_ref())?, share(raw.rel.as_ref())?);
    let tolerance = share(raw.tolerance.as_ref())?;
    let numbers = raw.output.as_ref().map(numbers).transpose()?;
    let Some(reference) = reference else {
        let check = match (tolerance, kind) {
            (Some(error), _) => Check::Error(error),
            (None, Kind::Cpu) => Check::Error(cpu::TOLERANCE),
            (None, Kind::Cuda(_)) => Check::Format,
            (None, Kind::Command) => return wrong(&at, NO_CHECK),
        };
        for (key, given) in [("abs", &raw.abs), ("rel", &raw.rel)] {
            if let Some(given) = given {
                return wrong(
                    &given.span(),
                    format!("`{key}` is for a reference; say `tolerance`"),
                );
            }
        }
        return Ok((Contract { work: *work, check }, at));
    };
    if let Some(given) = &raw.tolerance {
        return wrong(&given.span(), "`tolerance` is for error=; with a reference say abs and rel");
    }
    let accuracy = Accuracy { abs: abs.unwrap_or(0.0), rel: rel.unwrap_or(RELATIVE) };
    let check = if reference.mentions("output") {
        Check::Output(reference, accuracy, numbers.unwrap_or(Numbers::Text))
    } else if let Some(given) = &raw.output {
        return wrong(
            &given.span(),
            "`output` gives the format of {output}, which the reference does not mention",
        );
    } else {
        Check::Checksum(reference, accuracy)
    };
    Ok((Contract { work: *work, check }, reference_at))
}

const NO_CHECK: &str = "nothing defines a correct result: give a reference command, or tolerance = 1e-5 and a program that prints error=";

fn numbers(given: &Spanned<String>) -> Checked<Numbers> {
    let row = NUMBERS.iter().find(|row| row.1 == given.get_ref());
    row.map_or_else(|| wrong(&given.span(), "`output` must be text, f32 or f64"), |row| Ok(row.0))
}
