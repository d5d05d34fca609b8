//! Rules and evidence into one verdict.
//!
//! Stages follow the order of a start-up. A rule with a fallback changes the configuration, and matching starts again. The worst
//! outcome decides, the earliest stage first, except that a rule named in another's `overrides` does not count where the other
//! applies. Specificity is not weighed: a well-qualified "works" about one thing would hide a plain "fails" about another.
//!
//! Only rules of the framework asked about can say that the whole works: one that covers everything asked, or several that cover its
//! parts ([`super::composition`]). Rules of its packages and of the model can only take that away.

use warpscope_probes::rules::RuleBase;

use super::age::as_of;
use super::answer::Answer;
use super::confidence::doubts;
use super::decision::DecidedBy;
use super::device::Device;
use super::explanation::Explanation;
use super::fix::fixes;
use super::question::Question;
use super::target::Target;
use super::unversioned::{Chosen, by_release, plans};
use super::verdict::{Confidence, Finding, Verdict};
use super::words::{Filler, has};

/// Answers one question for one device. `extra` is what inspection and live probes found about this very question.
pub fn evaluate(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
) -> Verdict {
    answer(base, target, question, extra, |answer| {
        Verdict { fixes: fixes(answer), ..answer.verdict() }.with_first_fix()
    })
}

/// The answer without fixes, which cost most of it.
pub fn evaluate_without_fixes(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
) -> Verdict {
    answer(base, target, question, extra, |answer| answer.verdict())
}

fn answer(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
    verdict: impl FnOnce(&Answer<'_>) -> Verdict,
) -> Verdict {
    let questions = by_release(base, &target.without_own_platform(base, question));
    let plans = plans(base, &questions);
    let device = Device::new(base, target);
    let chosen = Chosen::new(&plans, &device, extra.iter());
    verdict(&chosen.answer).holding(&chosen).weighed()
}

impl Answer<'_> {
    /// Everything but the fixes.
    fn verdict(&self) -> Verdict {
        let (decision, question) = (&self.decision, self.question);
        let fill = Filler::new(self.target, question);
        let framework = self.base.framework(&question.framework);
        let explanation = Explanation { answer: self, fill: &fill };
        let symptom = explanation.remedy().and_then(|rule| rule.symptom.as_deref());
        Verdict {
            gpu: self.target.label.clone(),
            framework: framework.map_or(&question.framework, |one| &one.name).clone(),
            version: question.version.clone().unwrap_or_else(|| "any".to_owned()),
            origin: question.origin,
            config: question.words(),
            outcome: decision.outcome,
            level: decision.level,
            disputed: decision.disputed,
            confidence: None,
            doubts: doubts(self),
            reason: explanation.reason(),
            needs: explanation.needs(),
            has: self.has(),
            symptom: symptom.map(|text| fill.text(text)),
            fix: None,
            fixes: Vec::new(),
            as_of: as_of(self),
            steps: explanation.steps(),
            stages: explanation.stages(),
            evidence: explanation.evidence(),
        }
    }

    fn has(&self) -> String {
        let has = has(self.base, self.device, self.decision.rule, self.matches.settings());
        match (self.decision.by, self.memory.lack()) {
            (DecidedBy::Size, Some(size)) if !has.ends_with(" memory") => {
                format!("{has}, {}", size.has)
            }
            _ => has,
        }
    }
}

impl Verdict {
    fn with_first_fix(mut self) -> Self {
        self.fix = self.fixes.first().map(|fix| fix.text.clone());
        self
    }

    /// Says for which releases it holds, where the question named none.
    fn holding(mut self, chosen: &Chosen<'_>) -> Self {
        if let Some(holds) = chosen.holds() {
            self.reason = format!("{holds}: {}", self.reason);
            self.disputed = chosen.disputed;
        }
        self
    }

    /// Says how sure it is, all doubts known.
    fn weighed(mut self) -> Self {
        let is_sure = self.doubts.is_empty() && !self.disputed;
        self.confidence = Confidence::of(self.outcome, is_sure);
        self
    }
}

#[cfg(test)]
mod tests;
