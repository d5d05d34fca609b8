//! The packages a framework runs with, and the releases its rows are about.

use warpscope_probes::releases;
use warpscope_probes::rules::{Framework, RuleBase};

use crate::engine::Question;
use crate::engine::vocabulary::meant;

/// Whether a package is part of a framework: one of its rules or settings names it, its release asks for it, or it is the CUDA that every
/// build was made with.
pub(super) fn runs_with(base: &RuleBase, framework: &Framework, package: &str) -> bool {
    let by_rule = || base.rules_of(&framework.id).any(|rule| rule.selector.has(package));
    let by_setting = || {
        ["attention", "quantization"]
            .iter()
            .any(|key| meant(base, &framework.id, key, package).is_some())
    };
    let newest = framework.version.as_deref().unwrap_or_default();
    let by_pin = || releases::pins(&framework.id, newest).iter().any(|pin| pin.package == package);
    package == "cuda" || by_rule() || by_setting() || by_pin()
}

/// Whether a question is that of a row about a release whose first number is another.
pub(super) fn is_of_another_generation(
    base: &RuleBase,
    question: &Question,
    version: &str,
) -> bool {
    let rows = base.configs().iter().filter(|row| row.framework == question.framework);
    let mut own = rows.filter(|row| Question::of_row(base, row) == *question);
    let own = own.next().and_then(|row| row.version.as_deref());
    own.is_some_and(|own| first_number(own) != first_number(version))
}

fn first_number(version: &str) -> &str {
    let number = version.trim_start_matches(|first: char| first.is_ascii_alphabetic());
    number.split('.').next().unwrap_or(number)
}
