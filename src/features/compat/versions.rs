//! Which versions of a framework can be asked about.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use warpscope_probes::rules::Version;

use crate::engine::{AssumedVersion, Assumptions, Origin};

/// Dates and releases do not compare; the dates stand first.
fn order(a: &Version, b: &Version) -> Ordering {
    match (a, b) {
        (Version::Release(a), Version::Release(b)) => a.cmp(b),
        (Version::Date(..), Version::Release(_)) => Ordering::Less,
        (Version::Release(_), Version::Date(..)) => Ordering::Greater,
        (Version::Date(y, m, d), Version::Date(y2, m2, d2)) => (y, m, d).cmp(&(y2, m2, d2)),
    }
}

/// The version `step` further than `now` among known ones: the nearest on that side where `now` is not one of them.
pub(crate) fn step_from(known: &[String], now: Option<&str>, step: isize) -> Option<String> {
    let Some(now) = now else {
        return if step < 0 { known.last() } else { known.first() }.cloned();
    };
    let now: Version = now.parse().ok()?;
    let side = if step < 0 { Ordering::Less } else { Ordering::Greater };
    let beyond = |text: &&String| text.parse().is_ok_and(|other| order(&other, &now) == side);
    match step < 0 {
        true => known.iter().rev().find(beyond).cloned(),
        false => known.iter().find(beyond).cloned(),
    }
}

/// Puts a version among known ones, which ascend.
pub(crate) fn insert(known: &mut Vec<String>, version: &str) {
    let parsed = |text: &str| text.parse::<Version>().ok();
    let is_older = |one: &String| match (parsed(one), parsed(version)) {
        (Some(one), Some(version)) => order(&one, &version).is_lt(),
        _ => true,
    };
    let at = known.partition_point(is_older);
    if known.get(at).is_none_or(|one| one != version) {
        known.insert(at, version.to_owned());
    }
}

/// Replaces what was found installed; what the user chose stays.
pub(crate) fn install(assumptions: &mut Assumptions, found: &BTreeMap<String, AssumedVersion>) {
    assumptions.versions.retain(|_, given| given.origin == Origin::Asked);
    for (framework, given) in found {
        assumptions.versions.entry(framework.clone()).or_insert_with(|| given.clone());
    }
}
