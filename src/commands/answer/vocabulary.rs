//! Values that a framework knows for a key: those its rules and rows name.

use std::collections::BTreeSet;

use warpscope_probes::rules::{Choice, RuleBase};

use crate::config::nearest;

/// Keys whose values are names in the framework's own code. Others describe the model, the machine or the build and are open.
const CLOSED: &[&str] =
    &["attention", "compute_type", "engine", "kernel", "kv_cache", "quantization"];

/// An error where the framework knows values for this key and this is none of them.
pub(super) fn check(
    base: &RuleBase,
    framework: &str,
    key: &str,
    value: &str,
) -> Result<(), String> {
    let known = known(base, framework, key);
    if !CLOSED.contains(&key) || known.is_empty() || known.contains(value) {
        return Ok(());
    }
    let near = nearest(value, known.iter().copied());
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let known: Vec<&str> = known.into_iter().collect();
    Err(format!("{value:?} is no {key} known of {framework}{hint}; known: {}", known.join(", ")))
}

/// Whether a rule, a row or a list of names has this value.
pub(super) fn knows(base: &RuleBase, framework: &str, key: &str, value: &str) -> bool {
    known(base, framework, key).contains(value)
}

fn known<'a>(base: &'a RuleBase, framework: &str, key: &str) -> BTreeSet<&'a str> {
    let rows = base.configs().iter().filter(|row| row.framework == framework);
    let rows = rows.filter_map(|row| row.settings.get(key));
    let levers = base.framework(framework).into_iter().flat_map(|one| &one.levers);
    let levers =
        levers.filter(|one| one.key == key).flat_map(|one| one.values.iter().map(String::as_str));
    let rules = base.rules_of(framework).flat_map(|rule| {
        let chosen = rule.selector.iter().filter(|one| one.0 == key).flat_map(|one| match one.1 {
            Choice::OneOf(values) => values.iter().map(String::as_str).collect(),
            Choice::Within(_) => Vec::new(),
        });
        chosen.chain(rule.route.get(key))
    });
    let names = base.framework(framework).and_then(|one| one.names.get(key));
    let names = names.into_iter().flatten().map(String::as_str);
    rows.chain(levers).chain(rules).chain(names).filter(|value| *value != "unset").collect()
}
