//! A question that names no release of its framework: it is asked of the newest, and of those before it as far as they agree.

use warpscope_probes::rules::RuleBase;

use super::evaluate::cell_of;
use super::matching::Plan;
use super::question::Question;
use super::target::Target;
use super::verdict::{Finding, Outcome};
use super::versions::versions_of;

/// The question with a release put in.
pub(super) struct Chosen {
    pub(super) question: Question,
    /// For which releases the answer holds.
    pub(super) holds: String,
    /// Whether others run where it fails, or fail where it runs.
    pub(super) disputed: bool,
}

/// The newest release; where nothing is known of it, the newest that is known to run. `None` where the question names one, or no
/// release decides.
pub(super) fn choose(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
) -> Option<Chosen> {
    if question.version.is_some() {
        return None;
    }
    let asked: Vec<(Question, Outcome)> = versions_of(base, &question.framework)
        .into_iter()
        .map(|version| {
            let question = Question { version: Some(version), ..question.clone() };
            let outcome = cell_of(&Plan::new(base, &question), target, extra.iter()).outcome;
            (question, outcome)
        })
        .collect();
    let newest = asked.len().checked_sub(1)?;
    let at = match asked[newest].1 {
        Outcome::Unknown => asked.iter().rposition(|one| one.1.runs())?,
        _ => newest,
    };
    let outcome = asked[at].1;
    let since = asked[..at].iter().rposition(|one| one.1 != outcome).map_or(0, |before| before + 1);
    let version = |at: usize| asked[at].0.version.as_deref().unwrap_or_default();
    let holds = match (since, at) {
        (0, _) if at == newest => "in every release the rules know".to_owned(),
        (0, _) => format!("in every release up to {}", version(at)),
        _ if since == at => format!("in {}", version(at)),
        _ if at == newest => format!("from {} on", version(since)),
        _ => format!("from {} to {}", version(since), version(at)),
    };
    let otherwise = |one: Outcome| one != Outcome::Unknown && one.is_bad() != outcome.is_bad();
    let disputed = asked.iter().any(|one| otherwise(one.1));
    Some(Chosen { question: asked[at].0.clone(), holds, disputed })
}
