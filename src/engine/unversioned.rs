//! A question that names no release of its framework: it is asked of the newest, and of those before it as far as they agree.

use warpscope_probes::rules::RuleBase;

use super::answer::Answer;
use super::candidates::Plan;
use super::confidence::is_doubted;
use super::decision::Decision;
use super::device::Device;
use super::question::Question;
use super::verdict::{Cell, Confidence, Finding, Outcome};
use super::versions::versions_of;

/// A question as it was put and, where it names no release, for each that the rules distinguish, ascending.
pub(super) fn by_release(base: &RuleBase, question: &Question) -> Vec<Question> {
    let versions = match question.version {
        Some(_) => Vec::new(),
        None => versions_of(base, &question.framework),
    };
    let named = versions.into_iter().map(|one| Question { version: Some(one), ..question.clone() });
    std::iter::once(question.clone()).chain(named).collect()
}

/// Questions prepared for any number of devices.
pub(super) fn plans<'a>(base: &'a RuleBase, questions: &'a [Question]) -> Vec<Plan<'a>> {
    questions.iter().map(|one| Plan::new(base, one)).collect()
}

/// Neighbouring releases with one answer.
#[derive(Clone, Copy)]
struct Span<'p> {
    first: &'p str,
    last: &'p str,
    /// Whether the first is the oldest, and the last the newest, that the rules distinguish.
    is_oldest: bool,
    is_newest: bool,
}

/// The release that answers for one device.
pub(super) struct Chosen<'p> {
    pub(super) answer: Answer<'p>,
    /// Whether the evidence, or another release, says otherwise.
    pub(super) disputed: bool,
    /// `None` for the question as it was put.
    span: Option<Span<'p>>,
}

impl<'p> Chosen<'p> {
    /// The newest release; where nothing is known of it, the newest that is known to run. The question as it was put where it names
    /// a release, or none decides.
    pub(super) fn new(
        plans: &'p [Plan<'_>],
        device: &'p Device<'p>,
        extra: impl Iterator<Item = &'p Finding> + Clone,
    ) -> Self {
        let answer = |plan| Answer::new(plan, device, extra.clone());
        let releases = &plans[1..];
        let mut answers: Vec<Answer<'p>> = releases.iter().map(answer).collect();
        let outcomes: Vec<Outcome> = answers.iter().map(|one| one.decision.outcome).collect();
        let newest = outcomes.len().saturating_sub(1);
        let at = match outcomes.last() {
            Some(outcome) if *outcome != Outcome::Unknown => Some(newest),
            _ => outcomes.iter().rposition(|one| one.runs()),
        };
        let Some(at) = at else {
            let answer = answer(&plans[0]);
            return Self { disputed: answer.decision.disputed, answer, span: None };
        };
        let (answer, outcome) = (answers.swap_remove(at), outcomes[at]);
        let since = outcomes[..at].iter().rposition(|one| *one != outcome).map_or(0, |one| one + 1);
        let otherwise =
            |one: &Outcome| *one != Outcome::Unknown && one.is_bad() != outcome.is_bad();
        let version = |at: usize| releases[at].question.version.as_deref().unwrap_or_default();
        Self {
            disputed: answer.decision.disputed || outcomes.iter().any(otherwise),
            answer,
            span: Some(Span {
                first: version(since),
                last: version(at),
                is_oldest: since == 0,
                is_newest: at == newest,
            }),
        }
    }

    /// The outcome, and how sure it is.
    pub(super) fn cell(&self) -> Cell {
        let Decision { outcome, level, .. } = self.answer.decision;
        let disputed = self.disputed;
        let is_sure = !disputed && !is_doubted(&self.answer);
        Cell { outcome, level, disputed, confidence: Confidence::of(outcome, is_sure) }
    }

    /// For which releases the answer holds, where the question named none.
    pub(super) fn holds(&self) -> Option<String> {
        let Span { first, last, is_oldest, is_newest } = self.span?;
        Some(match (is_oldest, is_newest) {
            (true, true) => "in every release the rules know".to_owned(),
            (true, false) => format!("in every release up to {last}"),
            (false, _) if first == last => format!("in {last}"),
            (false, true) => format!("from {first} on"),
            (false, false) => format!("from {first} to {last}"),
        })
    }
}
