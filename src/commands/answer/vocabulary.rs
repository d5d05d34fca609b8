//! Values that a framework knows for a key, and what is said of others.

use warpscope_probes::rules::RuleBase;

use crate::config::nearest;
use crate::engine::vocabulary::{CLOSED, known};

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
