//! One option changed, of those the framework offers.

use std::sync::Arc;

use warpscope_probes::rules::{Framework, Kind, Lever, kind_of};

use super::{Attempt, launch};
use crate::engine::decision::DecidedBy;
use crate::engine::plan::{is_packed_on_loading, requantized};
use crate::engine::question::Question;
use crate::engine::verdict::Fix;
use crate::engine::words::Filler;

/// For each option the first of its best values.
pub(super) fn of(attempt: &Attempt<'_>) -> Vec<Fix> {
    let question = attempt.answer.question;
    let Some(framework) = attempt.answer.base.framework(&question.framework) else {
        return Vec::new();
    };
    framework.levers.iter().filter_map(|option| best(attempt, framework, option)).collect()
}

fn best(attempt: &Attempt<'_>, framework: &Framework, option: &Lever) -> Option<Fix> {
    let question = attempt.answer.question;
    let now = question.config.get(&option.key);
    let is_too_big = matches!(attempt.answer.decision.by, DecidedBy::Size);
    let others = option.values.iter().filter(|value| now != Some(value.as_str()));
    let tried = others.filter_map(|value| {
        let changed = with(question, &option.key, value)?;
        if is_too_big && option.key == "quantization" && changed.shape.is_none() {
            return None;
        }
        let same_binaries = kind_of(&option.key) != Ok(Kind::Package) && option.key != "wheel";
        Some((attempt.changed(&changed, same_binaries)?, value, changed))
    });
    let (then, value, changed) = tried.min_by_key(|one| one.0.severity())?;
    let title = option.say.replace("{value}", launch::word(framework, &option.key, value));
    let fill = Filler::new(attempt.answer.target, &changed);
    let text = framework.launch.as_ref().map(|one| launch::text(one, &changed, &fill));
    Some(Fix {
        cost: option.cost,
        text: text.unwrap_or_else(|| title.clone()),
        title,
        then: Some(then),
    })
}

/// The question with one setting changed.
pub(super) fn with(question: &Question, key: &str, value: &str) -> Option<Question> {
    let mut changed = question.clone();
    changed.config.set(key, value).ok()?;
    if key == "quantization" {
        changed.weight_bytes = None;
        let saved = question.shape.as_ref().is_some_and(|shape| shape.format.is_none());
        if !(saved && is_packed_on_loading(value)) {
            // Other files.
            changed.model = None;
            let packed = question.shape.as_ref().and_then(|shape| requantized(shape, value));
            changed.shape = packed.map(Arc::new);
        }
    }
    Some(changed)
}
