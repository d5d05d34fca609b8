//! What looks like a contradiction and is none: several names of one thing, several parts of it, several readings of a word.

use std::collections::BTreeSet;

use warpscope_probes::model::QUANTIZATIONS;

use super::asked::Asked;
use super::programs::cuda_of;
use super::rows::Rows;
use crate::engine::Question;
use crate::engine::vocabulary::{is_gguf, plain};

/// Between the readings of a word that may mean several things.
const OR: &str = " or ";

/// Builds that may hold any CUDA.
const OF_ANY_CUDA: &[&str] = &["docker", "source"];

/// Keys that may have several values in one question: forward and backward.
const SEVERAL: &[&str] = &["feature", "operation"];

/// Ways to pack weights, or to add to them, in which they may be in any of these formats.
const CONTAINERS: &[(&str, &[&str])] = &[
    ("auto-round", &["awq", "gptq", "int4", "w4a16", "w8a16"]),
    (
        "compressed-tensors",
        &[
            "awq",
            "fp8",
            "fp8_block",
            "gptq",
            "int4",
            "int8",
            "mxfp4",
            "nvfp4",
            "w4a16",
            "w4a8",
            "w8a16",
            "w8a8",
        ],
    ),
    ("fp8", &["modelopt_mixed"]),
    ("modelopt", &["awq", "fp8", "nvfp4", "w4a8"]),
    ("nvfp4", &["modelopt_mixed"]),
];

/// Whether a format of weights is one of those that go by the other name, or one of those that it may hold: `fp8_block` of `fp8`, `q4_k_m`
/// of `gguf`. An adapter is no format.
fn is_kind_of(format: &str, name: &str) -> bool {
    let row = |word: &str| QUANTIZATIONS.iter().find(move |one| one.word == word);
    let parts = |word: &str| word.split(['_', '-']).map(str::to_owned).collect::<BTreeSet<_>>();
    let held = CONTAINERS.iter().filter(|one| one.0 == name).flat_map(|one| one.1);
    let is_held = held.into_iter().any(|one| parts(one).is_subset(&parts(format)));
    let is_loaded = row(name).is_some_and(|one| one.also.contains(&format));
    let is_coarse = row(format).is_some_and(|one| one.coarse.contains(&name));
    let is_longer = format != name && parts(name).is_subset(&parts(format));
    format != name && (is_held || is_loaded || is_coarse || is_longer || name == "lora")
        || name == "gguf" && is_gguf(&plain(format))
}

/// Whether two formats are numbers that different parts of the weights may be in: FP4 experts in an FP8 model.
fn are_of_parts(one: &str, other: &str) -> bool {
    let is_number = |word: &str| {
        let widths = ["fp4", "fp8", "int4", "int8", "mxfp4", "mxfp8", "nvfp4"];
        word.split(['_', '-', ' ']).any(|word| widths.contains(&word))
    };
    is_number(one) && is_number(other)
}

impl Asked<'_> {
    /// Whether a setting says nothing against one of the same key that was named before, and is heard by that. What it replaces is forgotten.
    pub(super) fn is_facet(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let Some(before) = self.said.get(key).filter(|before| *before != value).cloned() else {
            return Ok(false);
        };
        match key {
            "quantization" => Ok(self.is_same_format(&before, value)),
            "wheel" => self.is_build_for_cuda(&before, value),
            _ if SEVERAL.contains(&key) => self.say_too(key, &before, value).map(|()| true),
            _ => Ok(false),
        }
    }

    /// Two names of one format, of which the finer counts, or two number formats, of which the second may be that of a part of the weights.
    fn is_same_format(&mut self, before: &str, value: &str) -> bool {
        let mut readings = before.split(OR);
        if readings.clone().any(|one| is_kind_of(one, value)) {
            return true;
        }
        if let Some(one) = readings.find(|one| *one == value || is_kind_of(value, one)) {
            self.rows.narrow(|row| row.config.get("quantization") == Some(one));
            self.said.remove("quantization");
            return false;
        }
        let are_parts = are_of_parts(before, value);
        self.open.extend(are_parts.then(|| value.to_owned()));
        are_parts
    }

    /// An image or a build of one's own, and the CUDA in it.
    fn is_build_for_cuda(&mut self, before: &str, value: &str) -> Result<bool, String> {
        let (holds_any, cuda) = match (cuda_of(before), cuda_of(value)) {
            (None, Some(cuda)) => (before, cuda),
            (Some(cuda), None) => (value, cuda),
            _ => return Ok(false),
        };
        if !OF_ANY_CUDA.contains(&holds_any) {
            return Ok(false);
        }
        if !self.said.contains_key("cuda") {
            self.say("cuda", &cuda)?;
        }
        if holds_any == value {
            self.said.remove("wheel");
        }
        Ok(holds_any == before)
    }

    /// Another value of a key that has one already, in rows of its own. Whether both go together is not known.
    fn say_too(&mut self, key: &str, before: &str, value: &str) -> Result<(), String> {
        if before.split(OR).any(|one| one == value) {
            return Ok(());
        }
        let mut rows = Rows(self.rows.0.clone());
        rows.set(key, value, self.said.contains_key("quantization"))?;
        let is_new = |row: &Question| !self.rows.0.iter().any(|one| one.is_same(row));
        let new: Vec<_> = rows.0.into_iter().filter(is_new).collect();
        self.rows.0.extend(new);
        self.said.insert(key.to_owned(), format!("{before}{OR}{value}"));
        if key == "feature" {
            self.open.push(format!("{value} together with {before}"));
        }
        Ok(())
    }

    /// The one thing that a word means, or whatever it may mean, each in rows of its own.
    pub(super) fn say_any(&mut self, readings: &[(&'static str, &str)]) -> Result<(), String> {
        let [(key, _), others @ ..] = readings else { return Ok(()) };
        let is_said = |(key, value): &&(&str, &str)| {
            let kin = |one: &str| is_kind_of(one, value) || is_kind_of(value, one);
            let said = self.said.get(*key);
            said.is_some_and(|said| said.split(OR).any(|one| one == *value || kin(one)))
        };
        let agreed = readings.iter().find(is_said);
        let is_named = readings.iter().any(|one| self.said.contains_key(one.0));
        let is_one = is_named || others.is_empty();
        if let Some((key, value)) = agreed.or(readings.first().filter(|_| is_one)) {
            return self.say(key, value);
        }
        let mut all: Vec<Question> = Vec::new();
        for (key, value) in readings {
            let mut rows = Rows(self.rows.0.clone());
            rows.set(key, value, *key == "quantization")?;
            let is_new = |row: &Question| !all.iter().any(|one| one.is_same(row));
            let new: Vec<_> = rows.0.into_iter().filter(is_new).collect();
            all.extend(new);
        }
        self.rows = Rows(all);
        if others.iter().all(|other| other.0 == *key) {
            let values: Vec<&str> = readings.iter().map(|one| one.1).collect();
            self.said.insert((*key).to_owned(), values.join(OR));
        }
        Ok(())
    }
}
