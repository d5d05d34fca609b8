//! Candidates weighed against each other.

use std::collections::BTreeMap;

use warpscope_probes::errors::Cause;

use super::condition::Context;
use super::fact::{Facts, Origin};
use super::matching::Hit;
use super::signatures::{Owner, Signatures};
use super::text_facts;

/// A cause the text could have.
pub(super) struct Candidate {
    pub(super) cause: &'static Cause,
    pub(super) score: f64,
    /// Lines of the digest that its expressions matched.
    pub(super) lines: Vec<usize>,
    /// Facts of the text, the machine and its own groups.
    pub(super) facts: Facts,
    /// What to do, of which the text says that it is for such a case.
    pub(super) fixes: Vec<&'static str>,
    /// Whether nothing but single words speak for it, as any text may have.
    pub(super) is_weak: bool,
    /// Whether all it asks for is known and true.
    pub(super) is_decided: bool,
    /// Why it cannot be.
    pub(super) contradiction: Option<String>,
    /// What speaks against it.
    pub(super) against: Vec<String>,
}

/// What a true condition of a cause is worth: enough to stand before a look-alike of which nothing is known.
const DECIDED: f64 = 1.0;

/// What a live probe that fails is worth, or takes away where it works.
const PROBED: f64 = 3.0;

/// The name of the fact that says whether a live probe works.
pub(super) fn probed(probe: &str) -> String {
    format!("probe_{}", probe.replace('.', "_"))
}

/// What a circumstance is worth beside an error.
const CIRCUMSTANCE: f64 = 1.0;

/// Every cause with a match, weighed. A circumstance makes no candidate: a healthy machine has it, too.
pub(super) fn candidates(hits: &[Hit], text: &str, facts: &Facts) -> Vec<Candidate> {
    let signatures = Signatures::builtin();
    let mut by_cause: BTreeMap<usize, (Vec<usize>, Facts)> = BTreeMap::new();
    let is_strong = |at| hits.iter().any(|hit| hit.owner == Owner::Cause(at) && !hit.is_weak);
    for hit in hits {
        let Owner::Cause(at) = hit.owner else { continue };
        let (lines, own) = by_cause.entry(at).or_default();
        lines.push(hit.at);
        for (name, value) in &hit.groups {
            own.state(name, value, Origin::Text);
        }
    }
    let words = Context::new(text, facts);
    let weighed = |(at, (lines, mut own)): (usize, (Vec<usize>, Facts))| {
        own.join(facts);
        text_facts::derive(&mut own);
        let mut candidate = weigh(&signatures.base.causes[at], lines, own, &words);
        if hits.iter().any(|hit| hit.owner == Owner::Circumstance(at)) {
            candidate.score += CIRCUMSTANCE;
        }
        candidate.is_weak = !is_strong(at);
        candidate
    };
    by_cause.into_iter().map(weighed).collect()
}

fn weigh(cause: &'static Cause, lines: Vec<usize>, facts: Facts, words: &Context) -> Candidate {
    let context = words.with(&facts);
    let mut score = cause.weight;
    let mut against = Vec::new();
    let mut contradiction = None;
    let mut is_decided = !cause.when.is_empty();
    for condition in &cause.when {
        match context.holds(condition) {
            Some(true) => score += DECIDED,
            Some(false) => contradiction = contradiction.or_else(|| Some(context.told(condition))),
            None => is_decided = false,
        }
    }
    for (condition, worth) in &cause.more {
        if context.holds(condition) == Some(true) {
            score += worth;
        }
    }
    for (condition, worth) in &cause.less {
        if context.holds(condition) == Some(true) {
            score -= worth;
            against.push(context.told(condition));
        }
    }
    for probe in &cause.probe {
        match facts.number(&probed(probe)) {
            Some(0.0) => {
                score += PROBED;
                is_decided = true;
            }
            Some(_) => {
                score -= PROBED;
                against.push(format!("the live probe {probe} works here"));
            }
            None => {}
        }
    }
    is_decided |= is_certain(cause, &context);
    is_decided &= contradiction.is_none();
    let fixes = fixes(cause, &context);
    let is_weak = false;
    Candidate { cause, score, lines, facts, fixes, is_weak, is_decided, contradiction, against }
}

/// The fixes of a cause. One for some programs only begins with the condition it needs: `/ollama/ COMMAND`.
fn fixes(cause: &'static Cause, context: &Context<'_>) -> Vec<&'static str> {
    let told = |fix: &'static String| match fix.split_once("/ ") {
        Some((condition, command)) if condition.starts_with(['/', '!']) => {
            let holds = context.holds(&format!("{condition}/")) == Some(true);
            holds.then_some(command)
        }
        _ => Some(fix.as_str()),
    };
    cause.fix.iter().filter_map(told).collect()
}

/// Whether a cause has checks, and all are known and true.
fn is_certain(cause: &Cause, context: &Context<'_>) -> bool {
    let mut checks = cause.check.iter();
    !cause.check.is_empty() && checks.all(|check| context.holds(check) == Some(true))
}

/// Causes whose checks are all known and true.
pub(super) fn certain(facts: &Facts) -> Vec<Candidate> {
    let context = Context::new("", facts);
    let candidate = |cause: &'static Cause| Candidate {
        cause,
        score: cause.weight,
        lines: Vec::new(),
        facts: facts.clone(),
        fixes: fixes(cause, &context),
        is_weak: false,
        is_decided: true,
        contradiction: None,
        against: Vec::new(),
    };
    Signatures::builtin()
        .base
        .causes
        .iter()
        .filter(|cause| is_certain(cause, &context))
        .map(candidate)
        .collect()
}

/// Candidates that share a line, and so explain the same failure; each group by falling score.
pub(super) fn groups(candidates: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut groups: Vec<Vec<Candidate>> = Vec::new();
    for candidate in candidates {
        let shares = |group: &Vec<Candidate>| {
            group.iter().any(|other| other.lines.iter().any(|line| candidate.lines.contains(line)))
        };
        let (mut joined, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
        groups = rest;
        let mut group: Vec<Candidate> = joined.drain(..).flatten().collect();
        group.push(candidate);
        groups.push(group);
    }
    for group in &mut groups {
        group.sort_by(|one, other| other.rank().total_cmp(&one.rank()));
    }
    groups
}

impl Candidate {
    /// The score; below everything else where something contradicts.
    pub(super) fn rank(&self) -> f64 {
        if self.contradiction.is_some() { self.score - 1000.0 } else { self.score }
    }

    pub(super) fn first_line(&self) -> usize {
        self.lines.first().copied().unwrap_or_default()
    }
}
