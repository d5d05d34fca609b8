//! Words of the command line into questions: `lmdeploy pytorch`, `vllm@0.8.5 awq`, `glm-4 fp16 vllm==0.9.2`, `vllm:awq`.
//!
//! The words that exist are those of the rule files: names of frameworks, and whatever the rows of a framework say of themselves.
//! So a new rule file needs no change here.

mod asked;
mod error;
mod word;

use warpscope_probes::rules::{RuleBase, dtype_id};

use self::asked::Asked;
pub(crate) use self::error::UsageError;
use crate::engine::{Assumptions, Question, distinct};

/// What was typed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'a> {
    /// Frameworks and configurations.
    pub(crate) words: &'a [String],
    /// A number format for all of them.
    pub(crate) dtype: Option<&'a str>,
}

/// The questions that were typed with the assumptions put in. With a model, a question that cannot be about it is left out; where all
/// are, the first says why.
pub(crate) fn asked(
    base: &RuleBase,
    words: Words<'_>,
    assumptions: &Assumptions,
) -> Result<Vec<Question>, UsageError> {
    let questions = questions(base, words.words, words.dtype)?;
    if words.words.is_empty() {
        let rows = questions.iter().filter_map(|row| Some((row, assumptions.in_row(base, row)?)));
        return Ok(distinct(rows));
    }
    let about: Vec<_> = questions.iter().map(|one| (one, assumptions.asked(base, one))).collect();
    let found = about.iter().filter_map(|(one, about)| Some((*one, about.clone().ok()?)));
    let found = distinct(found);
    match about.into_iter().find_map(|(_, about)| about.err()) {
        Some(contradiction) if found.is_empty() => Err(UsageError(contradiction)),
        _ => Ok(found),
    }
}

/// The questions the words ask, in their order, none twice. No words ask everything. A dtype narrows or changes all of them.
fn questions(
    base: &RuleBase,
    words: &[String],
    dtype: Option<&str>,
) -> Result<Vec<Question>, UsageError> {
    let dtype = dtype.map(known_dtype).transpose()?;
    let tokens =
        words.iter().flat_map(|word| word.split([':', ' ', ','])).filter(|word| !word.is_empty());
    let mut asked: Vec<Asked<'_>> = Vec::new();
    for token in tokens {
        let taken = match asked.last_mut() {
            Some(current) => current.take(base, token)?,
            None => false,
        };
        if !taken {
            asked.push(Asked::named(base, token)?);
        }
    }
    if asked.is_empty() {
        let all = base.configs().iter().map(|row| Question::of_row(base, row));
        let is =
            |question: &Question| dtype.is_none_or(|id| question.config.get("dtype") == Some(id));
        return Ok(all.filter(is).collect());
    }
    if let Some(id) = dtype {
        asked.iter_mut().try_for_each(|one| one.say("dtype", id))?;
    }
    let mut questions: Vec<Question> = Vec::new();
    for question in asked.into_iter().flat_map(|one| one.questions) {
        if !questions.iter().any(|old| old.is_same(&question)) {
            questions.push(question);
        }
    }
    Ok(questions)
}

fn known_dtype(word: &str) -> Result<&'static str, UsageError> {
    dtype_id(&word.to_ascii_lowercase()).ok_or_else(|| {
        UsageError(format!(
            "--dtype {word:?} is not a number format; `warpscope dtypes` lists them"
        ))
    })
}

#[cfg(test)]
mod tests;
