//! Words of the command line into questions: `lmdeploy pytorch`, `vllm@0.8.5 awq`, `glm-4 fp16 vllm==0.9.2`, `vllm:awq`.
//!
//! The words that exist are those of the rule files: names of frameworks, and whatever the rows of a framework say of themselves.
//! So a new rule file needs no change here.

mod anything;
mod asked;
mod builds;
mod environment;
mod facets;
mod fillers;
mod fronts;
mod meaning;
mod model;
mod names;
mod options;
mod package;
mod parts;
mod programs;
mod queue;
mod rows;
mod shell;
mod switches;
mod terms;
mod tokens;
mod word;

use std::collections::BTreeSet;

use warpscope_probes::rules::RuleBase;

use self::asked::{Asked, two_models};
use self::meaning::{known_format, number_format};
pub(crate) use self::options::is_option;
use self::tokens::{Token, name_of, tokens};
use self::word::{check_version, find};
use super::month::Month;
use crate::engine::{Assumptions, DRIVER, Question, distinct};

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
    /// Whether nothing was named, so that everything is asked.
    is_everything: bool,
    /// The driver of the GPUs.
    pub(crate) driver: Option<String>,
    /// The name of a model.
    pub(crate) model: Option<String>,
    /// Whether the GPUs are said to be Jetsons.
    pub(crate) is_jetson: bool,
    /// What is not considered.
    pub(crate) unheard: Vec<String>,
    /// Of it, what may change a verdict.
    pub(crate) open: Vec<String>,
    /// Months that were named for releases.
    pub(crate) months: Vec<Month>,
}

impl Read {
    /// Ids of the frameworks asked about.
    pub(crate) fn frameworks(&self) -> BTreeSet<&str> {
        self.questions.iter().map(|question| question.framework.as_str()).collect()
    }

    /// The questions with the assumptions put in. With a model, a question that cannot be about it is left out; where all are, they are about
    /// packed copies of it, or the first says why.
    pub(crate) fn about(
        &self,
        base: &RuleBase,
        assumptions: &Assumptions,
    ) -> Result<Vec<Question>, String> {
        let questions = self.questions.iter();
        if self.is_everything {
            let rows = questions.filter_map(|row| Some((row, assumptions.in_row(base, row)?)));
            return Ok(distinct(rows));
        }
        let about: Vec<_> = questions.map(|one| (one, assumptions.asked(base, one))).collect();
        let found = about.iter().filter_map(|(one, about)| Some((*one, about.clone().ok()?)));
        let found = distinct(found);
        match about.into_iter().find_map(|(_, about)| about.err()) {
            Some(contradiction) if found.is_empty() => {
                let copies = self.questions.iter();
                let copies = copies.filter_map(|one| Some((one, assumptions.asked_of_copy(one)?)));
                Some(distinct(copies)).filter(|copies| !copies.is_empty()).ok_or(contradiction)
            }
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
        None => read.about(base, assumptions),
    }
}

/// The questions the words ask, in their order, none twice, and what is said beside them. No words ask everything. A dtype narrows or
/// changes all of them.
pub(crate) fn read(base: &RuleBase, words: Words<'_>) -> Result<Read, String> {
    words.dtype.map_or(Ok(()), demand_format)?;
    let tokens = tokens(base, words.words)?;
    if tokens.is_empty() {
        let all = base.configs().iter().map(|row| Question::of_row(base, row));
        let questions = all.filter(|one| words.dtype.is_none_or(|word| is_in(base, one, word)));
        let questions = questions.collect();
        return Ok(Read { questions, is_everything: true, ..Read::default() });
    }
    let mut read = Read::default();
    let mut asked = read.asked_of(base, tokens)?;
    if let Some(word) = words.dtype {
        asked.iter_mut().try_for_each(|one| one.take_format(base, word))?;
    }
    asked.into_iter().try_for_each(|one| read.add(one))?;
    Ok(read)
}

impl Read {
    /// The frameworks that were named, each with the words behind it.
    fn asked_of<'a>(
        &mut self,
        base: &'a RuleBase,
        tokens: Vec<Token>,
    ) -> Result<Vec<Asked<'a>>, String> {
        let is_about_drivers = !tokens.iter().any(|token| names_framework(base, token));
        let mut asked: Vec<Asked<'_>> = Vec::new();
        for token in tokens {
            let (word, typed) = match token {
                Token::Word(word) => (word.clone(), word),
                Token::Term { word, typed } => (word, typed),
                Token::Unheard(word) => {
                    self.unheard.push(word);
                    continue;
                }
                Token::Open(word) => {
                    let taken = asked.last_mut().map(|one| one.take_nightly(&word)).transpose()?;
                    if taken != Some(true) {
                        self.leave_open(word);
                    }
                    continue;
                }
            };
            let taken = match asked.last_mut() {
                Some(current) => current.take(base, &word, &typed)?,
                None if is_about_drivers => false,
                None => self.take_first_driver(base, &word)?,
            };
            if !taken {
                asked.push(Asked::named(base, &word)?);
            }
        }
        if asked.is_empty() {
            let said = self.unheard.join(" ");
            return Err(format!("{said:?} names no framework; name it first, as in: vllm {said}"));
        }
        asked.iter_mut().try_for_each(|one| one.finish(base))?;
        Ok(asked)
    }

    /// The driver of the GPUs, which may stand before the frameworks.
    fn take_first_driver(&mut self, base: &RuleBase, word: &str) -> Result<bool, String> {
        let Some(version) = driver_of(base, word) else { return Ok(false) };
        check_version(version)?;
        self.set_driver(version)?;
        Ok(true)
    }

    fn set_driver(&mut self, version: &str) -> Result<(), String> {
        match self.driver.replace(version.to_owned()).filter(|before| before != version) {
            None => Ok(()),
            Some(before) => Err(format!(
                "driver {before} and driver {version} are two drivers of the same GPUs; ask about one"
            )),
        }
    }

    /// Asks without the model, which is not found.
    pub(crate) fn set_model_aside(&mut self, name: &str) {
        self.model = None;
        self.leave_open(format!("{name} (not found here; --fetch reads its headers from the hub)"));
    }

    fn leave_open(&mut self, word: String) {
        self.unheard.push(word.clone());
        self.open.push(word);
    }

    /// What was asked about one framework.
    fn add(&mut self, one: Asked<'_>) -> Result<(), String> {
        for model in one.models {
            if let Some(before) =
                self.model.replace(model.clone()).filter(|before| *before != model)
            {
                return Err(two_models(&before, &model));
            }
        }
        one.driver.map_or(Ok(()), |driver| self.set_driver(&driver))?;
        self.is_jetson |= one.is_jetson;
        self.unheard.extend(one.unheard);
        self.months.extend(one.month);
        one.open.into_iter().for_each(|word| self.leave_open(word));
        for question in one.rows.0 {
            if !self.questions.iter().any(|old| old.is_same(&question)) {
                self.questions.push(question);
            }
        }
        Ok(())
    }
}

/// The version of the driver that a word names.
fn driver_of<'w>(base: &RuleBase, word: &'w str) -> Option<&'w str> {
    let separator = if word.contains("==") { "==" } else { "=" };
    let (name, version) = word.split_once('@').or_else(|| word.split_once(separator))?;
    let is_driver =
        find(base, name).is_some_and(|one| one.id == DRIVER) || options::key(name) == Some(DRIVER);
    is_driver.then_some(version)
}

/// Whether a word names a framework other than the driver.
fn names_framework(base: &RuleBase, token: &Token) -> bool {
    let (Token::Word(word) | Token::Term { word, .. }) = token else { return false };
    let framework = name_of(word).and_then(|name| find(base, name));
    framework.is_some_and(|one| one.id != DRIVER)
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
mod pasted;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wordings;
