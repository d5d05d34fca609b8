//! Words of the command line into questions: `lmdeploy pytorch`, `vllm@0.8.5 awq`, `glm-4 fp16 vllm==0.9.2`, `vllm:awq`.
//!
//! The words that exist are those of the rule files: names of frameworks, and whatever the rows of a framework say of themselves.
//! So a new rule file needs no change here.

mod asked;
mod meaning;
mod package;
mod word;

use warpscope_probes::rules::RuleBase;

use self::asked::Asked;
use self::meaning::{known_format, number_format};
use self::word::{find, is_release};
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
) -> Result<Vec<Question>, String> {
    let questions = questions(base, words.words, words.dtype)?;
    if words.words.is_empty() {
        let rows = questions.iter().filter_map(|row| Some((row, assumptions.in_row(base, row)?)));
        return Ok(distinct(rows));
    }
    let about: Vec<_> = questions.iter().map(|one| (one, assumptions.asked(base, one))).collect();
    let found = about.iter().filter_map(|(one, about)| Some((*one, about.clone().ok()?)));
    let found = distinct(found);
    match about.into_iter().find_map(|(_, about)| about.err()) {
        Some(contradiction) if found.is_empty() => Err(contradiction),
        _ => Ok(found),
    }
}

/// The questions the words ask, in their order, none twice. No words ask everything. A dtype narrows or changes all of them.
fn questions(
    base: &RuleBase,
    words: &[String],
    dtype: Option<&str>,
) -> Result<Vec<Question>, String> {
    dtype.map_or(Ok(()), demand_format)?;
    let mut asked: Vec<Asked<'_>> = Vec::new();
    for token in tokens(base, words) {
        let taken = match asked.last_mut() {
            Some(current) => current.take(base, &token)?,
            None => false,
        };
        if !taken {
            asked.push(Asked::named(base, &token)?);
        }
    }
    if asked.is_empty() {
        let all = base.configs().iter().map(|row| Question::of_row(base, row));
        return Ok(all.filter(|one| dtype.is_none_or(|word| is_in(base, one, word))).collect());
    }
    if let Some(word) = dtype {
        asked.iter_mut().try_for_each(|one| one.take_pair(base, "dtype", word))?;
    }
    let mut questions: Vec<Question> = Vec::new();
    for question in asked.into_iter().flat_map(|one| one.questions) {
        if !questions.iter().any(|old| old.is_same(&question)) {
            questions.push(question);
        }
    }
    Ok(questions)
}

/// Words one by one; a release that follows the name of a framework belongs to it: `vllm 0.8.5 cuda 12.8`.
fn tokens(base: &RuleBase, words: &[String]) -> Vec<String> {
    let words = words.iter().flat_map(|word| word.split([':', ' ', ',']));
    let mut tokens: Vec<String> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        match tokens.last_mut().filter(|last| is_release(word) && find(base, last).is_some()) {
            Some(name) => name.extend(["@", word]),
            None => tokens.push(word.to_owned()),
        }
    }
    tokens
}

/// Whether a row is in a number format, be it that of its weights.
fn is_in(base: &RuleBase, row: &Question, word: &str) -> bool {
    let format = known_format(base, &row.framework, word);
    format.is_some_and(|(key, value)| row.config.get(key) == Some(value))
}

fn demand_format(word: &str) -> Result<(), String> {
    number_format(word).map(drop).ok_or_else(|| {
        format!("--dtype {word:?} is not a number format; `warpscope dtypes` lists them")
    })
}

#[cfg(test)]
mod everyday;
#[cfg(test)]
mod tests;
