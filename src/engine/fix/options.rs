//! One option changed, of those the framework offers.

use warpscope_probes::rules::{Framework, Kind, Lever, kind_of};

use super::{Attempt, launch};
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
    let others = option.values.iter().filter(|value| now != Some(value.as_str()));
    let tried = others.filter_map(|value| {
        let changed = with(question, &option.key, value)?;
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
    // Weights of another format are other files, of unknown size.
    if key == "quantization" {
        changed.weight_bytes = None;
    }
    Some(changed)
}
