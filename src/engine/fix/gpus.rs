//! More GPUs of the same kind, where a model does not fit on those there are.

use warpscope_probes::rules::Cost;

use super::{Attempt, start_command};
use crate::engine::decision::DecidedBy;
use crate::engine::memory::smallest_split;
use crate::engine::plan::Framework;
use crate::engine::question::Question;
use crate::engine::target::Target;
use crate::engine::verdict::Fix;

/// Numbers of GPUs that machines have.
const COUNTS: &[u32] = &[2, 4, 8];

/// Another split, or the fewest such GPUs it runs on.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let (target, asked) = (attempt.answer.target, attempt.answer.question);
    if !matches!(attempt.answer.decision.by, DecidedBy::Size) {
        return None;
    }
    let framework = Framework::find(&asked.framework)?;
    let question = Question { config: asked.config.without(&["tp", "pp"]), ..asked.clone() };
    let here = target.equals.max(1);
    let first = if question.is_same(asked) { here + 1 } else { here };
    let counts = std::iter::once(here).chain(COUNTS.iter().copied().filter(|count| *count > here));
    let (group, then) = counts
        .filter(|count| *count >= first)
        .map(|count| Target { equals: count, ..target.clone() })
        .find_map(|group| Some((attempt.beside(&question, &group)?, group)))
        .map(|(then, group)| (group, then))?;
    let split = smallest_split(&question, &group).unwrap_or_default();
    let flags = framework.words.split(split);
    let title = match group.equals {
        1 => "one GPU".to_owned(),
        count => format!("{count} such GPUs"),
    };
    let text = match start_command(attempt.answer.base, target, &question) {
        Some(command) if flags.is_empty() => command,
        Some(command) => format!("{command} {flags}"),
        None => title.clone(),
    };
    let cost = if group.equals > here { Cost::Hardware } else { Cost::Flag };
    Some(Fix { cost, title, text, then: Some(then) })
}
