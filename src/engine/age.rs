//! Whether an answer may be out of date: it rests on a rule that nobody has read again for the version asked about.

use std::cmp::Ordering;

use warpscope_probes::rules::{Rule, Version};

use super::evaluate::Answer;
use super::ruling::By;

/// A warning where the version asked about is newer than the newest the rules know and the deciding rule has no end.
pub(super) fn as_of(answer: &Answer<'_>) -> Option<String> {
    let By::Rule(rule) = answer.ruling.by else { return None };
    let framework = answer.base.framework(&rule.framework)?;
    let known = framework.version.as_deref()?;
    let asked = asked(answer, rule)?;
    let newer = |asked: &str| {
        let (asked, known): (Version, Version) = (asked.parse().ok()?, known.parse().ok()?);
        (asked.compare(&known)? == Ordering::Greater).then_some(())
    };
    newer(asked)?;
    rule.versions.is_open_above().then(|| {
        format!(
            "{name} {asked} is newer than {known}, the newest version the rules know; what decides here was read in {date}",
            name = framework.name,
            date = rule.retrieved
        )
    })
}

/// The version asked about of the software the rule speaks of.
fn asked<'a>(answer: &'a Answer<'_>, rule: &Rule) -> Option<&'a str> {
    if rule.framework == answer.question.framework {
        return answer.question.version.as_deref();
    }
    answer.walk.settings().get(&rule.framework)
}
