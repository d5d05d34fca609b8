//! One setting changed, of those the framework lets one change.

use warpscope_probes::rules::{Framework, Kind, Lever, kind_of};

use super::{Trial, launch};
use crate::engine::question::Question;
use crate::engine::ruling::severity;
use crate::engine::verdict::Fix;
use crate::engine::words::Filler;

/// For each lever the first of its best values.
pub(super) fn of(trial: &Trial<'_>) -> Vec<Fix> {
    let question = trial.answer.question;
    let Some(framework) = trial.answer.base.framework(&question.framework) else {
        return Vec::new();
    };
    framework.levers.iter().filter_map(|lever| best(trial, framework, lever)).collect()
}

fn best(trial: &Trial<'_>, framework: &Framework, lever: &Lever) -> Option<Fix> {
    let question = trial.answer.question;
    let now = question.config.get(&lever.key);
    let others = lever.values.iter().filter(|value| now != Some(value.as_str()));
    let tried = others.filter_map(|value| {
        let changed = with(question, &lever.key, value)?;
        let same_binaries = kind_of(&lever.key) != Ok(Kind::Package) && lever.key != "wheel";
        Some((trial.changed(&changed, same_binaries)?, value, changed))
    });
    let (then, value, changed) = tried.min_by_key(|one| severity(one.0))?;
    let title = lever.say.replace("{value}", launch::word(framework, &lever.key, value));
    let fill = Filler::new(trial.answer.target, &changed);
    let text = framework.launch.as_ref().map(|one| launch::text(one, &changed, &fill));
    Some(Fix {
        cost: lever.cost,
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
