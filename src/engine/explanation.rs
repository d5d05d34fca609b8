//! A decision in words: why, by which steps, on what evidence.

use std::collections::BTreeSet;

use warpscope_probes::rules::{Effect, Report, Rule, STAGES, Stage};

use super::answer::Answer;
use super::builds::{is_about_torch, unlisted_torch};
use super::composition::Weakened;
use super::decision::DecidedBy;
use super::driver::is_up_to_image;
use super::findings::{answers, stage_of};
use super::matching::RuleMatch;
use super::memory::{Memory, TooBig};
use super::verdict::{Evidence, Finding, Level, Outcome, Scope, StageAnswer, Step, StepKind};
use super::words::{Filler, missing};

/// Suffix of the evidence id of a user report, which is weaker than the rule it belongs to.
const REPORT: &str = ".report";

/// Explains an answer.
pub(super) struct Explanation<'s> {
    pub(super) answer: &'s Answer<'s>,
    pub(super) fill: &'s Filler<'s>,
}

impl Explanation<'_> {
    /// The rule whose message and fix belong to the verdict: the one that decided, or one that agrees.
    pub(super) fn remedy(&self) -> Option<&Rule> {
        remedy(self.answer)
    }

    pub(super) fn needs(&self) -> String {
        match (self.answer.decision.by, self.answer.decision.rule) {
            (DecidedBy::Size, _) => self.size(|size| &size.needs),
            (_, Some(rule)) => self.fill.text(&rule.needs),
            (_, None) => String::new(),
        }
    }

    /// What the model lacks, where that decided.
    fn decides_by_size(&self) -> Option<&TooBig> {
        let decides = matches!(self.answer.decision.by, DecidedBy::Size);
        self.answer.memory.lack().filter(|_| decides)
    }

    fn size(&self, text: fn(&TooBig) -> &String) -> String {
        self.decides_by_size().map(text).cloned().unwrap_or_default()
    }

    pub(super) fn reason(&self) -> String {
        let (reason, outcome) = (self.own_reason(), self.answer.decision.outcome);
        match &self.answer.memory {
            Memory::Unknown if outcome == Outcome::NoObstacle => {
                format!("what this model takes here is not worked out; apart from memory, {reason}")
            }
            Memory::Enough(Some(told)) if outcome.runs() => {
                format!("{reason}; others hold memory of this GPU: it starts with {told}")
            }
            _ => reason,
        }
    }

    /// Why, whatever is said of memory besides.
    fn own_reason(&self) -> String {
        let decision = &self.answer.decision;
        match decision.by {
            DecidedBy::Whole(found) => found.detail.clone(),
            DecidedBy::Part(part) => self.reason_of_part(part),
            DecidedBy::Size => self.size(|size| &size.reason),
            DecidedBy::Rule(rule) => self.reason_of_rule(rule),
            DecidedBy::Parts => self.with_doubt(self.reason_of_parts()),
            DecidedBy::Nothing => self.why_unknown(),
        }
    }

    /// What rules for the parts say, and what nobody says.
    fn reason_of_parts(&self) -> String {
        let Some(composition) = &self.answer.decision.composition else { return String::new() };
        let complete = composition.is_complete();
        let silent = &composition.silent;
        let near = composition.near.iter().map(|(rule, weakened)| {
            format!("{} ({})", self.fill.text(&rule.reason), self.weakened(weakened))
        });
        let said = composition.parts.iter().map(|rule| self.fill.text(&rule.reason));
        let mut said: Vec<String> = said.chain(near.take(1)).collect();
        said.dedup();
        said.truncate(3);
        match () {
            () if complete => said.join("; "),
            () if silent.is_empty() => format!("nothing is known against it: {}", said.join("; ")),
            () => format!(
                "nothing is known against it, and no rule covers {}: {}",
                silent.join(" or "),
                said.join("; ")
            ),
        }
    }

    fn weakened(&self, weakened: &Weakened) -> String {
        match weakened {
            Weakened::OnKin(sm) => format!("seen on {sm}, whose code this GPU loads"),
            Weakened::LeftOpen(keys) => format!("for some values of {}", keys.join(" and ")),
        }
    }

    /// Which stages were decided, by what, and which are silent.
    pub(super) fn stages(&self) -> Vec<StageAnswer> {
        let decision = &self.answer.decision;
        let silent_in = |stage: Stage| {
            let composition = decision.composition.iter().filter(move |_| stage == Stage::Kernels);
            composition.flat_map(|one| one.silent.clone())
        };
        let works = decision.outcome == Outcome::Works || decision.is_memory_open;
        let deciding = decision.rule.filter(|_| works);
        let answer = |(stage, words): &(Stage, &str)| {
            let rules = self.speaking().filter(|one| one.rule.stage == *stage);
            let mut by: Vec<String> = rules.map(|one| one.rule.id.to_string()).collect();
            let found = self.answer.findings.standing();
            let found =
                found.filter(|one| stage_of(one, self.answer.matches.rules()) == Some(*stage));
            by.extend(found.map(|one| one.evidence.id.clone()));
            if by.is_empty() && *stage != Stage::Memory {
                by.extend(deciding.map(|rule| rule.id.to_string()));
            }
            let size = self.decides_by_size().filter(|_| *stage == Stage::Memory);
            by.extend(size.map(|size| size.evidence().id));
            by.dedup();
            let silent: Vec<String> = silent_in(*stage).collect();
            let decided = !by.is_empty() && silent.is_empty();
            StageAnswer { stage: (*words).to_owned(), decided, by, silent }
        };
        STAGES.iter().map(answer).collect()
    }

    fn reason_of_rule(&self, rule: &Rule) -> String {
        let mut reason = self.fill.text(&rule.reason);
        if let Some(route) = &rule.fallback {
            reason = format!("{reason}; falls back to {}", self.fill.text(route));
        }
        if let Some(found) = self.answer.decision.confirmed {
            reason = match found.level {
                Level::Published => format!("{reason}; {}", found.detail),
                _ => format!("{reason}; confirmed on this machine: {}", found.detail),
            };
        }
        self.with_doubt(reason)
    }

    /// The same with what speaks against it, or might.
    fn with_doubt(&self, mut reason: String) -> String {
        let settled = self.answer.decision.outcome.is_bad();
        if let Some(one) = self.refuted().next().filter(|_| !settled) {
            reason = format!("{reason}. {}", self.both_sides(one));
        }
        let doubtful = |one: &RuleMatch<'_>| one.rule.effect.is_bad() && !settled;
        if let Some(doubt) = self.answer.matches.undecided().find(doubtful) {
            let needed = self.missing(doubt.rule).join(" and ");
            let doubt = self.fill.text(&doubt.rule.reason);
            reason = format!("{reason}. Still open without the {needed}: {doubt}");
        }
        reason
    }

    /// What was found, and the rule it contradicts where none agrees with it.
    fn reason_of_part(&self, part: &Finding) -> String {
        let replaced =
            |one: &RuleMatch<'_>| answers(part, one.rule) && one.outcome() != Outcome::Unknown;
        let agrees =
            |one: &RuleMatch<'_>| one.outcome().is_bad() == self.answer.decision.outcome.is_bad();
        let Evidence { detail, level, .. } = &part.evidence;
        if *level == Level::Rule || part.repair.is_some() {
            return detail.clone();
        }
        let mut rules = self.answer.matches.applying().filter(replaced).peekable();
        match rules.peek().copied() {
            Some(first) if !rules.any(|one| agrees(&one)) => {
                format!(
                    "{detail}. A documented rule disagrees: {}",
                    self.fill.text(&first.rule.reason)
                )
            }
            _ => detail.clone(),
        }
    }

    /// What would decide it, where no rule does.
    fn why_unknown(&self) -> String {
        if self.answer.facts.sm.is_none() {
            return "the compute capability of this GPU is unknown, and every rule depends on it"
                .to_owned();
        }
        let good = |one: &&Finding| !one.evidence.outcome.is_bad();
        if let Some(one) = self.answer.findings.standing().find(good) {
            let against = self.refuted().next().map(|one| format!(". {}", self.both_sides(one)));
            return format!(
                "{}, but no rule covers the configuration as a whole{}",
                as_clause(one),
                against.unwrap_or_default()
            );
        }
        let needed: BTreeSet<String> =
            self.answer.matches.undecided().flat_map(|one| self.missing(one.rule)).collect();
        let uncovered = self.uncovered();
        if needed.is_empty() || uncovered.is_some() {
            return format!(
                "no rule covers {}; inspecting the installed binaries or running it here would settle it",
                uncovered.as_deref().unwrap_or("this combination")
            );
        }
        let needed: Vec<_> = needed.into_iter().collect();
        format!("the rules need the {} to decide", needed.join(" and the "))
    }

    /// What no rule covers, where rules say that the rest works and none that does not know enough might cover it.
    fn uncovered(&self) -> Option<String> {
        let might = self.answer.matches.undecided().any(|one| !one.rule.effect.is_bad());
        let composition = self.answer.decision.composition.as_ref().filter(|_| !might)?;
        let open = &composition.open;
        (!composition.parts.is_empty() && !open.is_empty()).then(|| open.join(" or "))
    }

    /// A rule, and the finding that contradicts it.
    fn both_sides(&self, one: RuleMatch<'_>) -> String {
        let found = self.answer.findings.about(one.rule).map_or("", |found| &found.detail);
        format!(
            "A documented rule disagrees ({}), but on this machine: {found}",
            self.fill.text(&one.rule.reason)
        )
    }

    fn refuted(&self) -> impl Iterator<Item = RuleMatch<'_>> {
        self.answer.matches.applying().filter(|one| one.refuted && one.rule.effect.is_bad())
    }

    fn missing(&self, rule: &Rule) -> Vec<String> {
        let Answer { version, matches, facts, base, question, .. } = self.answer;
        if is_up_to_image(question, rule) {
            return vec![
                "libraries of the image that let its CUDA run by an older driver".to_owned(),
            ];
        }
        let mut missing = missing(rule, *version, matches.settings(), facts);
        if is_about_torch(base, rule) {
            let version = question.version.as_deref();
            let build = unlisted_torch(base, &question.framework, version, matches.settings());
            missing.extend(build.map(|build| {
                format!("code in torch {build}, a build that is in no list of PyTorch's releases,")
            }));
        }
        missing
    }

    /// Whether a rule has a say in the answer: that a part works has none where something else decides.
    fn counts(&self, one: &RuleMatch<'_>) -> bool {
        let part = one.own && !one.whole && one.rule.effect == Effect::Works;
        !part || matches!(self.answer.decision.by, DecidedBy::Parts)
    }

    /// Rules that apply and have a say.
    fn speaking(&self) -> impl Iterator<Item = RuleMatch<'_>> {
        self.answer.matches.applying().filter(|one| self.counts(one))
    }

    fn decides(&self, rule: &Rule) -> bool {
        self.answer.decision.rule.is_some_and(|deciding| deciding.id == rule.id)
    }

    /// The deciding evidence first, then the strongest.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let mut rules: Vec<&Rule> = Vec::new();
        for one in self.speaking().filter(|one| one.rule.effect != Effect::Resolves) {
            if !rules.iter().any(|rule| rule.id == one.rule.id) {
                rules.push(one.rule);
            }
        }
        if self.answer.decision.outcome == Outcome::NoObstacle {
            let near = self.answer.decision.composition.iter().flat_map(|one| &one.near);
            rules.extend(near.map(|one| one.0));
        }
        rules.sort_by_key(|rule| !self.decides(rule));
        let ours = rules.into_iter().flat_map(|rule| {
            let reports = rule.reports.iter().map(|report| report_of(report, rule));
            std::iter::once(claim(rule, self.fill)).chain(reports)
        });
        let found = self.answer.findings.all().map(|one| one.evidence.clone());
        let size = self.decides_by_size().map(TooBig::evidence);
        let mut evidence: Vec<_> = size.into_iter().chain(found).chain(ours).collect();
        let first = self.first();
        evidence.sort_by_key(|one| {
            (first.as_ref() != Some(&(&*one.id, one.level)), std::cmp::Reverse(one.level))
        });
        evidence
    }

    /// Id and level of the deciding evidence.
    fn first(&self) -> Option<(&str, Level)> {
        let decision = &self.answer.decision;
        let found = match decision.by {
            DecidedBy::Rule(rule) if decision.confirmed.is_none() => {
                return Some((&*rule.id, Level::Rule));
            }
            DecidedBy::Rule(_) => decision.confirmed,
            DecidedBy::Whole(found) => Some(found),
            DecidedBy::Part(part) => Some(&part.evidence),
            DecidedBy::Parts => {
                let composition = decision.composition.as_ref()?;
                let near = composition.near.iter().map(|one| one.0);
                let mut rules = composition.parts.iter().copied().chain(near);
                return rules
                    .find(|rule| rule.effect == Effect::Works)
                    .map(|rule| (&*rule.id, Level::Rule));
            }
            DecidedBy::Size | DecidedBy::Nothing => None,
        };
        found.map(|one| (&*one.id, one.level))
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        let matches = &self.answer.matches;
        let fallbacks = matches.fallbacks.iter().map(|one| {
            let reason = self.fill.text(&one.rule.reason);
            let text = format!("{reason}; continues with {}", one.rule.route);
            step(one.rule, StepKind::Rerouted, text)
        });
        let rules = matches.matches.iter().filter(|one| self.counts(one));
        let rules = rules.map(|one| (one.rule.stage, self.step_of(one)));
        let parts = self.answer.findings.standing().filter_map(|one| self.step_of_part(one));
        let size = self.decides_by_size();
        let size = size.map(|size| (Stage::Memory, own_step(Stage::Memory, size.reason.clone())));
        let mut staged: Vec<(Stage, Step)> = parts.chain(rules).chain(size).collect();
        staged.sort_by_key(|one| one.0);
        let whole = match self.answer.decision.by {
            DecidedBy::Whole(found) => Some(Step {
                stage: "this machine".to_owned(),
                kind: StepKind::Decides,
                rule: Some(found.id.clone()),
                text: found.detail.clone(),
            }),
            _ => None,
        };
        fallbacks.chain(staged.into_iter().map(|one| one.1)).chain(whole).collect()
    }

    fn step_of(&self, one: &RuleMatch<'_>) -> Step {
        let text = self.fill.text(&one.rule.reason);
        if one.refuted {
            let text = format!("{text}; disproved on this machine");
            return step(one.rule, StepKind::Passes, text);
        }
        if !one.applies {
            let needed = self.missing(one.rule).join(" and ");
            return step(
                one.rule,
                StepKind::Undecided,
                format!("undecided without the {needed}: {text}"),
            );
        }
        let kind = match self.answer.decision.by {
            DecidedBy::Rule(rule) if rule.id == one.rule.id => StepKind::Decides,
            _ if one.rule.effect.is_bad() => StepKind::Stops,
            _ => StepKind::Passes,
        };
        step(one.rule, kind, text)
    }

    fn step_of_part(&self, part: &Finding) -> Option<(Stage, Step)> {
        let stage = stage_of(part, self.answer.matches.rules())?;
        let kind = match self.answer.decision.by {
            DecidedBy::Part(deciding) if std::ptr::eq(deciding, part) => StepKind::Decides,
            _ if part.evidence.outcome.is_bad() => StepKind::Stops,
            _ => StepKind::Passes,
        };
        let rule = Some(part.evidence.id.clone());
        let text = match part.evidence.level {
            Level::Published => part.evidence.detail.clone(),
            _ => format!("on this machine: {}", part.evidence.detail),
        };
        Some((stage, Step { stage: stage.words().to_owned(), kind, rule, text }))
    }
}

/// The rule whose message and fix belong to an answer.
pub(super) fn remedy<'a>(answer: &Answer<'a>) -> Option<&'a Rule> {
    let decision = &answer.decision;
    let agrees = |rule: &&Rule| decision.outcome.is_bad() == rule.effect.is_bad();
    let own = !matches!(decision.by, DecidedBy::Size) && !decision.is_memory_open;
    decision.rule.filter(agrees).filter(|_| own && decision.outcome != Outcome::Works)
}

/// A finding about a part, to begin a sentence with.
fn as_clause(one: &Finding) -> String {
    match one.settles {
        Scope::Stage(Stage::Kernels) => {
            format!("the binaries contain code for this GPU ({})", one.evidence.detail)
        }
        _ => one.evidence.detail.clone(),
    }
}

fn step(rule: &Rule, kind: StepKind, text: String) -> Step {
    Step { stage: rule.stage.words().to_owned(), kind, rule: Some(rule.id.to_string()), text }
}

fn own_step(stage: Stage, text: String) -> Step {
    Step { stage: stage.words().to_owned(), kind: StepKind::Decides, rule: None, text }
}

fn claim(rule: &Rule, fill: &Filler<'_>) -> Evidence {
    let user = if rule.user { " (your rule)" } else { "" };
    Evidence {
        level: Level::Rule,
        outcome: rule.effect.into(),
        id: rule.id.to_string(),
        detail: format!("{}{user}", fill.text(&rule.reason)),
        source: rule.source.to_string(),
        retrieved: rule.retrieved.to_string(),
    }
}

fn report_of(report: &Report, rule: &Rule) -> Evidence {
    Evidence {
        level: Level::Rule,
        outcome: report.outcome.into(),
        id: format!("{}{REPORT}", rule.id),
        detail: report.detail.to_string(),
        source: report.source.to_string(),
        retrieved: report.retrieved.to_string(),
    }
}
