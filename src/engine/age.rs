//! Whether an answer may be out of date: its rule was not reviewed for the version asked about.

use std::cmp::Ordering;

use warpscope_probes::releases;
use warpscope_probes::rules::{Rule, RuleBase, Version};

use super::answer::Answer;
use super::decision::DecidedBy;

/// How the version asked about compares with those the rules cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Age {
    /// Newer than the newest of them.
    Newer,
    /// Never released, as far as is known.
    Unreleased,
}

/// `None` for a version the rules know, or may know.
pub(super) fn age(base: &RuleBase, framework: &str, asked: &str) -> Option<Age> {
    let framework = base.framework(framework)?;
    let (version, newest): (Version, Version) =
        (asked.parse().ok()?, framework.version.as_deref()?.parse().ok()?);
    match version.compare(&newest)? {
        Ordering::Greater => return Some(Age::Newer),
        Ordering::Equal => return None,
        Ordering::Less => {}
    }
    let unreleased = framework.packages.contains(&framework.id)
        && releases::exists(&framework.id, asked) == Some(false);
    unreleased.then_some(Age::Unreleased)
}

/// Whether the version asked about is newer than the newest the rules know and the deciding rule has no end, or was never released.
fn stale<'a>(answer: &'a Answer<'_>) -> Option<(Age, &'a Rule, &'a str)> {
    let DecidedBy::Rule(rule) = answer.decision.by else { return None };
    let asked = asked(answer, rule)?;
    let age = match rule.framework == answer.question.framework {
        true => *answer.age.get_or_init(|| age(answer.base, &rule.framework, asked)),
        false => age(answer.base, &rule.framework, asked),
    }?;
    (age == Age::Unreleased || rule.versions.is_open_above()).then_some((age, rule, asked))
}

pub(super) fn is_stale(answer: &Answer<'_>) -> bool {
    stale(answer).is_some()
}

/// The warning for a stale version.
pub(super) fn as_of(answer: &Answer<'_>) -> Option<String> {
    let (age, rule, asked) = stale(answer)?;
    let framework = answer.base.framework(&rule.framework)?;
    let (name, known) = (&framework.name, framework.version.as_deref()?);
    Some(match age {
        Age::Newer => format!(
            "{name} {asked} is newer than {known}, the newest version the rules cover; the deciding rule was last checked on {date}",
            date = rule.retrieved
        ),
        Age::Unreleased => {
            format!("{name} {asked} is not a release known here; the newest is {known}")
        }
    })
}

/// The version asked about of the software the rule speaks of.
fn asked<'a>(answer: &'a Answer<'_>, rule: &Rule) -> Option<&'a str> {
    if rule.framework == answer.question.framework {
        return answer.question.version.as_deref();
    }
    answer.matches.settings().get(&rule.framework)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_the_rules_is_not_out_of_date() {
        let base = RuleBase::builtin();
        for framework in base.frameworks() {
            let newest = framework.version.as_deref();
            let found = newest.and_then(|newest| age(base, &framework.id, newest));
            assert_eq!(found, None, "{}", framework.id);
        }
        assert_eq!(age(base, "vllm", "99.0"), Some(Age::Newer));
        assert_eq!(age(base, "vllm", "0.0.1.2.3"), Some(Age::Unreleased));
    }
}
