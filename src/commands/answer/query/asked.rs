//! One framework that was named, and how the words behind it narrow its configurations.

use std::collections::BTreeMap;

use warpscope_probes::releases;
use warpscope_probes::rules::{self, ConfigRow, Framework, Kind, RuleBase, build_of, kind_of};

use super::meaning::{self, check, compute_type};
use super::package;
use super::word::{
    find, is_release, own_version, says, split_version, unknown_framework, unknown_word, without_v,
};
use crate::engine::vocabulary::{has_width, knows, plain};
use crate::engine::{Origin, Question};

/// One framework, and what is left of its rows after the words so far.
pub(super) struct Asked<'a> {
    framework: &'a Framework,
    /// The name it was called by, whose releases may be those of a package around it.
    name: String,
    pub(super) questions: Vec<Question>,
    /// Settings that were named, which no later word may contradict.
    said: BTreeMap<String, String>,
}

impl<'a> Asked<'a> {
    /// Starts with `name`, `name@version`, `name==version` or `name=version`.
    pub(super) fn named(base: &'a RuleBase, token: &str) -> Result<Self, String> {
        let (name, version) = match split_version(token)? {
            (name, None) => name.split_once('=').map_or((name, None), |(name, v)| (name, Some(v))),
            versioned => versioned,
        };
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
        let mut asked = Self { framework, name: name.to_owned(), questions, said: BTreeMap::new() };
        asked.take_release(base, version)?;
        Ok(asked)
    }

    /// The release that is asked about, and the build behind it: `2.7.0+cu128`. Without one, that of a package that brings its own copy.
    fn take_release(&mut self, base: &RuleBase, version: Option<&str>) -> Result<(), String> {
        let build = version.and_then(|version| {
            let unlike_others = || (self.framework.id == "torch").then(|| version.split_once('+'));
            build_of(version).or_else(|| Some(unlike_others()??.1)).map(str::to_ascii_lowercase)
        });
        let version = match build {
            Some(_) => version.map(|version| version.split('+').next().unwrap_or(version)),
            None => version,
        };
        if let Some(version) = own_version(self.framework, &self.name, version)? {
            self.set_version(base, version)?;
        }
        build.map_or(Ok(()), |build| self.say("wheel", &build))
    }

    /// A date stands for the newest release of its time, where the releases are known. Rows about another generation are dropped.
    fn set_version(&mut self, base: &RuleBase, version: &str) -> Result<(), String> {
        let version = without_v(version);
        let version = releases::release_on(&self.framework.id, version).unwrap_or(version);
        rules::check_value("torch", version)?;
        let framework = self.framework;
        self.note(&framework.id, version)?;
        let fits =
            self.narrow(|question| !package::is_of_another_generation(base, question, version));
        for question in &mut self.questions {
            question.label = question.label.take().filter(|_| fits);
            if question.framework == framework.id {
                question.version = Some(version.to_owned());
                question.origin = Origin::Asked;
            } else {
                question.config.set(&framework.id, version)?;
            }
        }
        Ok(())
    }

    /// Whether the word belongs to this framework; if so, narrows or changes its questions.
    pub(super) fn take(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        if let (name, Some(version)) = split_version(token)? {
            return self.take_package(base, name, version);
        }
        if let Some((key, value)) = token.split_once('=') {
            return self.take_pair(base, key, value).map(|()| true);
        }
        if is_release(token) {
            return self.take_release(base, Some(token)).map(|()| true);
        }
        self.take_word(base, token)
    }

    /// A package with a version, where this framework runs with it.
    fn take_package(&mut self, base: &RuleBase, name: &str, version: &str) -> Result<bool, String> {
        let id = find(base, name).map_or(name, |framework| &framework.id);
        let in_row = self.questions.iter().any(|question| says(question, id));
        let is_part = in_row || package::runs_with(base, self.framework, id);
        if kind_of(id) != Ok(Kind::Package) || !is_part || *id == self.framework.id {
            return Ok(false);
        }
        self.narrow(|question| says(question, id));
        self.say_package(base, id, version).map(|()| true)
    }

    fn say_package(&mut self, base: &RuleBase, id: &str, version: &str) -> Result<(), String> {
        self.say(id, version)?;
        let wheel = format!("cu{}", version.replace('.', ""));
        if id == "cuda" && knows(base, &self.framework.id, "wheel", &wheel) {
            self.say("wheel", &wheel)?;
        }
        Ok(())
    }

    /// A setting by its name, such as the number format of the option.
    pub(super) fn take_pair(
        &mut self,
        base: &RuleBase,
        key: &str,
        value: &str,
    ) -> Result<(), String> {
        let own = find(base, key).map_or(key, |framework| &framework.id);
        if kind_of(own) == Ok(Kind::Package) {
            return self.say_package(base, own, value);
        }
        let (key, value) = match key {
            "dtype" if !self.has("compute_type") => meaning::format(base, self.framework, value)?,
            _ => meaning::value(base, &self.framework.id, key, value),
        };
        check(base, &self.framework.id, key, value)?;
        self.say(key, value)
    }

    /// A word that a row says of itself, a setting without its name, or what holds of any framework.
    fn take_word(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        if self.said.get("quantization").is_some_and(|format| has_width(format, token)) {
            return Ok(true);
        }
        if let Some(format) = self.known_format(base, token) {
            return self.say(format.0, format.1).map(|()| true);
        }
        if self.narrow(|question| says(question, token)) {
            self.note_all(&plain(token))?;
            return Ok(true);
        }
        let settings = meaning::settings(base, self.framework, token);
        let open = |(key, value): &&(&str, &str)| self.said.get(*key).is_none_or(|it| it == value);
        let possible: Vec<_> = settings.iter().filter(open).copied().collect();
        let setting = match possible.as_slice() {
            [] => settings.first().copied(),
            several => Some(meaning::only(several, token, self.framework)?),
        };
        let setting = match setting {
            None if meaning::number_format(token).is_some() => {
                Some(meaning::format(base, self.framework, token)?)
            }
            None if find(base, token).is_some() => return Ok(false),
            None => meaning::anywhere(base, token),
            setting => setting,
        };
        let (key, value) =
            setting.ok_or_else(|| unknown_word(token, self.framework, &self.questions))?;
        self.say(key, value).map(|()| true)
    }

    /// A number format that the framework computes in or keeps weights in.
    fn known_format<'b>(&self, base: &'b RuleBase, word: &str) -> Option<(&'static str, &'b str)> {
        if self.has("compute_type") {
            return meaning::number_format(word).map(|dtype| ("dtype", dtype));
        }
        meaning::known_format(base, &self.framework.id, word)
    }

    fn has(&self, key: &str) -> bool {
        self.questions.iter().any(|question| question.config.get(key).is_some())
    }

    /// Remembers what was typed, unless it contradicts what was typed before.
    fn note(&mut self, key: &str, value: &str) -> Result<(), String> {
        let before = self.said.insert(key.to_owned(), value.to_owned());
        before.filter(|one| one != value).map_or(Ok(()), |before| {
            Err(format!("{key}={before} and {key}={value} contradict each other"))
        })
    }

    /// Remembers the settings that a word named in every question that is left.
    fn note_all(&mut self, word: &str) -> Result<(), String> {
        let Some(first) = self.questions.first() else { return Ok(()) };
        let everywhere = |(key, value): &(&str, &str)| {
            let same = |one: &Question| one.config.get(key) == Some(value);
            plain(value) == word && self.questions.iter().all(same)
        };
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let named: Vec<_> = first.config.iter().filter(everywhere).map(owned).collect();
        named.iter().try_for_each(|(key, value)| self.note(key, value))
    }

    /// What was typed, unless it contradicts what was typed before. Of two names of one format the finer counts: `bnb 4bit`.
    fn say(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (key, value) = match key {
            "dtype" if self.has("compute_type") => ("compute_type", compute_type(value)),
            _ => (key, value),
        };
        if let Some(before) = self.said.get(key).filter(|_| key == "quantization") {
            if meaning::is_kind_of(before, value) {
                return Ok(());
            }
            if meaning::is_kind_of(value, before) {
                self.said.remove(key);
            }
        }
        self.note(key, value)?;
        self.set(key, value)
    }

    /// Keeps the questions that already say it; where none does, says it in all of them. Rows are presets and hide nothing.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let named = |one: &Question| one.config.get(key) == Some(value);
        if self.questions.iter().any(named) {
            let hidden = if key == "dtype" { self.hidden(value)? } else { Vec::new() };
            self.narrow(named);
            self.questions.splice(0..0, hidden);
            return Ok(());
        }
        for question in &mut self.questions {
            let is_replaced = question.config.get(key).is_some();
            question.config.set(key, value)?;
            let label = question.label.take().filter(|_| !is_replaced);
            question.label = label.map(|label| format!("{label} · {key} {value}"));
        }
        Ok(())
    }

    /// Rows in another number format that take this one as well: those of whose label it is a part, and a plain one where all that
    /// name the format have quantised weights.
    fn hidden(&self, dtype: &str) -> Result<Vec<Question>, String> {
        let quantised = |one: &Question| one.config.get("quantization").is_some();
        let (named, others): (Vec<_>, Vec<_>) =
            self.questions.iter().partition(|one| one.config.get("dtype") == Some(dtype));
        let all_quantised =
            !self.said.contains_key("quantization") && named.iter().all(|one| quantised(one));
        let plain = others.iter().find(|one| all_quantised && !quantised(one));
        let mut hidden = Vec::new();
        for question in &others {
            let own = question.config.get("dtype").unwrap_or_default();
            let label = question.label.as_deref().filter(|_| dtype != "auto");
            let label = label.filter(|label| label.split(" · ").any(|word| word == own));
            let is_plain = plain.is_some_and(|plain| plain == question);
            if label.is_none() && !is_plain {
                continue;
            }
            let mut other = Question { label: None, ..(*question).clone() };
            other.config.set("dtype", dtype)?;
            other.label = label.map(|label| label.replace(own, dtype));
            if !named.iter().any(|one| one.is_same(&other)) {
                hidden.push(other);
            }
        }
        Ok(hidden)
    }

    fn narrow(&mut self, keep: impl Fn(&Question) -> bool) -> bool {
        let any = self.questions.iter().any(&keep);
        if any {
            self.questions.retain(keep);
        }
        any
    }
}
