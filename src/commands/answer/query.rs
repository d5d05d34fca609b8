//! Words of the command line into questions: `lmdeploy pytorch`, `vllm@0.8.5 awq`, `glm-4 fp16 vllm==0.9.2`, `vllm:awq`.
//!
//! The words that exist are those of the rule files: names of frameworks, and whatever the rows of a framework say of themselves.
//! So a new rule file needs no change here.

use std::collections::BTreeMap;
use std::fmt;

use warpscope_probes::releases;
use warpscope_probes::rules::{ConfigRow, Framework, Kind, RuleBase, Version, dtype_id, kind_of};

use crate::commands::answer::vocabulary;
use crate::config::near;
use crate::engine::{Assumptions, Origin, Question, distinct};

/// A word that means nothing, with what was perhaps meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

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

/// A number format as CTranslate2 spells it, which has a compute type instead.
fn compute_type(dtype: &str) -> &str {
    match dtype {
        "fp16" => "float16",
        "bf16" => "bfloat16",
        "fp32" => "float32",
        other => other,
    }
}

fn known_dtype(word: &str) -> Result<&'static str, UsageError> {
    dtype_id(&word.to_ascii_lowercase()).ok_or_else(|| {
        UsageError(format!(
            "--dtype {word:?} is not a number format; `warpscope dtypes` lists them"
        ))
    })
}

/// One framework, and what is left of its rows after the words so far.
struct Asked<'a> {
    framework: &'a Framework,
    questions: Vec<Question>,
    /// Settings that were named, which no later word may contradict.
    said: BTreeMap<String, String>,
}

impl<'a> Asked<'a> {
    /// Starts with `name`, `name@version` or `name==version`.
    fn named(base: &'a RuleBase, token: &str) -> Result<Self, UsageError> {
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
            Some((public, local)) if vocabulary::knows(base, &framework.id, "wheel", local) => {
                asked.set_version(public)?;
                asked.say("wheel", local)?;
            }
            Some(_) => {
                asked.set_version(own_version(framework, name, version.unwrap_or_default())?)?
            }
            None => {}
        }
        Ok(asked)
    }

    /// A date stands for the newest release of its time, where the releases are known.
    fn set_version(&mut self, version: &str) -> Result<(), UsageError> {
        let version = releases::release_on(&self.framework.id, version).unwrap_or(version);
        warpscope_probes::rules::check_value("torch", version).map_err(UsageError)?;
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
    fn take(&mut self, base: &RuleBase, token: &str) -> Result<bool, UsageError> {
        let (name, version) = split_version(token);
        if let (Some(version), true) = (version, self.has_package(name)) {
            self.say(name, version)?;
            return Ok(true);
        }
        if let Some((key, value)) = token.split_once('=').filter(|_| version.is_none()) {
            let value =
                dtype_id(value).filter(|_| kind_of(key) == Ok(Kind::Dtype)).unwrap_or(value);
            let meant = self.meant(base, key, value);
            let (key, value) = meant.unwrap_or((key, value));
            vocabulary::check(base, &self.framework.id, key, value).map_err(UsageError)?;
            self.say(key, value)?;
            let wheel = format!("cu{}", value.replace('.', ""));
            if key == "cuda" && vocabulary::knows(base, &self.framework.id, "wheel", &wheel) {
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
        Err(self.unknown_word(token))
    }

    /// What people mean by a value that the framework does not know: the format of the weights where no number is computed in it, and
    /// the long form of a short word.
    fn meant(
        &self,
        base: &'a RuleBase,
        key: &str,
        value: &str,
    ) -> Option<(&'static str, &'static str)> {
        let knows = |key, value| vocabulary::knows(base, &self.framework.id, key, value);
        let is_weights = key == "dtype" && value == "fp8_e4m3" && !knows("dtype", value);
        if is_weights && knows("quantization", "fp8") {
            return Some(("quantization", "fp8"));
        }
        let short =
            LONG.iter().find(|row| ["dtype", "quantization"].contains(&key) && row.0 == value);
        let long = short?.1;
        (!knows(key, value) && knows("quantization", long)).then_some(("quantization", long))
    }

    fn has_package(&self, name: &str) -> bool {
        self.questions.iter().any(|question| question.config.get(name).is_some())
    }

    /// What was typed, unless it contradicts what was typed before.
    fn say(&mut self, key: &str, value: &str) -> Result<(), UsageError> {
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

fn split_version(token: &str) -> (&str, Option<&str>) {
    token
        .split_once("==")
        .or_else(|| token.split_once('@'))
        .map_or((token, None), |(name, version)| (name, Some(version)))
}

/// The version of the framework where another package that brings it was named: a fresh install takes the newest that is accepted.
fn own_version<'a>(
    framework: &'a Framework,
    name: &str,
    version: &'a str,
) -> Result<&'a str, UsageError> {
    let mut known =
        framework.dependents.iter().filter(|one| plain(&one.name) == plain(name)).peekable();
    if known.peek().is_none() || releases::release_on(&framework.id, version).is_some() {
        return Ok(version);
    }
    let named: Version = version.parse().map_err(|error| UsageError(format!("{error}")))?;
    let taken = known.find(|one| one.versions.contains(Some(&named)) == Some(true));
    taken.map(|one| one.takes.as_str()).ok_or_else(|| {
        UsageError(format!(
            "which {0} {name} {version} takes is not known; ask with its own version: {1}@VERSION",
            framework.name, framework.id
        ))
    })
}

/// Letters and digits only, in lower case: `Flash-Attention 2` and `flash_attention_2` are one word.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn find<'a>(base: &'a RuleBase, name: &str) -> Option<&'a Framework> {
    let name = plain(name);
    let is = |text: &str| plain(text) == name;
    base.frameworks()
        .iter()
        .find(|one| is(&one.id) || is(&one.name) || one.aliases.iter().any(|alias| is(alias)))
}

/// Formats of weights as people say them, and as frameworks with that name for it do.
const LONG: &[(&str, &str)] = &[
    ("int8", "llm_int8"),
    ("bnb", "nf4"),
    ("bitsandbytes", "nf4"),
    ("float8", "float8_dynamic"),
    ("fp8", "float8_dynamic"),
];

/// Short words people use for settings, in [`plain`] spelling.
const SHORT: &[(&str, &str)] = &[
    ("fa2", "flashattention2"),
    ("fa3", "flashattention3"),
    ("4bit", "nf4"),
    ("8bit", "llmint8"),
    ("image", "docker"),
];

/// Whether a row says this word of itself: in its settings, its id or its label.
fn says(question: &Question, token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    if let Some(dtype) =
        dtype_id(&lower).filter(|dtype| question.config.get("dtype") == Some(dtype))
    {
        return !dtype.is_empty();
    }
    if dtype_id(&lower).is_some_and(|id| id != "fp8_e4m3") {
        return false;
    }
    let token = plain(token);
    let label = question.words();
    let words = label
        .split([' ', '·', ',', '(', ')'])
        .chain(question.config.iter().flat_map(|(key, value)| [key, value]));
    let long = SHORT.iter().find(|row| row.0 == token).map_or("", |row| row.1);
    words.map(plain).any(|word| word == token || (!long.is_empty() && word == long))
}

fn unknown_framework(base: &RuleBase, name: &str) -> UsageError {
    let names = base.frameworks().iter().flat_map(|one| {
        let names = one.aliases.iter().chain([&one.id, &one.name]);
        names.map(|name| (plain(name), one.id.as_str()))
    });
    let names: Vec<_> = names.collect();
    let near = near(&plain(name), names.iter().map(|row| row.0.as_str()));
    let mut ids: Vec<&str> = Vec::new();
    for (_, id) in near.iter().filter_map(|near| names.iter().find(|row| row.0 == *near)) {
        if !ids.contains(id) {
            ids.push(id);
        }
    }
    let hint = match ids.split_last() {
        None => ";".to_owned(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    };
    UsageError(format!(
        "{name:?} is not a known framework{hint} `warpscope frameworks` lists all {}",
        base.frameworks().len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(words: &[&str]) -> Result<Vec<String>, UsageError> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let questions = questions(RuleBase::builtin(), &words, None)?;
        let line = |one: Question| {
            format!("{} {} | {}", one.framework, one.version.unwrap_or_default(), one.config)
        };
        Ok(questions.into_iter().map(line).collect())
    }

    #[test]
    fn words_pick_frameworks_and_rows() {
        assert!(ask(&["ktransformers"]).is_ok_and(|all| all.len() > 1));
        assert_eq!(ask(&["LMDeploy", "PyTorch"]), ask(&["lmdeploy:pytorch"]));
        assert_eq!(ask(&["vllm", "awq"]).map(|all| all.len()), Ok(1));
        assert_eq!(
            ask(&["vllm@0.8.5", "awq"]),
            Ok(vec!["vllm 0.8.5 | dtype=fp16 quantization=awq".to_owned()])
        );
        assert_eq!(ask(&["vllm@2025-04", "awq"]), ask(&["vllm@0.8.5", "awq"]));
        assert_eq!(ask(&["vllm==0.8.5", "quantization=awq"]), ask(&["vllm@0.8.5:awq"]));
        assert_eq!(ask(&["vila fa2"]), ask(&["vila", "attention=flash_attention_2"]));
    }

    #[test]
    fn a_version_of_a_package_around_it_is_not_its_own() {
        assert!(
            ask(&["faster-whisper@1.1.1"]).is_ok_and(|all| all[0].starts_with("ctranslate2 4."))
        );
        assert_eq!(ask(&["whisperx@3.4.2"]), ask(&["ctranslate2@4.4.0"]));
        assert!(ask(&["whisperx@2.0"]).is_err_and(|error| error.0.contains("ctranslate2@VERSION")));
    }

    #[test]
    fn short_words_for_weights_mean_what_the_framework_calls_them() {
        assert_eq!(
            ask(&["transformers", "quantization=int8"]),
            ask(&["transformers", "quantization=llm_int8"])
        );
        assert_eq!(ask(&["bitsandbytes", "int8"]), ask(&["bitsandbytes", "quantization=llm_int8"]));
        assert_eq!(ask(&["comfyui", "dtype=fp8"]), ask(&["comfyui", "quantization=fp8"]));
        assert_eq!(
            ask(&["torchao", "quantization=float8"]),
            ask(&["torchao", "quantization=float8_dynamic"])
        );
    }

    #[test]
    fn dtypes_are_understood_in_every_spelling() {
        let want = ask(&["glm-4", "fp16"]).expect("rows");
        for word in ["float16", "half", "dtype=float16", "dtype=fp16"] {
            assert_eq!(ask(&["GLM-4", word]), Ok(want.clone()), "{word}");
        }
        assert!(want.iter().all(|line| line.contains("dtype=fp16")));
    }

    #[test]
    fn a_number_format_is_a_compute_type_where_a_framework_has_those() {
        let want = ask(&["ctranslate2", "compute_type=int8"]);
        for word in ["int8", "dtype=int8"] {
            assert_eq!(ask(&["ctranslate2", word]), want, "{word}");
        }
        assert_eq!(want.map(|lines| lines.len()), Ok(1));
        assert_eq!(
            ask(&["faster-whisper", "bf16"]),
            ask(&["ctranslate2", "compute_type=bfloat16"])
        );
    }

    #[test]
    fn the_cuda_of_a_build_names_its_wheel() {
        let lines = ask(&["torch@2.7.0+cu128"]).expect("rows");
        let is_so =
            |line: &String| line.starts_with("torch 2.7.0 |") && line.contains("wheel=cu128");
        assert!(lines.iter().all(is_so), "{lines:?}");
        let lines = ask(&["torch@2.7.0", "cuda=12.8"]).expect("rows");
        assert!(lines.iter().all(is_so), "{lines:?}");
        assert!(ask(&["torch@2.7.0+cu128", "cuda=12.6"]).is_err());
    }

    #[test]
    fn every_framework_can_be_asked_about() {
        for framework in RuleBase::builtin().frameworks() {
            assert!(ask(&[&framework.id]).is_ok_and(|lines| !lines.is_empty()), "{}", framework.id);
        }
    }

    #[test]
    fn presets_hide_nothing() {
        let lines = ask(&["sglang", "dtype=fp16"]).expect("rows");
        let plain = |line: &String| line.contains("dtype=fp16") && !line.contains("quantization");
        assert!(lines.iter().any(plain), "{lines:?}");
    }

    #[test]
    fn a_package_in_a_row_can_be_given_a_version() {
        let lines = ask(&["glm-4", "fp16", "vllm==0.9.0"]).expect("rows");
        assert!(lines.iter().any(|line| line.contains("vllm=0.9.0")), "{lines:?}");
        let lines = ask(&["lmdeploy", "pytorch", "triton=3.3.0"]).expect("rows");
        let given = |line: &String| line.ends_with("engine=pytorch triton=3.3.0");
        assert!(!lines.is_empty() && lines.iter().all(given), "{lines:?}");
    }

    #[test]
    fn a_second_framework_starts_a_second_question() {
        let lines = ask(&["vllm", "awq", "ktransformers", "docker"]).expect("rows");
        assert_eq!(lines.len(), 3);
        assert!(lines[1].starts_with("ktransformers 0.1.1"), "{lines:?}");
    }

    #[test]
    fn no_words_ask_everything_once() {
        assert_eq!(ask(&[]).map(|all| all.len()), Ok(RuleBase::builtin().configs().len()));
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_nearest() {
        let message = |words: &[&str]| ask(words).expect_err("a mistake").0;
        assert!(message(&["vlmm"]).contains("did you mean vllm"));
        assert!(message(&["ktransformer"]).contains("did you mean ktransformers"));
        assert!(message(&["lmdeploy", "nonesuch"]).contains("PyTorch · fp16"));
        assert!(message(&["vllm", "attention=flashinfr"]).contains("did you mean flashinfer?"));
        assert!(message(&["vllm", "quantization=awq", "quantization=gptq"]).contains("contradict"));
        assert!(message(&["vllm@new"]).contains("not a version"));
        assert!(message(&["vllm", "dtyp=fp16"]).contains("known: engine, dtype"));
        assert!(message(&["\u{1b}[31m"]).contains("\\u{1b}"));
    }
}
