//! Other frameworks that run the same model on this GPU.

use warpscope_probes::rules::{ConfigRow, Cost, Framework};

use super::{Attempt, start_command};
use crate::engine::question::Question;
use crate::engine::verdict::{Fix, Outcome};

/// So many are named.
const NAMED: usize = 4;

/// Settings that belong to the model and go with it to another framework.
const OF_MODEL: &[&str] = &["checkpoint_dtype", "head_dim", "model_type"];

/// Frameworks that serve a model and take it as it is, where the one asked about does not; else those that take it in another format.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let (base, question) = (attempt.answer.base, attempt.answer.question);
    if !serves(base.framework(&question.framework)?) {
        return None;
    }
    let others = || base.frameworks().iter().filter(|one| one.id != question.framework);
    let of_format = |same: bool| -> Vec<(&Framework, Question)> {
        let runs = |one| runs(attempt, one, same);
        others().filter(|one| serves(one)).filter_map(runs).take(NAMED).collect()
    };
    let same = of_format(true);
    let (cost, found) =
        if same.is_empty() { (Cost::Format, of_format(false)) } else { (Cost::Build, same) };
    let names: Vec<&str> = found.iter().map(|one| one.0.name.as_str()).collect();
    let (_, first) = found.first()?;
    let title = match cost {
        Cost::Build => format!("another framework that runs it on this GPU: {}", names.join(", ")),
        _ => format!("another framework, with the model in another format: {}", names.join(", ")),
    };
    let text = start_command(base, attempt.answer.target, first)?;
    Some(Fix { cost, title, text, then: Some(Outcome::Works) })
}

/// Whether it is started with a model from a command line.
fn serves(framework: &Framework) -> bool {
    framework
        .launch
        .as_ref()
        .is_some_and(|launch| launch.text.contains("{model}") && !launch.text.contains('('))
}

/// The framework with the first of its rows that works here: with weights of the same format, or of another one.
fn runs<'f>(
    attempt: &Attempt<'_>,
    framework: &'f Framework,
    same: bool,
) -> Option<(&'f Framework, Question)> {
    let (base, question) = (attempt.answer.base, attempt.answer.question);
    let format = |config: &warpscope_probes::rules::Settings| {
        config.get("quantization").filter(|one| *one != "none").map(str::to_owned)
    };
    let is_like = |row: &&ConfigRow| {
        row.framework == framework.id && same == (format(&row.settings) == format(&question.config))
    };
    let ask = |row: &ConfigRow| {
        let mut asked = Question::of_row(base, row);
        for (key, value) in question.config.iter().filter(|one| OF_MODEL.contains(&one.0)) {
            let _ = asked.config.set(key, value);
        }
        if same {
            asked.weight_bytes = question.weight_bytes;
            asked.shape.clone_from(&question.shape);
            asked.model.clone_from(&question.model);
        }
        (attempt.outcome_of(&asked) == Outcome::Works).then_some(asked)
    };
    let asked = base.configs().iter().filter(is_like).find_map(ask)?;
    Some((framework, asked))
}
