//! Another version: of the framework, or of the package whose rule decided.
//!
//! Between two versions the rules name they say the same, so one version out of each gap stands for all of it.

use std::cmp::Ordering;

use warpscope_probes::rules::{Cost, Version};

use super::{Trial, levers};
use crate::engine::question::Question;
use crate::engine::ruling::By;
use crate::engine::verdict::{Fix, Outcome};
use crate::engine::versions::versions_of;

/// At most one way out for the framework and one for the package whose rule decided.
pub(super) fn of(trial: &Trial<'_>) -> Vec<Fix> {
    let question = trial.answer.question;
    let package = match trial.answer.ruling.by {
        By::Rule(rule) if rule.framework != question.framework => {
            question.config.get(&rule.framework).map(|version| (&*rule.framework, version))
        }
        _ => None,
    };
    let own = question.version.as_deref().map(|version| (question.framework.as_str(), version));
    let subjects = own.into_iter().chain(package);
    subjects.filter_map(|(id, now)| Ladder::new(trial, id, now)?.way_out()).collect()
}

/// The versions of one piece of software, ascending, seen from the one asked about.
struct Ladder<'t> {
    trial: &'t Trial<'t>,
    id: &'t str,
    versions: Vec<(Version, String)>,
    now: Version,
}

/// Versions that run, as a package index wants them, in words, and with what outcome.
struct Span {
    spec: String,
    words: String,
    then: Outcome,
}

impl<'t> Ladder<'t> {
    fn new(trial: &'t Trial<'t>, id: &'t str, now: &str) -> Option<Self> {
        let now: Version = now.parse().ok()?;
        let versions = versions_of(trial.answer.base, id).into_iter();
        let versions = versions.filter_map(|text| Some((text.parse().ok()?, text)));
        let versions = versions.filter(|one: &(Version, String)| one.0.compare(&now).is_some());
        Some(Self { trial, id, versions: versions.collect(), now })
    }

    fn way_out(&self) -> Option<Fix> {
        let newer: Vec<usize> = self.on_side(Ordering::Greater);
        let older: Vec<usize> = self.on_side(Ordering::Less);
        let span = self
            .open_ended(&newer)
            .or_else(|| newer.iter().rev().find_map(|at| self.around(*at)))
            .or_else(|| older.iter().rev().find_map(|at| self.around(*at)))?;
        let base = self.trial.answer.base;
        let framework = base.framework(self.id);
        let name = framework.map_or(self.id, |one| &one.name);
        let title = format!("{name} {}", span.words);
        let package = framework.and_then(|one| one.packages.first());
        let text = match package {
            Some(package) => format!("pip install '{package}{}'", span.spec),
            None => format!("take {title}"),
        };
        Some(Fix { cost: Cost::Build, title, text, then: Some(span.then) })
    }

    fn on_side(&self, side: Ordering) -> Vec<usize> {
        let there = |at: &usize| self.versions[*at].0.compare(&self.now) == Some(side);
        (0..self.versions.len()).filter(there).collect()
    }

    /// The first version from which on everything known runs.
    fn open_ended(&self, newer: &[usize]) -> Option<Span> {
        let steady = newer.iter().rev().map(|at| (*at, self.throughout(*at)));
        let steady: Vec<_> = steady.take_while(|one| one.1.is_some()).collect();
        let newest = steady.first()?.1?;
        let first = &self.versions[steady.last()?.0].1;
        let (spec, words) = (format!(">={first}"), format!("{first} or newer"));
        Some(Span { spec, words, then: newest })
    }

    /// One version that runs, with what follows it up to the next one the rules name.
    fn around(&self, at: usize) -> Option<Span> {
        let then = self.runs(&self.versions[at].1)?;
        let version = &self.versions[at].1;
        let next = self.versions.get(at + 1).filter(|_| self.throughout(at).is_some());
        // A span that holds the version there is would change nothing.
        let next = next.filter(|next| !self.is_between(at, &next.0));
        let (spec, words) = match next {
            Some((_, next)) => {
                (format!(">={version},<{next}"), format!("{version}, before {next}"))
            }
            None => (format!("=={version}"), version.clone()),
        };
        Some(Span { spec, words, then })
    }

    fn is_between(&self, at: usize, next: &Version) -> bool {
        self.versions[at].0.compare(&self.now) == Some(Ordering::Less)
            && next.compare(&self.now) == Some(Ordering::Greater)
    }

    /// How a version and those right after it run; none unless both do.
    fn throughout(&self, at: usize) -> Option<Outcome> {
        let then = self.runs(&self.versions[at].1)?;
        let after = format!("{}.0.0.1", self.versions[at].1);
        // A pre-release has nothing between itself and the next.
        if after.parse::<Version>().is_err() {
            return Some(then);
        }
        self.runs(&after)
    }

    fn runs(&self, version: &str) -> Option<Outcome> {
        let question = self.trial.answer.question;
        let changed = if self.id == question.framework {
            Question { version: Some(version.to_owned()), ..question.clone() }
        } else {
            levers::with(question, self.id, version)?
        };
        self.trial.changed(&changed, false)
    }
}
