//! Whether an answer may be out of date: its rule was not reviewed for the version asked about.

use std::cmp::Ordering;

use warpscope_probes::releases;
use warpscope_probes::rules::{Rule, Version};

use super::answer::Answer;
use super::decision::DecidedBy;

/// A warning where the version asked about is newer than the newest the rules know and the deciding rule has no end, or was never released.
pub(super) fn as_of(answer: &Answer<'_>) -> Option<String> {
    let DecidedBy::Rule(rule) = answer.decision.by else { return None };
    let framework = answer.base.framework(&rule.framework)?;
    let known = framework.version.as_deref()?;
    let asked = asked(answer, rule)?;
    let (version, newest): (Version, Version) = (asked.parse().ok()?, known.parse().ok()?);
    let name = &framework.name;
    if version.compare(&newest)? == Ordering::Greater {
        return rule.versions.is_open_above().then(|| {
            format!(
                "{name} {asked} is newer than {known}, the newest version the rules cover; the deciding rule was last checked on {date}",
                date = rule.retrieved
            )
        });
    }
    let unreleased = framework.packages.contains(&framework.id)
        && releases::exists(&framework.id, asked) == Some(false);
    unreleased.then(|| format!("{name} {asked} is not a release known here; the newest is {known}"))
}

/// The version asked about of the software the rule speaks of.
fn asked<'a>(answer: &'a Answer<'_>, rule: &Rule) -> Option<&'a str> {
    if rule.framework == answer.question.framework {
        return answer.question.version.as_deref();
    }
    answer.matches.settings().get(&rule.framework)
}
