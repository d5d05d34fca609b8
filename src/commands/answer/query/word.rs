//! What single words mean: names of frameworks, versions, settings in short.

use warpscope_probes::releases;
use warpscope_probes::rules::{Framework, RuleBase, Version, dtype_id};

use super::error::UsageError;
use crate::config::near;
use crate::engine::Question;
use crate::engine::vocabulary::plain;

/// A number format as CTranslate2 spells it, which has a compute type instead.
pub(super) fn compute_type(dtype: &str) -> &str {
    match dtype {
        "fp16" => "float16",
        "bf16" => "bfloat16",
        "fp32" => "float32",
        other => other,
    }
}

pub(super) fn split_version(token: &str) -> (&str, Option<&str>) {
    token
        .split_once("==")
        .or_else(|| token.split_once('@'))
        .map_or((token, None), |(name, version)| (name, Some(version)))
}

/// The version of the framework where another package that brings it was named: a fresh install takes the newest that is accepted. A date
/// stands for a release of the framework, but not where the package brings its own copy.
pub(super) fn own_version<'a>(
    framework: &'a Framework,
    name: &str,
    version: Option<&'a str>,
) -> Result<Option<&'a str>, UsageError> {
    let Some(version) = version else { return Ok(framework.inside(name, None)) };
    let mut known = framework.dependents_named(name).peekable();
    let brings_its_own = framework.inside(name, None).is_some();
    let dated = || !brings_its_own && releases::release_on(&framework.id, version).is_some();
    if known.peek().is_none() || dated() {
        return Ok(Some(version));
    }
    let named: Version = version.parse().map_err(|error| UsageError(format!("{error}")))?;
    framework.inside(name, Some(&named)).map(Some).ok_or_else(|| {
        UsageError(format!(
            "which {0} {name} {version} takes is not known; ask with its own version: {1}@VERSION",
            framework.name, framework.id
        ))
    })
}

pub(super) fn find<'a>(base: &'a RuleBase, name: &str) -> Option<&'a Framework> {
    let name = plain(name);
    let is = |text: &str| plain(text) == name;
    base.frameworks()
        .iter()
        .find(|one| is(&one.id) || is(&one.name) || one.aliases.iter().any(|alias| is(alias)))
}

/// Formats of weights as people say them, and as frameworks with that name for it do.
pub(super) const LONG: &[(&str, &str)] = &[
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
pub(super) fn says(question: &Question, token: &str) -> bool {
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

pub(super) fn unknown_framework(base: &RuleBase, name: &str) -> UsageError {
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
