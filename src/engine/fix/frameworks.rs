//! Other frameworks that run the same model on this GPU.

use std::sync::Arc;

use warpscope_probes::rules::{Cost, Framework, OTHER_MODEL, Rule, RuleBase, Settings};

use super::{Attempt, start_command};
use crate::engine::plan::requantized;
use crate::engine::question::Question;
use crate::engine::verdict::{Fix, Outcome};

/// So many are named.
const NAMED: usize = 4;

/// Settings of the model, the system and the task: another framework must deal with them too.
const CARRIED: &[&str] = &[
    "checkpoint_dtype",
    "feature",
    "head_dim",
    "kv_cache",
    "model_type",
    "operation",
    "platform",
    "pp",
    "tp",
];

/// Frameworks that serve a model and take it as it is, where the one asked about does not; else those that take it in another format.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let (base, question) = (attempt.answer.base, attempt.answer.question);
    let other = |rule: &Rule| rule.selector.names("model_type", OTHER_MODEL);
    let loads_no_such_model = attempt.answer.decision.rule.is_some_and(other);
    if !loads_no_such_model && !serves(base.framework(&question.framework)?) {
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
    let question = attempt.answer.question;
    let mut asked = carried(attempt.answer.base, question, &framework.id)
        .filter(|one| same == (format(&one.config) == format(&question.config)));
    let works = asked.find(|one| attempt.outcome_of(one) == Outcome::Works)?;
    Some((framework, works))
}

/// The rows of another framework, asked about the same model on the same system; without those in whose format its size is unknown.
pub(super) fn carried<'a>(
    base: &'a RuleBase,
    question: &'a Question,
    framework: &'a str,
) -> impl Iterator<Item = Question> {
    let rows = base.configs().iter().filter(move |row| row.framework == framework);
    rows.filter_map(move |row| {
        let mut asked = Question::of_row(base, row);
        for (key, value) in question.config.iter().filter(|one| CARRIED.contains(&one.0)) {
            asked.config.set(key, value).ok()?;
        }
        let now = format(&asked.config);
        if now == format(&question.config) {
            asked.weight_bytes = question.weight_bytes;
            asked.shape.clone_from(&question.shape);
            asked.model.clone_from(&question.model);
        } else if let Some(shape) = &question.shape {
            asked.shape = Some(Arc::new(requantized(shape, now.unwrap_or("none"))?));
        } else if question.weight_bytes.is_some() {
            return None;
        }
        Some(asked)
    })
}

fn format(config: &Settings) -> Option<&str> {
    config.get("quantization").filter(|one| *one != "none")
}
