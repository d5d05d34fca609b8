//! Which files are planned where a word or a framework asks for another format than a model of the table is saved in.

use std::path::PathBuf;

use warpscope_probes::model::{Model, ShapeSource, WeightFormat};

use crate::engine::plan::{FRAMEWORKS, Family, Framework};

/// The files to plan.
pub(super) struct SelectedCopy {
    pub(super) named: PathBuf,
    pub(super) model: Model,
    /// Frameworks and configurations without the words that say the format.
    pub(super) queries: Vec<String>,
    /// Whether it is only known that such files are made, not that anyone publishes them.
    pub(super) is_usual: bool,
}

/// The mix that most repositories of GGUF files name first.
const USUAL_GGUF: &str = "-GGUF:Q4_K_M";

/// Words for formats that a model is saved in, and how names of such copies end.
const SAVED: &[(&str, &str)] = &[
    ("awq", "-AWQ"),
    ("gptq", "-GPTQ-Int4"),
    ("nvfp4", "-NVFP4"),
    ("gguf", USUAL_GGUF),
    ("exl2", "-4.0bpw-exl2"),
    ("exl3", "-4.0bpw-exl3"),
];

impl SelectedCopy {
    /// What was named, or a copy of it in the format that a word says or the only one that the frameworks load.
    pub(super) fn of(named: PathBuf, model: Model, queries: Vec<String>) -> Self {
        let asked = is_of_the_table(&model).then(|| {
            let words = || queries.iter().flat_map(|word| word.split([':', ' ', ',']));
            let said = words().find_map(|word| Some((word.to_owned(), ending(&model, word)?)));
            said.map(|(word, end)| (Some(word), end))
                .or_else(|| Some((None, needed(words().filter_map(framework))?)))
        });
        let Some((word, end)) = asked.flatten() else {
            return Self { named, model, queries, is_usual: false };
        };
        let (name, is_usual) = copy(&model, &end);
        let Some(copy) = Model::known(&name) else {
            return Self { named, model, queries, is_usual: false };
        };
        let queries = word.map_or(queries.clone(), |word| without(&queries, &word));
        Self { named: name.into(), model: copy, queries, is_usual }
    }
}

/// The published copy whose name ends so, else what one would be called, and whether it is the latter.
fn copy(model: &Model, end: &str) -> (String, bool) {
    let is_it = |id: &&str| id.to_ascii_lowercase().ends_with(&end.to_ascii_lowercase());
    if let Some(id) = Model::known_copies(&model.name).into_iter().find(is_it) {
        return (id.to_owned(), false);
    }
    let published = Model::published_gguf(&model.name).filter(|_| end == USUAL_GGUF);
    published
        .map_or_else(|| (format!("{}{end}", model.name), true), |name| (name.to_owned(), false))
}

/// Files that are here are what they are; of a model of the table others are published. Those that are saved
/// in MXFP4 or in blocks of FP8 are published as GGUF too.
fn is_of_the_table(model: &Model) -> bool {
    model.shape.as_ref().is_some_and(|shape| {
        let own = |format: &WeightFormat| ["mxfp4", "fp8_block"].contains(&&*format.name);
        shape.format.as_ref().is_none_or(own) && shape.source == ShapeSource::Table
    })
}

/// How the name of a copy ends that is saved as the word says.
fn ending(model: &Model, word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let saved = SAVED.iter().find(|row| row.0 == lower).map(|row| row.1.to_owned());
    let is_mix = || lower.starts_with(['q', 'i', 'u']) && lower.contains('_');
    saved.or_else(|| {
        let end = format!("-GGUF:{}", word.to_ascii_uppercase());
        let is_known = is_mix() && Model::known(&format!("{}{end}", model.name)).is_some();
        is_known.then_some(end)
    })
}

fn framework(word: &str) -> Option<&'static Framework> {
    let plain = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let name = plain(word.split(['@', '=']).next().unwrap_or_default());
    FRAMEWORKS.iter().find(|one| plain(one.id) == name)
}

/// The ending where all of the frameworks load one format alone.
fn needed(frameworks: impl Iterator<Item = &'static Framework>) -> Option<String> {
    let ends: Vec<Option<&str>> = frameworks
        .map(|one| match one.family {
            Family::LlamaCpp => Some(USUAL_GGUF),
            Family::ExLlama if one.id == "exllamav3" => Some("-4.0bpw-exl3"),
            Family::ExLlama => Some("-4.0bpw-exl2"),
            _ => None,
        })
        .collect();
    let first = (*ends.first()?)?;
    ends.iter().all(|end| *end == Some(first)).then(|| first.to_owned())
}

/// The words but the one for the format.
fn without(queries: &[String], word: &str) -> Vec<String> {
    let kept = |query: &String| {
        let words = query.split([':', ' ', ',']).filter(|one| *one != word && !one.is_empty());
        words.collect::<Vec<_>>().join(":")
    };
    queries.iter().map(kept).filter(|query| !query.is_empty()).collect()
}
