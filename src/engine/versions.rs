//! Which versions of a framework the rules distinguish.

use std::cmp::Ordering;

use warpscope_probes::rules::{Choice, RuleBase, Version};

/// Versions of a framework that the base names, ascending: in rows, as bounds of rules, as its newest known. Between two neighbours the
/// rules do not differ. Releases where there are any, else dates; builds are spelt as the newest is.
pub fn versions_of(base: &RuleBase, framework: &str) -> Vec<String> {
    let newest = base.framework(framework).and_then(|one| one.version.as_deref());
    let rows = base.configs().iter().filter_map(|row| {
        let own = row.framework == framework;
        if own { row.version.as_deref() } else { row.settings.get(framework) }
    });
    let ranges = base.rules().iter().flat_map(|rule| {
        let own = (rule.framework == framework).then_some(&rule.versions);
        let parts = rule.selector.iter().filter_map(|(key, choice)| match choice {
            Choice::Within(range) if key == framework => Some(range),
            _ => None,
        });
        own.into_iter().chain(parts)
    });
    let bounds = ranges.flat_map(|range| range.bound_texts());
    let mut named: Vec<(Version, &str)> = newest
        .into_iter()
        .chain(rows)
        .chain(bounds)
        .filter_map(|text| Some((text.parse().ok()?, text)))
        .collect();
    let release = |version: &Version| matches!(version, Version::Release(_));
    if named.iter().any(|one| release(&one.0)) {
        named.retain(|one| release(&one.0));
    }
    named.sort_by(|a, b| a.0.compare(&b.0).unwrap_or(Ordering::Equal));
    named.dedup_by(|a, b| a.0.compare(&b.0) == Some(Ordering::Equal));
    let are_builds = newest.is_some_and(|text| text.starts_with('b'));
    let spelt = |text: &str| match are_builds && !text.starts_with('b') {
        true => format!("b{text}"),
        false => text.to_owned(),
    };
    named.into_iter().map(|one| spelt(one.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
framework = "demo"
version = "1.10.0"

[[config]]
id = "old"
label = "old"
version = "0.9.1"

[[rule]]
id = "demo.one"
versions = ">=0.9,!=1.2.*,<1.10"
for = { triton = ">=3.3,<3.4" }
stage = "gate"
outcome = "works"
reason = "it does"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;

    #[test]
    fn versions_come_from_rows_bounds_and_the_newest_known() {
        let base = RuleBase::parse(&[("demo.toml", RULES)]).expect("reads");
        assert_eq!(versions_of(&base, "demo"), ["0.9", "0.9.1", "1.2", "1.10.0"]);
        assert_eq!(versions_of(&base, "triton"), ["3.3", "3.4"]);
        assert_eq!(versions_of(&base, "nobody"), Vec::<String>::new());
    }

    #[test]
    fn builds_have_their_letter_and_stand_once() {
        let versions = versions_of(RuleBase::builtin(), "llama-cpp");
        assert!(versions.iter().all(|text| text.starts_with('b')), "{versions:?}");
        assert_eq!(versions.iter().filter(|text| *text == "b3063").count(), 1);
    }
}
