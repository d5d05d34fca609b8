//! What sets two runs apart.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::runs::run_log::{Dirty, Identity};

/// The commit of a run as people name it; `+` for a folder that differed from it, `?` for one that may have.
pub fn commit(identity: &Identity) -> Option<String> {
    let short: String = identity.commit.as_ref()?.chars().take(8).collect();
    Some(match identity.dirty {
        Dirty::No => short,
        Dirty::Hash(_) | Dirty::NotHashed => short + "+",
        Dirty::Unknown => short + "?",
    })
}

/// One thing that two runs do not have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is: `commit`, `driver`, a variable.
    pub what: String,
    /// Before; none where it was not known or not set.
    pub before: Option<String>,
    /// After.
    pub after: Option<String>,
}

/// Two commits, or folders that are not certain to have held the same.
fn other_commit(before: &Identity, after: &Identity) -> Option<Difference> {
    let whole = |one: &Identity| one.commit.clone().map(|id| (id, one.dirty.clone()));
    let certain = after.commit.is_none() || after.dirty.is_settled();
    if whole(before) == whole(after) && certain {
        return None;
    }
    let mut names = (commit(before), commit(after));
    if names.0 == names.1 {
        // The same to eight letters: another change on top of one commit.
        let full = |one: &Identity| {
            let dirty = one.dirty.text().unwrap_or("");
            commit(one).map(|name| format!("{name} {dirty}").trim_end().to_owned())
        };
        names = (full(before), full(after));
    }
    Some(Difference { what: "commit".to_owned(), before: names.0, after: names.1 })
}

/// Everything that two runs do not have in common and that changes speed, the likeliest cause first.
pub fn differences(before: &Identity, after: &Identity) -> Vec<Difference> {
    let mut found = Vec::new();
    found.extend(other_commit(before, after));
    let mut tell = |what: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { what: what.to_owned(), before, after });
        }
    };
    tell("driver", before.driver.clone(), after.driver.clone());
    tell("CUDA", before.cuda.clone(), after.cuda.clone());
    tell("image", before.image.clone(), after.image.clone());
    tell("CPU", before.cpu.clone(), after.cpu.clone());
    tell("CPU governor", before.governor.clone(), after.governor.clone());
    let bios = |one: &Identity| {
        let all: Vec<&str> = one.devices.iter().filter_map(|gpu| gpu.vbios.as_deref()).collect();
        (!all.is_empty()).then(|| all.join(" "))
    };
    tell("VBIOS", bios(before), bios(after));
    for (a, b) in [(&before.libraries, &after.libraries), (&before.environment, &after.environment)]
    {
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        names.into_iter().for_each(|name| tell(name, a.get(name).cloned(), b.get(name).cloned()));
    }
    let seed = |one: &Identity| one.seed.map(|seed| seed.to_string());
    tell("seed", seed(before), seed(after));
    found
}
