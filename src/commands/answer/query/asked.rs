//! One framework that was named, and how the words behind it narrow its configurations.

use std::collections::{BTreeMap, BTreeSet};

use warpscope_probes::releases;
use warpscope_probes::rules::{ConfigRow, Framework, Kind, RuleBase, build_of, kind_of};

use super::meaning::{self, check, compute_type};
use super::options::{CACHE_OF_KEYS, CACHE_OF_VALUES, key};
use super::package;
use super::rows::{Rows, says};
use super::word::{
    check_version, find, generation, is_release, own_version, split_version, unknown_framework,
    without_v,
};
use crate::commands::answer::month::Month;
use crate::engine::builds::TORCH;
use crate::engine::vocabulary::{has_width, is_width, meant, plain};
use crate::engine::{DRIVER, Origin, Question};

/// One framework, and what is left of its rows after the words so far.
pub(super) struct Asked<'a> {
    pub(super) framework: &'a Framework,
    /// The name it was called by, whose releases may be those of a package around it.
    pub(super) name: String,
    pub(super) rows: Rows,
    /// Settings that were named, which no later word may contradict.
    pub(super) said: BTreeMap<String, String>,
    /// Keys of settings that only follow from others.
    pub(super) implied: BTreeSet<String>,
    /// Whether the word before was a torch.
    pub(super) is_behind_torch: bool,
    /// Whether its kernels in Triton were named.
    pub(super) has_triton: bool,
    /// What was said and changes no verdict.
    pub(super) unheard: Vec<String>,
    /// The month that was named for its release.
    pub(super) month: Option<Month>,
    /// Words that qualify others, which are read first.
    later: Vec<String>,
    /// The driver of the GPUs.
    pub(super) driver: Option<String>,
    /// Names of models.
    pub(super) models: Vec<String>,
    /// Whether the GPUs are said to be Jetsons.
    pub(super) is_jetson: bool,
    /// What was said, may change the verdict, and no rule speaks of.
    pub(super) open: Vec<String>,
}

impl<'a> Asked<'a> {
    /// Starts with `name`, `name@version`, `name==version` or `name=version`.
    pub(super) fn named(base: &'a RuleBase, token: &str) -> Result<Self, String> {
        let (name, version) = match split_version(token)? {
            (name, None) => name.split_once('=').map_or((name, None), |(name, v)| (name, Some(v))),
            versioned => versioned,
        };
        let of_generation = || generation(base, name).map(|(one, number)| (one, Some(number)));
        let (framework, number) = find(base, name)
            .map(|framework| (framework, None))
            .or_else(of_generation)
            .ok_or_else(|| unknown_framework(base, name))?;
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
        let mut asked = Self {
            framework,
            name: name.to_owned(),
            rows: Rows(questions),
            said: BTreeMap::new(),
            implied: BTreeSet::new(),
            is_behind_torch: false,
            has_triton: false,
            unheard: Vec::new(),
            month: None,
            later: Vec::new(),
            driver: None,
            models: Vec::new(),
            is_jetson: false,
            open: Vec::new(),
        };
        if let Some(number) = number {
            asked.rows.narrow(|one| !package::is_of_another_generation(base, one, number));
        }
        asked.take_release(base, version)?;
        Ok(asked)
    }

    /// The release that is asked about, and the build behind it: `2.7.0+cu128`. Without one, that of a package that brings its own copy.
    pub(super) fn take_release(
        &mut self,
        base: &RuleBase,
        version: Option<&str>,
    ) -> Result<(), String> {
        let build = version.and_then(|version| self.build(version)).map(str::to_ascii_lowercase);
        let version = match build {
            Some(_) => version.map(|version| version.split('+').next().unwrap_or(version)),
            None => version,
        };
        if let Some(version) = own_version(self.framework, &self.name, version)? {
            self.set_version(base, version)?;
        }
        build.map_or(Ok(()), |build| self.say_setting(base, "wheel", &build))
    }

    /// The build behind a release: of torch any, of others those of CUDA.
    fn build<'v>(&self, version: &'v str) -> Option<&'v str> {
        let behind = version.split_once('+').map(|one| one.1);
        build_of(version).or_else(|| behind.filter(|_| self.framework.id == "torch"))
    }

    /// A date stands for the newest release of its time, where the releases are known. Rows about another generation are dropped.
    fn set_version(&mut self, base: &RuleBase, version: &str) -> Result<(), String> {
        let version = without_v(version);
        self.month = Month::of(&self.framework.id, version);
        let version = releases::release_on(&self.framework.id, version).unwrap_or(version);
        check_version(version)?;
        let framework = self.framework;
        self.note(&framework.id, version)?;
        let fits = self
            .rows
            .narrow(|question| !package::is_of_another_generation(base, question, version));
        self.take_cuda_of_its_time(base, version);
        self.rows.narrow(|question| package::is_shown(base, question, version));
        for question in &mut self.rows.0 {
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

    /// Whether the word belongs to this framework; if so, narrows or changes its questions. What stands for several words is set aside as
    /// they were typed where it means nothing.
    pub(super) fn take(
        &mut self,
        base: &RuleBase,
        token: &str,
        typed: &str,
    ) -> Result<bool, String> {
        let (id, before) = (&self.framework.id, self.open.len());
        let pair = token.split_once('=').filter(|_| token != typed);
        let is_unknown = |(name, said): (&str, &str)| {
            check(base, id, name, meaning::value(base, id, name, said).1).is_err()
        };
        if pair.is_some_and(is_unknown) {
            self.open.push(typed.to_owned());
            return Ok(true);
        }
        let taken = self.take_token(base, token)?;
        self.open[before..].iter_mut().filter(|open| *open == token).for_each(|open| {
            typed.clone_into(open);
        });
        let name = split_version(token)?.0.split('=').next().unwrap_or(token);
        self.is_behind_torch = find(base, name).is_some_and(|one| one.id == TORCH);
        Ok(taken)
    }

    fn take_token(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        if let (name, Some(version)) = split_version(token)? {
            return self.take_package(base, name, version);
        }
        if let Some((key, value)) = token.split_once('=') {
            return self.take_pair(base, key, value).map(|()| true);
        }
        if is_release(token) {
            return self.take_release(base, Some(token)).map(|()| true);
        }
        if let Some(major) = token.strip_prefix("cu").filter(|one| ["11", "12", "13"].contains(one))
        {
            return self.say_package(base, "cuda", major).map(|()| true);
        }
        let is_late = is_width(token) || meaning::is_noun_of_build(token);
        if is_late || meaning::is_kernel_and_format(base, self.framework, token) {
            self.later.push(token.to_owned());
            return Ok(true);
        }
        self.take_word(base, token)
    }

    /// Reads what was put off, and ends the words of this framework.
    pub(super) fn finish(&mut self, base: &RuleBase) -> Result<(), String> {
        let mut later = std::mem::take(&mut self.later);
        later.sort_by_key(|word| is_width(word));
        later.retain(|word| !(meaning::is_noun_of_build(word) && self.said.contains_key("wheel")));
        later.iter().try_for_each(|word| self.take_word(base, word).map(drop))?;
        self.finish_builds(base)?;
        self.finish_cache(base)
    }

    /// The type of the cache where its halves have one each. The half that was not named is in f16.
    fn finish_cache(&mut self, base: &RuleBase) -> Result<(), String> {
        let halves = [CACHE_OF_KEYS, CACHE_OF_VALUES].map(|half| self.said.get(half).cloned());
        if halves.iter().all(Option::is_none) {
            return Ok(());
        }
        let usual = meaning::value(base, &self.framework.id, "kv_cache", "f16").1;
        let [keys, values] = halves.map(|half| half.unwrap_or_else(|| usual.to_owned()));
        let both = if keys == values { keys } else { format!("{keys}+{values}") };
        self.say("kv_cache", &both)
    }

    fn take_half_cache(&mut self, base: &RuleBase, half: &str, value: &str) -> Result<(), String> {
        let (_, value) = meaning::value(base, &self.framework.id, "kv_cache", value);
        check(base, &self.framework.id, "kv_cache", value)?;
        self.note(half, value)
    }

    fn take_pair(&mut self, base: &RuleBase, name: &str, value: &str) -> Result<(), String> {
        let spelt = name.replace('-', "_");
        let named = key(name).unwrap_or(if kind_of(&spelt).is_ok() { &spelt } else { name });
        let own = find(base, named).map_or(named, |framework| &framework.id);
        match own {
            DRIVER => return self.take_driver(value),
            CACHE_OF_KEYS | CACHE_OF_VALUES => return self.take_half_cache(base, own, value),
            "model" if self.take_model(base, value)? => return Ok(()),
            "model" => {
                self.open.push(value.to_owned());
                return Ok(());
            }
            _ if kind_of(own).is_err() && !meaning::is_near_key(own) => {
                self.open.push(format!("{name}={value}"));
                return Ok(());
            }
            _ => {}
        }
        if kind_of(own) == Ok(Kind::Package) {
            return self.say_package(base, own, value);
        }
        if named == "dtype" && !self.rows.has("compute_type") {
            return self.say_any(&meaning::format(base, self.framework, value));
        }
        let (key, value) = meaning::value(base, &self.framework.id, named, value);
        check(base, &self.framework.id, key, value)?;
        self.say_setting(base, key, value)
    }

    /// A word that a row says of itself, a setting without its name, or what holds of any framework.
    pub(super) fn take_word(&mut self, base: &RuleBase, token: &str) -> Result<bool, String> {
        let format = self.said.get("quantization").filter(|format| has_width(format, token));
        if let Some(format) = format.cloned() {
            return self.take_width(base, &format, token).map(|()| true);
        }
        if token == "jetpack" {
            return self.take_jetpack(base, None).map(|()| true);
        }
        let known = self.known_format(base, token);
        if let Some(known) = known.or_else(|| meaning::build(base, &self.framework.id, token)) {
            return self.say_setting(base, known.0, known.1).map(|()| true);
        }
        let is_package = find(base, token).is_some_and(|one| kind_of(&one.id) == Ok(Kind::Package));
        if !is_package && self.rows.narrow(|question| says(question, token)) {
            self.note_all(&plain(token))?;
            return Ok(true);
        }
        match &self.settings(base, token)[..] {
            [] if find(base, token).is_some() || generation(base, token).is_some() => {
                Ok(self.take_part(base, token))
            }
            [] => self.take_anything(base, token).map(|()| true),
            [(key, value)] => self.say_setting(base, key, value).map(|()| true),
            readings => self.say_any(readings).map(|()| true),
        }
    }

    /// The width of a format that was named, which may be a finer name together with it: `w8a8 int8`.
    fn take_width(&mut self, base: &RuleBase, format: &str, width: &str) -> Result<(), String> {
        let both = format!("{format}{width}");
        let Some(finer) = meant(base, &self.framework.id, "quantization", &both) else {
            return Ok(());
        };
        self.said.remove("quantization");
        self.say("quantization", finer)
    }

    /// The settings of this framework that a word may stand for, several where nobody can tell which. Beside a format of weights it may be
    /// the kernel for it.
    fn settings<'b>(&self, base: &'b RuleBase, token: &'b str) -> Vec<(&'static str, &'b str)> {
        let settings = meaning::settings(base, self.framework, token);
        let open = |(key, value): &&(&str, &str)| self.said.get(*key).is_none_or(|it| it == value);
        let possible: Vec<_> = settings.iter().filter(open).copied().collect();
        let beside = || meaning::kernel(base, token).filter(|_| !settings.is_empty());
        match possible.as_slice() {
            [] if settings.is_empty() && meaning::number_format(token).is_some() => {
                meaning::format(base, self.framework, token)
            }
            [] => beside().or_else(|| settings.first().copied()).into_iter().collect(),
            several => meaning::possible(several),
        }
    }

    /// A number format that the framework computes in or keeps weights in.
    fn known_format<'b>(&self, base: &'b RuleBase, word: &str) -> Option<(&'static str, &'b str)> {
        if self.rows.has("compute_type") {
            return meaning::number_format(word).map(|dtype| ("dtype", dtype));
        }
        meaning::known_format(base, &self.framework.id, word)
    }

    /// The number format that was asked for by the option.
    pub(super) fn take_format(&mut self, base: &RuleBase, word: &str) -> Result<(), String> {
        self.take_pair(base, "dtype", word)
    }

    /// Remembers what was typed, unless it contradicts what was typed before.
    pub(super) fn note(&mut self, key: &str, value: &str) -> Result<(), String> {
        let before = self.said.insert(key.to_owned(), value.to_owned());
        match before.filter(|one| one != value) {
            None => Ok(()),
            Some(before) if key == "model_type" => Err(two_models(&before, value)),
            Some(before) => Err(format!("{key}={before} and {key}={value} contradict each other")),
        }
    }

    /// Remembers the settings that a word named in every question that is left.
    fn note_all(&mut self, word: &str) -> Result<(), String> {
        let Some(first) = self.rows.0.first() else { return Ok(()) };
        let everywhere = |(key, value): &(&str, &str)| {
            let same = |one: &Question| one.config.get(key) == Some(value);
            plain(value) == word && self.rows.0.iter().all(same)
        };
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let named: Vec<_> = first.config.iter().filter(everywhere).map(owned).collect();
        named.iter().try_for_each(|(key, value)| self.note(key, value))
    }

    /// What was typed, unless it contradicts what was typed before. Of two names of one format the finer counts: `bnb 4bit`.
    pub(super) fn say(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (key, value) = match key {
            "dtype" if self.rows.has("compute_type") => ("compute_type", compute_type(value)),
            _ => (key, value),
        };
        if self.is_facet(key, value)? {
            return Ok(());
        }
        self.forget_implied(key);
        self.note(key, value)?;
        self.rows.set(key, value, self.said.contains_key("quantization"))
    }
}

pub(super) fn two_models(one: &str, other: &str) -> String {
    format!("{one} and {other} are two models; ask about one")
}
