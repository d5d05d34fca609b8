//! The index of weights in several files: which files there are, and their size together.
//!
//! It names every tensor, some hundred thousand of them in the largest models, so it is folded while it is read.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::ModelError;
use crate::bounded;

/// Indexes of the largest models have some thirty megabytes.
const MOST_INDEX: u64 = 128 << 20;
/// Files the largest models are split into.
const MOST_FILES: usize = 10_000;

/// What an index says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// Names of files; only those in the folder itself are ever opened.
    pub(super) files: BTreeSet<String>,
    pub(super) total_size: Option<u64>,
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    metadata: Metadata,
    weight_map: Files,
}

#[derive(Default, Deserialize)]
struct Metadata {
    /// A float in some indexes.
    total_size: Option<f64>,
}

struct Files(BTreeSet<String>);

impl Index {
    pub(super) fn read(path: &Path) -> Result<Self, ModelError> {
        let file = bounded::open(path).map_err(|error| ModelError::io(path, &error))?;
        Self::parse(file).map_err(|message| ModelError::new(path, message))
    }

    pub(super) fn parse(reader: impl Read) -> Result<Self, String> {
        let text: Text = serde_json::from_reader(BufReader::new(reader.take(MOST_INDEX)))
            .map_err(|error| format!("is no index of weights: {error}"))?;
        let size = text.metadata.total_size.filter(|size| *size >= 1.0);
        Ok(Self { files: text.weight_map.0, total_size: size.map(|size| size as u64) })
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fold).map(Self)
    }
}

struct Fold;

impl<'de> Visitor<'de> for Fold {
    type Value = BTreeSet<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of tensors and their files")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut files = BTreeSet::new();
        while let Some((_, file)) = map.next_entry::<IgnoredAny, String>()? {
            if !files.contains(&file) && files.len() >= MOST_FILES {
                return Err(A::Error::custom("more files than a model is split into"));
            }
            files.insert(file);
        }
        Ok(files)
    }
}
