//! What words mean as settings of a framework, with and without the name of the setting.

use std::collections::BTreeSet;

use warpscope_probes::model::{Model, QUANTIZATIONS};
use warpscope_probes::rules::{Framework, KEYS, Kind, MODELS, RuleBase, dtype_id, kind_of};

use super::rows::says;
use crate::config::nearest;
use crate::engine::Question;
use crate::engine::vocabulary::{CLOSED, is_width, known, knows, meant, plain};

/// Settings whose values are words of their own, most likely first.
pub(super) const BARE: &[&str] = &[
    "quantization",
    "attention",
    "kernel",
    "engine",
    "compute_type",
    "feature",
    "operation",
    "wheel",
    "platform",
];

/// Settings that any framework can have, also with a value that none of its rules names.
const ANYWHERE: &[&str] = &["wheel", "platform"];

/// Settings that are asked about under the names that others have for them.
const ELSEWHERE: &[&str] = &["feature", "operation", "attention", "quantization", "kernel"];

/// Servers of language models of which a part serves models for images.
const WITH_DIFFUSION: &[&str] = &["sglang", "vllm"];

/// Number formats that weights alone are rarely kept in.
const WIDE: &[&str] = &["auto", "bf16", "fp16", "fp32", "fp64", "tf32"];

/// A number format as CTranslate2 spells it, which has a compute type instead.
pub(super) fn compute_type(dtype: &str) -> &str {
    match dtype {
        "fp16" => "float16",
        "bf16" => "bfloat16",
        "fp32" => "float32",
        other => other,
    }
}

/// The number format a word means, whatever the case of its letters.
pub(super) fn number_format(word: &str) -> Option<&'static str> {
    dtype_id(&word.to_ascii_lowercase())
}

/// A number format where the framework computes in it, or else keeps weights in it.
pub(super) fn known_format<'a>(
    base: &'a RuleBase,
    framework: &str,
    word: &str,
) -> Option<(&'static str, &'a str)> {
    let dtype = number_format(word)?;
    if WIDE.contains(&dtype) || knows(base, framework, "dtype", dtype) {
        return Some(("dtype", dtype));
    }
    let weights = |name| meant(base, framework, "quantization", name);
    Some(("quantization", weights(word).or_else(|| weights(dtype))?))
}

/// The same where the framework knows it as neither: to compute in, or each format of weights that it may be.
pub(super) fn format<'a>(
    base: &'a RuleBase,
    framework: &Framework,
    word: &'a str,
) -> Vec<(&'static str, &'a str)> {
    if let Some(known) = known_format(base, &framework.id, word) {
        return vec![known];
    }
    let said = plain(word);
    let formats = known(base, &framework.id, "quantization").into_iter();
    let near: Vec<_> = formats
        .filter(|format| plain(format).contains(&said))
        .map(|format| ("quantization", format))
        .collect();
    match number_format(word) {
        Some(_) if !near.is_empty() => near,
        format => vec![("dtype", format.unwrap_or(word))],
    }
}

/// A value that was given under its key, as the framework spells it.
pub(super) fn value<'a>(
    base: &'a RuleBase,
    framework: &str,
    key: &'a str,
    value: &'a str,
) -> (&'a str, &'a str) {
    let spelt = match kind_of(key) {
        Ok(Kind::Dtype) => number_format(value),
        Ok(Kind::Word) => meant(base, framework, key, value),
        _ => None,
    };
    (key, spelt.unwrap_or(value))
}

/// Everything a word alone may set. A format of weights is no kernel by itself, though some kernels are called like one.
pub(super) fn settings<'a>(
    base: &'a RuleBase,
    framework: &Framework,
    word: &str,
) -> Vec<(&'static str, &'a str)> {
    let setting = |key: &&'static str| Some((*key, meant(base, &framework.id, key, word)?));
    let found: Vec<_> = BARE.iter().filter_map(setting).collect();
    let is_attention = found.iter().any(|one| one.0 == "attention");
    let is_kernel = |value: &str| !is_format(value) && !is_attention;
    found.into_iter().filter(|(key, value)| *key != "kernel" || is_kernel(value)).collect()
}

fn is_format(word: &str) -> bool {
    QUANTIZATIONS.iter().any(|format| format.word == word)
}

/// A build or a system of this framework.
pub(super) fn build<'a>(
    base: &'a RuleBase,
    framework: &str,
    word: &str,
) -> Option<(&'static str, &'a str)> {
    let named = |key: &&'static str| Some((*key, meant(base, framework, key, word)?));
    ANYWHERE.iter().find_map(named)
}

/// A kernel of whichever framework.
pub(super) fn kernel<'a>(base: &RuleBase, word: &'a str) -> Option<(&'static str, &'a str)> {
    let known = |one: &Framework| knows(base, &one.id, "kernel", word);
    (!is_format(word) && base.frameworks().iter().any(known)).then_some(("kernel", word))
}

/// Whether a word names a format of weights of this framework that is a kernel for others too: `marlin`.
pub(super) fn is_kernel_and_format(base: &RuleBase, framework: &Framework, word: &str) -> bool {
    meant(base, &framework.id, "quantization", word).is_some() && kernel(base, word).is_some()
}

/// The type of a model that rules of this framework, or of any, speak of.
pub(super) fn model_type<'a>(
    base: &'a RuleBase,
    framework: &str,
    word: &str,
) -> Option<(&'static str, &'a str)> {
    let typed = word;
    let word = &match &*word.to_ascii_lowercase().replace('-', "_") {
        // Its config.json says so.
        "deepseek_r1" => "deepseek_v3".to_owned(),
        "flux.1" => "flux".to_owned(),
        other => other.to_owned(),
    };
    let own = || meant(base, framework, "model_type", word);
    let common = || {
        let mut types = base.frameworks().iter().flat_map(|one| &one.common_models);
        types.find(|one| plain(one) == plain(word)).map(String::as_str)
    };
    let ids = || base.frameworks().iter().map(|one| &*one.id).chain([MODELS]);
    let elsewhere = || ids().find_map(|id| meant(base, id, "model_type", word));
    let is_model = || Model::known(typed).is_some();
    let of_family = || Model::type_of_family(typed).filter(|_| !is_model());
    let family = || of_family().or_else(|| only_kind(base, word));
    Some(("model_type", own().or_else(common).or_else(elsewhere).or_else(family)?))
}

/// The only type of which a word is the first part: `internvl` of `internvl_chat`.
fn only_kind<'a>(base: &'a RuleBase, word: &str) -> Option<&'a str> {
    let ids = base.frameworks().iter().map(|one| &*one.id).chain([MODELS]);
    let all: BTreeSet<&str> = ids.flat_map(|id| known(base, id, "model_type")).collect();
    let first = |kind: &str| kind.strip_prefix(word).is_some_and(|rest| rest.starts_with('_'));
    let mut found = all.into_iter().filter(|kind| first(kind));
    found.next().filter(|_| found.next().is_none())
}

/// Whether a word means something behind the name of this framework.
pub(super) fn is_known(base: &RuleBase, framework: &Framework, word: &str) -> bool {
    let rows = || base.configs().iter().filter(|row| row.framework == framework.id);
    is_width(word)
        || number_format(word).is_some()
        || !settings(base, framework, word).is_empty()
        || anywhere(base, &framework.id, word).is_some()
        || model_type(base, &framework.id, word).is_some()
        || is_way_to_guess(word)
        || rows().any(|row| says(&Question::of_row(base, row), word))
}

/// A setting that another framework has, where this one has no list of its own that it would stand in.
pub(super) fn elsewhere<'a>(
    base: &'a RuleBase,
    framework: &Framework,
    word: &str,
) -> Option<(&'static str, &'a str)> {
    let ids = || base.frameworks().iter().map(|one| &one.id);
    let named = |key: &&'static str| Some((*key, ids().find_map(|id| meant(base, id, key, word))?));
    let (key, value) = ELSEWHERE.iter().find_map(named)?;
    check(base, &framework.id, key, value).ok().map(|()| (key, value))
}

/// Whether the name of a setting may be a known one that was misspelt.
pub(super) fn is_near_key(name: &str) -> bool {
    nearest(name, KEYS.iter().map(|row| row.0)).is_some()
}

/// Whether a word only says that a build is a package, and not which.
pub(super) fn is_noun_of_build(word: &str) -> bool {
    ["pip", "wheel", "wheels", "whl"].contains(&&*plain(word))
}

/// Whether a word says that tokens are guessed ahead, of which frameworks without a rule say nothing.
pub(super) fn is_way_to_guess(word: &str) -> bool {
    ["eagle", "eagle3", "medusa", "mtp", "nextn", "ngram", "speculative"].contains(&&*plain(word))
}

/// What of several settings may be meant: a feature or an operation is the same under another name, others are not.
pub(super) fn possible<'a>(settings: &[(&'static str, &'a str)]) -> Vec<(&'static str, &'a str)> {
    let apart = settings.iter().filter(|one| CLOSED.contains(&one.0));
    match apart.clone().count() {
        0 | 1 => settings.first().into_iter().copied().collect(),
        _ => apart.copied().collect(),
    }
}

/// A build or a system, by the words that any framework has for it: `cu128`, `windows`.
pub(super) fn anywhere<'a>(
    base: &'a RuleBase,
    framework: &str,
    word: &'a str,
) -> Option<(&'static str, &'a str)> {
    let mut frameworks = base.frameworks().iter();
    match plain(word).as_str() {
        "aarch64" | "arm64" => Some(("platform", "linux-aarch64")),
        "x8664" | "amd64" => Some(("platform", "linux")),
        "noavx" => Some(("feature", "no_avx")),
        "noavx2" => Some(("feature", "no_avx2")),
        "diffusion" if WITH_DIFFUSION.contains(&framework) => Some(("feature", "diffusion")),
        _ => frameworks.find_map(|one| build(base, &one.id, word)),
    }
}

/// An error where the framework knows values for this key and this is none of them.
pub(super) fn check(
    base: &RuleBase,
    framework: &str,
    key: &str,
    value: &str,
) -> Result<(), String> {
    let known = known(base, framework, key);
    if !CLOSED.contains(&key) || known.is_empty() || known.contains(value) {
        return Ok(());
    }
    let near = nearest(value, known.iter().copied());
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let known: Vec<&str> = known.into_iter().collect();
    Err(format!("{value:?} is no {key} known of {framework}{hint}; known: {}", known.join(", ")))
}
