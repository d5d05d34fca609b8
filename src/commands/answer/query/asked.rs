//! One framework that was named, and how the words behind it narrow its configurations.

use std::collections::BTreeMap;

use warpscope_probes::releases;
use warpscope_probes::rules::{self, ConfigRow, Framework, Kind, RuleBase, dtype_id, kind_of};

use super::error::UsageError;
use super::word::{LONG, compute_type, find, own_version, says, split_version, unknown_framework};
use crate::commands::answer::vocabulary::check;
use crate::engine::vocabulary::{CLOSED, knows, meant};
use crate::engine::{Origin, Question};

/// One framework, and what is left of its rows after the words so far.
pub(super) struct Asked<'a> {
    framework: &'a Framework,
    pub(super) questions: Vec<Question>,
    /// Settings that were named, which no later word may contradict.
    said: BTreeMap<String, String>,
}

impl<'a> Asked<'a> {
    /// Starts with `name`, `name@version` or `name==version`.
    pub(super) fn named(base: &'a RuleBase, token: &str) -> Result<Self, UsageError> {
        let (name, version) = split_version(token);
        let framework = find(base, name).ok_or_else(|| unknown_framework(base, name))?;
        let rows = base.configs().iter().filter(|row| row.framework == framework.id);
        let mut questions: Vec<_> = rows.map(|row| Question::of_row(base, row)).collect();
        if questions.is_empty() {
            let through =
                base.configs().iter().filter(|row| row.settings.get(&framework.id).is_some());
            questions = through.map(|row: &ConfigRow| Question::of_row(base, row)).collect();
        }
        if questions.is_empty() {
            questions.push(Question {
                framework: framework.id.clone(),
                version: framework.version.clone(),
                ..Question::default()
            });
        }
        let mut asked = Self { framework, questions, said: BTreeMap::new() };
        match version.map(|version| version.split_once('+').unwrap_or((version, ""))) {
            // PyTorch writes the CUDA of a build behind its version: `2.7.0+cu128`.
            Some((public, local)) if knows(base, &framework.id, "wheel", local) => {
                asked.set_version(public)?;
                asked.say("wheel", local)?;
            }
            _ => {
                if let Some(version) = own_version(framework, name, version)? {
                    asked.set_version(version)?;
                }
            }
        }
        Ok(asked)
    }

    /// A date stands for the newest release of its time, where the releases are known.
    fn set_version(&mut self, version: &str) -> Result<(), UsageError> {
        let version = releases::release_on(&self.framework.id, version).unwrap_or(version);
        rules::check_value("torch", version).map_err(UsageError)?;
        for question in &mut self.questions {
            if question.framework == self.framework.id {
                question.version = Some(version.to_owned());
                question.origin = Origin::Asked;
            } else {
                question.config.set(&self.framework.id, version).map_err(UsageError)?;
            }
        }
        Ok(())
    }

    /// Whether the word belongs to this framework; if so, narrows or changes its questions.
    pub(super) fn take(&mut self, base: &RuleBase, token: &str) -> Result<bool, UsageError> {
        let (name, version) = split_version(token);
        if let (Some(version), true) = (version, self.has_package(name)) {
            self.say(name, version)?;
            return Ok(true);
        }
        if let Some((key, value)) = token.split_once('=').filter(|_| version.is_none()) {
            let value =
                dtype_id(value).filter(|_| kind_of(key) == Ok(Kind::Dtype)).unwrap_or(value);
            let (key, value) = self.meant(base, key, value).unwrap_or((key, value));
            check(base, &self.framework.id, key, value).map_err(UsageError)?;
            self.say(key, value)?;
            let wheel = format!("cu{}", value.replace('.', ""));
            if key == "cuda" && knows(base, &self.framework.id, "wheel", &wheel) {
                self.say("wheel", &wheel)?;
            }
            return Ok(true);
        }
        if version.is_some() {
            return Ok(false);
        }
        if self.narrow(|question| says(question, token)) {
            return Ok(true);
        }
        if let Some(dtype) = dtype_id(&token.to_ascii_lowercase()) {
            let (key, value) = self.meant(base, "dtype", dtype).unwrap_or(("dtype", dtype));
            self.say(key, value)?;
            return Ok(true);
        }
        if find(base, token).is_some() {
            return Ok(false);
        }
        let keys = ["quantization", "attention", "kernel", "engine"];
        let named = |key| Some((key, meant(base, &self.framework.id, key, token)?));
        let (key, value) =
            keys.into_iter().find_map(named).ok_or_else(|| self.unknown_word(token))?;
        self.say(key, value)?;
        Ok(true)
    }

    /// What people mean by a value that the framework does not know: the format of the weights where no number is computed in it, the
    /// long form of a short word, or another spelling.
    fn meant<'v>(
        &self,
        base: &'a RuleBase,
        key: &'v str,
        value: &str,
    ) -> Option<(&'v str, &'a str)> {
        let knows = |key, value| knows(base, &self.framework.id, key, value);
        let is_weights = key == "dtype" && value == "fp8_e4m3" && !knows("dtype", value);
        if is_weights && knows("quantization", "fp8") {
            return Some(("quantization", "fp8"));
        }
        let short =
            LONG.iter().find(|row| ["dtype", "quantization"].contains(&key) && row.0 == value);
        let long = short.map(|row| row.1).filter(|long| knows("quantization", long));
        match long.filter(|_| !knows(key, value)) {
            Some(long) => Some(("quantization", long)),
            None if CLOSED.contains(&key) => {
                Some((key, meant(base, &self.framework.id, key, value)?))
            }
            None => None,
        }
    }

    fn has_package(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.config.get(name).is_some())
    }

    /// What was typed, unless it contradicts what was typed before.
    pub(super) fn say(&mut self, key: &str, value: &str) -> Result<(), UsageError> {
        let (key, value) = match key {
            "dtype" if self.has_package("compute_type") => ("compute_type", compute_type(value)),
            _ => (key, value),
        };
        if let Some(before) =
            self.said.insert(key.to_owned(), value.to_owned()).filter(|one| one != value)
        {
            return Err(UsageError(format!(
                "{key}={before} and {key}={value} contradict each other"
            )));
        }
        self.set(key, value)
    }

    /// Keeps the questions that already say it; where none does, says it in all of them. Rows are presets and hide nothing: where only
    /// rows with quantised weights name a number format, the plain ones take it as well.
    fn set(&mut self, key: &str, value: &str) -> Result<(), UsageError> {
        let quantised = |one: &Question| one.config.get("quantization").is_some();
        let named = |one: &Question| one.config.get(key) == Some(value);
        let hidden = key == "dtype" && !self.said.contains_key("quantization");
        let hidden = hidden && self.questions.iter().filter(|one| named(one)).all(quantised);
        let plain = self.questions.iter().find(|one| hidden && !quantised(one)).cloned();
        if self.narrow(named) {
            if let Some(mut plain) = plain {
                plain.config.set(key, value).map_err(UsageError)?;
                plain.label = None;
                self.questions.insert(0, plain);
            }
            return Ok(());
        }
        for question in &mut self.questions {
            let is_replaced = question.config.get(key).is_some();
            question.config.set(key, value).map_err(UsageError)?;
            let label = question.label.take().filter(|_| !is_replaced);
            question.label = label.map(|label| format!("{label} · {key} {value}"));
        }
        Ok(())
    }

    fn narrow(&mut self, keep: impl Fn(&Question) -> bool) -> bool {
        let any = self.questions.iter().any(&keep);
        if any {
            self.questions.retain(keep);
        }
        any
    }

    fn unknown_word(&self, token: &str) -> UsageError {
        let labels: Vec<_> = self.questions.iter().map(Question::words).collect();
        UsageError(format!(
            "{token:?} is neither a configuration of {} nor a framework; configurations: {}",
            self.framework.name,
            labels.join("; ")
        ))
    }
}
