//! What keeps an answer from being sure: facts one step removed from their source, and settings that no fact covers.
//!
//! Asked of the rules that stood before a report was put down, answers without a doubt held far more often than those with one
//! (`docs/reference.md` has the figures).

use warpscope_probes::rules::{Confidence, Effect, Rule};

use super::age::is_stale;
use super::answer::Answer;
use super::builds::{TORCH_WHEEL, cuda_of_its_torch};
use super::decision::DecidedBy;
use super::driver::image_of;
use super::verdict::Outcome;

/// Whether an answer may not hold. What costs least is asked first: a matrix asks of every cell.
pub(super) fn is_doubted(answer: &Answer<'_>) -> bool {
    match answer.decision.by {
        DecidedBy::Rule(rule) if rule.effect.is_bad() => is_inferred(rule),
        DecidedBy::Rule(_) | DecidedBy::Parts if answer.decision.outcome.runs() => {
            (answer.decision.confirmed.is_none() && supporting(answer).any(is_inferred))
                || might_stop(answer)
                || open_settings(answer).next().is_some()
                || is_stale(answer)
        }
        _ => false,
    }
}

/// Why an answer may not hold, one phrase each. Of what was measured or found on this machine nothing is doubted.
pub(super) fn doubts(answer: &Answer<'_>) -> Vec<String> {
    match answer.decision.by {
        DecidedBy::Rule(rule) if rule.effect.is_bad() => inferred(rule).into_iter().collect(),
        DecidedBy::Rule(_) | DecidedBy::Parts if answer.decision.outcome.runs() => {
            doubts_of_good(answer)
        }
        _ => Vec::new(),
    }
}

fn doubts_of_good(answer: &Answer<'_>) -> Vec<String> {
    let open = might_stop(answer).then(|| "a rule that might stop it is undecided".to_owned());
    let stale = is_stale(answer).then(|| "newer than what the rules cover".to_owned());
    let guessed = match answer.decision.confirmed {
        Some(_) => None,
        None => supporting(answer).find_map(inferred),
    };
    guessed.into_iter().chain(uncovered(answer)).chain(open).chain(stale).collect()
}

fn is_inferred(rule: &Rule) -> bool {
    rule.confidence == Confidence::Med
}

fn inferred(rule: &Rule) -> Option<String> {
    is_inferred(rule).then(|| format!("{} is inferred from its source", rule.id))
}

fn might_stop(answer: &Answer<'_>) -> bool {
    answer.matches.undecided().any(|one| one.rule.effect.is_bad())
}

/// Settings asked about that no rule behind the answer names.
fn open_settings<'s>(answer: &'s Answer<'_>) -> impl Iterator<Item = (&'s str, &'s str)> {
    let config = &answer.question.config;
    let is_cuda_of =
        |other: Option<String>| other.is_some() && other.as_deref() == config.get("cuda");
    let is_of_torch = is_cuda_of(cuda_of_its_torch(config));
    let is_of_image = is_cuda_of(image_of(answer.question));
    let named = move |key: &str| {
        let key = if key == "cuda" && is_of_torch { TORCH_WHEEL } else { key };
        key == "cuda" && is_of_image || supporting(answer).any(|rule| speaks_of(rule, key))
    };
    answer.question.config.asked().filter(move |(key, _)| !named(key))
}

/// Whether a rule names a setting, or is one of the very package: its versions, or its build.
fn speaks_of(rule: &Rule, key: &str) -> bool {
    let own = match key.strip_suffix(".wheel") {
        Some(package) => *rule.framework == *package && rule.selector.has("wheel"),
        None => *rule.framework == *key,
    };
    own || rule.selector.has(key)
}

fn uncovered(answer: &Answer<'_>) -> Vec<String> {
    let id = &answer.question.framework;
    let framework = answer.base.framework(id);
    let name = framework.map_or(id, |one| &one.name);
    let is_part = framework.is_some_and(|one| one.common_models.is_empty());
    let (models, open): (Vec<_>, Vec<_>) =
        open_settings(answer).partition(|(key, _)| is_part && *key == "model_type");
    let part = models.iter().map(|(_, model)| format!("{name} is one part of what runs {model}"));
    let open: Vec<String> = open.iter().map(|(key, value)| format!("{key} {value}")).collect();
    let silent =
        (!open.is_empty()).then(|| format!("no rule of {name} names {}", open.join(" or ")));
    part.chain(silent).collect()
}

/// The rules that an answer rests on: those that let it run, and those that say what is run.
fn supporting<'s>(answer: &'s Answer<'_>) -> impl Iterator<Item = &'s Rule> {
    let by_parts = matches!(answer.decision.by, DecidedBy::Parts);
    let counts = move |one: &Rule, whole: bool| {
        let runs = Outcome::from(one.effect).runs() && (whole || by_parts);
        runs || one.effect == Effect::Resolves
    };
    let applying = answer.matches.applying();
    applying.filter(move |one| counts(one.rule, one.whole || !one.own)).map(|one| one.rule)
}
