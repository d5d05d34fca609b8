//! What the benchmark runs.

use std::path::PathBuf;

use super::typed::Typed;
use crate::config::{self, Id};
use crate::worker::PathDtype;
use crate::worker::precision::{Precision, precision, precisions};
use crate::worker::scheduler::{BenchMode, Budget};

/// What the benchmark runs.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchOptions {
    /// When it runs.
    pub wish: BenchMode,
    /// How much of a GPU it may take.
    pub allowance: Budget,
    /// Device of the micro decoder: `cpu`.
    pub device: String,
    /// What is measured: `all`, `cpu` or `gpu`.
    pub part: String,
    /// Weight profile: `clean`, `glm4`, `gemma3`, `kq` or `cancel`.
    pub profile: String,
    /// Number formats, each once, in the order named.
    pub dtypes: Vec<PathDtype>,
    /// Paths of the decoder on GPUs, each once, in the order named; those of the formats where none is named.
    pub paths: Vec<Precision>,
    /// Journal every sample is written into.
    pub record: Option<PathBuf>,
    /// Program to judge this one against.
    pub against: Option<PathBuf>,
    /// Blocks of each side where two take turns.
    pub blocks: u64,
}

impl BenchOptions {
    pub(super) fn of(get: &Typed<'_>) -> Self {
        let mut dtypes = Vec::new();
        for word in get.list(Id::Dtypes) {
            if let Some(dtype) = dtype(&word)
                && !dtypes.contains(&dtype)
            {
                dtypes.push(dtype);
            }
        }
        Self {
            wish: match get.text(Id::Bench).as_str() {
                "on" => BenchMode::On,
                "off" => BenchMode::Off,
                _ => BenchMode::Auto,
            },
            allowance: allowance(get),
            device: get.text(Id::Device),
            part: get.text(Id::BenchDevice),
            profile: get.text(Id::Profile),
            dtypes,
            paths: paths(&get.list(Id::Paths)),
            record: get.path(Id::Record),
            against: get.path(Id::Against),
            blocks: get.number(Id::Blocks).unwrap_or(1),
        }
    }
}

fn allowance(get: &Typed<'_>) -> Budget {
    let usual = Budget::default();
    Budget {
        share: get.percent(Id::BenchShare).unwrap_or(usual.share),
        memory_bytes: get.number(Id::BenchMemory).unwrap_or(usual.memory_bytes),
    }
}

fn paths(words: &[String]) -> Vec<Precision> {
    if words.iter().any(|word| word == config::ALL) {
        return precisions().collect();
    }
    let mut paths: Vec<Precision> = Vec::new();
    for path in words.iter().filter_map(|word| precision(word)) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn dtype(word: &str) -> Option<PathDtype> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DTYPES;

    #[test]
    fn every_number_format_of_the_table_is_one_of_the_benchmark() {
        for word in DTYPES {
            assert!(dtype(word).is_some(), "{word}");
        }
    }
}
