//! Another version: of the framework, or of the package whose rule decided.
//!
//! Between two neighbouring versions the rules name nothing changes, so one version stands for each gap.

use std::cmp::Ordering;

use warpscope_probes::releases::is_installable;
use warpscope_probes::rules::{Cost, Version, VersionRange};

use super::{Attempt, options};
use crate::engine::decision::DecidedBy;
use crate::engine::published;
use crate::engine::question::{Origin, Question};
use crate::engine::verdict::{Fix, Outcome};
use crate::engine::versions::versions_of;

/// At most one fix for the framework and one for the package whose rule decided.
pub(super) fn of(attempt: &Attempt<'_>) -> Vec<Fix> {
    let question = attempt.answer.question;
    let package = match attempt.answer.decision.by {
        DecidedBy::Rule(rule) if rule.framework != question.framework => {
            question.config.get(&rule.framework).map(|version| (&*rule.framework, version))
        }
        _ => None,
    };
    let own = question.version.as_deref().map(|version| (question.framework.as_str(), version));
    let subjects = own.into_iter().chain(package);
    subjects.filter_map(|(id, now)| VersionSearch::new(attempt, id, now)?.fix()).collect()
}

/// The versions of one piece of software, ascending, around the one asked about.
struct VersionSearch<'t> {
    attempt: &'t Attempt<'t>,
    id: &'t str,
    versions: Vec<(Version, String)>,
    now: Version,
}

/// Versions that run: as a package specifier, in words, and with what outcome.
struct VersionSpan {
    spec: String,
    words: String,
    then: Outcome,
}

impl<'t> VersionSearch<'t> {
    fn new(attempt: &'t Attempt<'t>, id: &'t str, now: &str) -> Option<Self> {
        let now: Version = now.parse().ok()?;
        let versions = versions_of(attempt.answer.base, id).into_iter();
        let versions = versions.filter_map(|text| Some((text.parse().ok()?, text)));
        let versions = versions.filter(|one: &(Version, String)| one.0.compare(&now).is_some());
        Some(Self { attempt, id, versions: versions.collect(), now })
    }

    fn fix(&self) -> Option<Fix> {
        let newer: Vec<usize> = self.on_side(Ordering::Greater);
        let older: Vec<usize> = self.on_side(Ordering::Less);
        let first = self.open_ended(&newer).and_then(|span| self.as_fix(&span));
        let around = |at: &usize| self.as_fix(&self.around(*at)?);
        first
            .or_else(|| newer.iter().rev().find_map(around))
            .or_else(|| older.iter().rev().find_map(around))
    }

    /// The command that installs it, of a package the index is known to have: anybody can register a free name. None where the index
    /// has no such version.
    fn as_fix(&self, span: &VersionSpan) -> Option<Fix> {
        let framework = self.attempt.answer.base.framework(self.id);
        let name = framework.map_or(self.id, |one| &one.name);
        let title = format!("{name} {}", span.words);
        let packages = framework.map_or(&[][..], |one| &one.packages);
        let range: VersionRange = span.spec.parse().ok()?;
        let listed = |there| packages.iter().find(|one| is_installable(one, &range) == Some(there));
        let text = match listed(true) {
            Some(package) => format!("pip install '{package}{}'", span.spec),
            None if listed(false).is_none() => format!("use {title}"),
            None => return None,
        };
        Some(Fix { cost: Cost::Build, title, text, then: Some(span.then) })
    }

    fn on_side(&self, side: Ordering) -> Vec<usize> {
        let there = |at: &usize| self.versions[*at].0.compare(&self.now) == Some(side);
        (0..self.versions.len()).filter(there).collect()
    }

    /// The first version from which on everything known runs.
    fn open_ended(&self, newer: &[usize]) -> Option<VersionSpan> {
        let steady = newer.iter().rev().map(|at| (*at, self.throughout(*at)));
        let steady: Vec<_> = steady.take_while(|one| one.1.is_some()).collect();
        let newest = steady.first()?.1?;
        let first = &self.versions[steady.last()?.0].1;
        let (spec, words) = (format!(">={first}"), format!("{first} or newer"));
        Some(VersionSpan { spec, words, then: newest })
    }

    /// One version that runs, and those after it up to the next one the rules name.
    fn around(&self, at: usize) -> Option<VersionSpan> {
        let then = self.runs(&self.versions[at].1)?;
        let version = &self.versions[at].1;
        let next = self.versions.get(at + 1).filter(|_| self.throughout(at).is_some());
        // A range that includes the current version would change nothing.
        let next = next.filter(|next| !self.is_between(at, &next.0));
        let (spec, words) = match next {
            Some((_, next)) => {
                (format!(">={version},<{next}"), format!("{version}, before {next}"))
            }
            None => (format!("=={version}"), version.clone()),
        };
        Some(VersionSpan { spec, words, then })
    }

    fn is_between(&self, at: usize, next: &Version) -> bool {
        self.versions[at].0.compare(&self.now) == Some(Ordering::Less)
            && next.compare(&self.now) == Some(Ordering::Greater)
    }

    /// The outcome of a version and those right after it; none unless both run.
    fn throughout(&self, at: usize) -> Option<Outcome> {
        let then = self.runs(&self.versions[at].1)?;
        let after = format!("{}.0.0.1", self.versions[at].1);
        // A pre-release has nothing between itself and the next.
        if after.parse::<Version>().is_err() {
            return Some(then);
        }
        self.runs(&after)
    }

    /// The outcome of another version as the index has it, with what it pins and what its wheel holds.
    fn runs(&self, version: &str) -> Option<Outcome> {
        let (base, target) = (self.attempt.answer.base, self.attempt.answer.target);
        let question = self.attempt.answer.question;
        let (mut changed, wheel) = if self.id == question.framework {
            let version = Some(version.to_owned());
            let other =
                Question { version, origin: Origin::Asked, ..published::without_pins(question) };
            (published::with_pins(other), "wheel".to_owned())
        } else {
            (options::with(question, self.id, version)?, format!("{}.wheel", self.id))
        };
        if changed.config.get(&wheel).is_some() {
            changed.config.set(&wheel, "pypi").ok()?;
        }
        changed.origin = Origin::Asked;
        let found = published::findings(base, target, &changed);
        self.attempt.ask(&changed, found.iter())
    }
}
