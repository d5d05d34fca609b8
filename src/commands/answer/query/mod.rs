//! Words of the command line into questions: `lmdeploy pytorch`, `vllm@0.8.5 awq`, `glm-4 fp16 vllm==0.9.2`, `vllm:awq`.
//!
//! The words that exist are those of the rule files: names of frameworks, and whatever the rows of a framework say of themselves.
//! So a new rule file needs no change here.

mod asked;
mod environment;
mod meaning;
mod package;
mod rows;
mod tokens;
mod word;

use warpscope_probes::rules::RuleBase;

use self::asked::{Asked, two_models};
use self::meaning::{known_format, number_format};
use self::tokens::tokens;
use crate::engine::{Assumptions, Question, distinct};

/// What was typed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words<'a> {
    /// Frameworks and configurations.
    pub(crate) words: &'a [String],
    /// A number format for all of them.
    pub(crate) dtype: Option<&'a str>,
}

/// What words say.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Read {
    questions: Vec<Question>,
    /// The driver of the GPUs.
    pub(crate) driver: Option<String>,
    /// The name of a model.
    pub(crate) model: Option<String>,
    /// What changes no verdict.
    pub(crate) unheard: Vec<String>,
}

impl Read {
    /// The questions with the assumptions put in. With a model, a question that cannot be about it is left out; where all are, the first
    /// says why.
    pub(crate) fn about(
        &self,
        base: &RuleBase,
        words: Words<'_>,
        assumptions: &Assumptions,
    ) -> Result<Vec<Question>, String> {
        let questions = self.questions.iter();
        if words.words.is_empty() {
            let rows = questions.filter_map(|row| Some((row, assumptions.in_row(base, row)?)));
            return Ok(distinct(rows));
        }
        let about: Vec<_> = questions.map(|one| (one, assumptions.asked(base, one))).collect();
        let found = about.iter().filter_map(|(one, about)| Some((*one, about.clone().ok()?)));
        let found = distinct(found);
        match about.into_iter().find_map(|(_, about)| about.err()) {
            Some(contradiction) if found.is_empty() => Err(contradiction),
            _ => Ok(found),
        }
    }
}

/// What is asked about a model that is named already.
pub(crate) fn asked(
    base: &RuleBase,
    words: Words<'_>,
    assumptions: &Assumptions,
) -> Result<Vec<Question>, String> {
    let read = read(base, words)?;
    match &read.model {
        Some(model) => Err(format!("{model} is another model; ask about one")),
        None => read.about(base, words, assumptions),
    }
}

/// The questions the words ask, in their order, none twice, and what is said beside them. No words ask everything. A dtype narrows or
/// changes all of them.
pub(crate) fn read(base: &RuleBase, words: Words<'_>) -> Result<Read, String> {
    words.dtype.map_or(Ok(()), demand_format)?;
    let mut asked = frameworks(base, words.words)?;
    if asked.is_empty() {
        let all = base.configs().iter().map(|row| Question::of_row(base, row));
        let questions = all.filter(|one| words.dtype.is_none_or(|word| is_in(base, one, word)));
        return Ok(Read { questions: questions.collect(), ..Read::default() });
    }
    if let Some(word) = words.dtype {
        asked.iter_mut().try_for_each(|one| one.take_format(base, word))?;
    }
    let mut read = Read::default();
    for one in asked {
        for model in one.models {
            if let Some(before) =
                read.model.replace(model.clone()).filter(|before| *before != model)
            {
                return Err(two_models(&before, &model));
            }
        }
        read.driver = one.driver.or(read.driver);
        read.unheard.extend(one.unheard);
        for question in one.rows.0 {
            if !read.questions.iter().any(|old| old.is_same(&question)) {
                read.questions.push(question);
            }
        }
    }
    Ok(read)
}

/// The frameworks that were named, each with the words behind it.
fn frameworks<'a>(base: &'a RuleBase, words: &[String]) -> Result<Vec<Asked<'a>>, String> {
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
    asked.iter_mut().try_for_each(|one| one.finish(base))?;
    Ok(asked)
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
