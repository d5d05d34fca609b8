//! Other frameworks that run the same kind of weights on this GPU.

use warpscope_probes::rules::{Cost, Framework, RuleBase};

use super::Attempt;
use crate::engine::question::Question;
use crate::engine::verdict::{Fix, Outcome};

/// So many are named.
const NAMED: usize = 4;

/// Settings that belong to the model and go with it to another framework.
const OF_MODEL: &[&str] = &["checkpoint_dtype", "head_dim", "model_type"];

/// Frameworks that serve a model and take it as it is, where the one asked about does not.
pub(super) fn of(attempt: &Attempt<'_>) -> Option<Fix> {
    let (base, question) = (attempt.answer.base, attempt.answer.question);
    if !serves(base.framework(&question.framework)?) {
        return None;
    }
    let others = base.frameworks().iter().filter(|one| one.id != question.framework);
    let running: Vec<&str> = others
        .filter(|one| serves(one) && runs(attempt, base, one))
        .map(|one| one.name.as_str())
        .take(NAMED)
        .collect();
    let first = running.first()?;
    Some(Fix {
        cost: Cost::Build,
        title: format!("another framework, such as {first}"),
        text: format!(
            "{} run{} it on this GPU",
            running.join(", "),
            if running.len() == 1 { "s" } else { "" }
        ),
        then: Some(Outcome::Works),
    })
}

/// Whether it is started with a model from a command line.
fn serves(framework: &Framework) -> bool {
    framework
        .launch
        .as_ref()
        .is_some_and(|launch| launch.text.contains("{model}") && !launch.text.contains('('))
}

/// Whether it works here with weights of the same format.
fn runs(attempt: &Attempt<'_>, base: &RuleBase, framework: &Framework) -> bool {
    let question = attempt.answer.question;
    let format = |config: &warpscope_probes::rules::Settings| {
        config.get("quantization").filter(|one| *one != "none").map(str::to_owned)
    };
    let rows = base.configs().iter().filter(|row| row.framework == framework.id);
    let mut same = rows.filter(|row| format(&row.settings) == format(&question.config));
    same.any(|row| {
        let mut asked = Question::of_row(base, row);
        for (key, value) in question.config.iter().filter(|one| OF_MODEL.contains(&one.0)) {
            let _ = asked.config.set(key, value);
        }
        asked.weight_bytes = question.weight_bytes;
        asked.shape.clone_from(&question.shape);
        attempt.outcome_of(&asked) == Outcome::Works
    })
}
