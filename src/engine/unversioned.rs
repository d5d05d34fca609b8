//! A question that names no release of its framework: it is asked of the newest, and of those before it as far as they agree.

use warpscope_probes::rules::RuleBase;

use super::evaluate::cell_of;
use super::matching::Plan;
use super::question::Question;
use super::target::Target;
use super::verdict::{Cell, Finding, Outcome};
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
pub(super) struct Chosen<'p, 'a> {
    pub(super) plan: &'p Plan<'a>,
    pub(super) cell: Cell,
    /// `None` for the question as it was put.
    span: Option<Span<'p>>,
}

impl<'p, 'a> Chosen<'p, 'a> {
    /// The newest release; where nothing is known of it, the newest that is known to run. The question as it was put where it names
    /// a release, or none decides.
    pub(super) fn new(
        plans: &'p [Plan<'a>],
        target: &'p Target,
        extra: impl Iterator<Item = &'p Finding> + Clone,
    ) -> Self {
        let cell = |plan: &'p Plan<'a>| cell_of(plan, target, extra.clone());
        let releases = &plans[1..];
        let cells: Vec<Cell> = releases.iter().map(cell).collect();
        let newest = cells.len().wrapping_sub(1);
        let known = cells.iter().rposition(|one| one.outcome != Outcome::Unknown);
        let at = match known {
            Some(at) if at == newest => Some(at),
            _ => cells.iter().rposition(|one| one.outcome.runs()),
        };
        let Some(at) = at else {
            let cell = cell(&plans[0]);
            return Self { plan: &plans[0], cell, span: None };
        };
        let outcome = cells[at].outcome;
        let since =
            cells[..at].iter().rposition(|one| one.outcome != outcome).map_or(0, |one| one + 1);
        let otherwise = |one: Outcome| one != Outcome::Unknown && one.is_bad() != outcome.is_bad();
        let disputed = cells[at].disputed || cells.iter().any(|one| otherwise(one.outcome));
        let version = |at: usize| releases[at].question.version.as_deref().unwrap_or_default();
        Self {
            plan: &releases[at],
            cell: Cell { disputed, ..cells[at] },
            span: Some(Span {
                first: version(since),
                last: version(at),
                is_oldest: since == 0,
                is_newest: at == newest,
            }),
        }
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
