//! The edge: opens what was named and hands its bytes to the parser of its format.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::safetensors::Weights;
use super::{Facts, Model, ModelError, Shape, folder, gguf};
use crate::bounded::{self, Accept};

/// Configurations that name every layer have some hundred kilobytes. Their values take many times their text.
const MOST_JSON: u64 = 4 << 20;

/// Name of the detail that says what is missing.
pub(super) const UNFINISHED: &str = "unfinished";

/// What a model can be given as.
const WAYS: &str = "name a model's folder, its config.json, a .gguf or a .safetensors file that is on this machine";

impl Model {
    /// Reads a model's folder, its `config.json`, a GGUF file, or a safetensors file or index. Weights are not read, only their headers.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => ModelError::new(path, format!("is not there; {WAYS}")),
            _ => ModelError::io(path, &error),
        })?;
        if meta.is_dir() {
            return Ok(Self::of(folder::name(path), folder::read(path)?));
        }
        if !meta.is_file() {
            return Err(ModelError::new(path, format!("is neither a file nor a folder; {WAYS}")));
        }
        Self::read_file(path)
    }

    fn read_file(path: &Path) -> Result<Self, ModelError> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let whole = ["config.json", "model.safetensors.index.json"].contains(&&*name);
        if whole {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new("."));
            return Ok(Self::of(folder::name(parent), folder::read(parent)?));
        }
        let facts = match magic(path)? {
            gguf::MAGIC => gguf_files(&folder::parts(path))?,
            _ if name.ends_with(".gguf") => {
                return Err(ModelError::new(
                    path,
                    "is no GGUF file: it does not begin with GGUF; download it again",
                ));
            }
            _ if name.ends_with(".safetensors") => of_weights(&safetensors_file(path)?),
            _ if name.ends_with(".json") => {
                let config = json(path)?;
                super::config::describe(&config, None)
                    .map_err(|message| ModelError::new(path, message))?
            }
            _ => return Err(ModelError::new(path, format!("is no model warpscope reads; {WAYS}"))),
        };
        Ok(Self::of(name.into_owned(), facts))
    }

    /// What of it is not here; none where all is.
    pub fn unfinished(&self) -> Option<&str> {
        self.details.iter().find(|row| row.0 == UNFINISHED).map(|row| row.1.as_str())
    }

    /// The path a framework loads a local model from: the first part of a split GGUF file, else the path itself.
    pub fn file(path: &Path) -> PathBuf {
        folder::loaded(path)
    }

    pub(super) fn of(name: String, facts: Facts) -> Self {
        let Facts { settings, weight_bytes, shape, details } = facts;
        let weight_bytes = weight_bytes.or_else(|| shape.as_ref().map(Shape::weight_bytes));
        Self { name, settings, weight_bytes, shape, details }
    }
}

fn open(path: &Path) -> Result<File, ModelError> {
    bounded::open(path).map_err(|error| ModelError::io(path, &error))
}

fn magic(path: &Path) -> Result<[u8; 4], ModelError> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(4).read_to_end(&mut bytes);
    read.map_err(|error| ModelError::io(path, &error))?;
    Ok(bytes.try_into().unwrap_or_default())
}

/// What a GGUF model in one or several files tells, and whether the files hold the tensors they list.
pub(super) fn gguf_files(paths: &[PathBuf]) -> Result<Facts, ModelError> {
    let mut whole: Option<gguf::Header> = None;
    let mut unfinished = None;
    for path in paths {
        let mut file = open(path)?;
        let size = file.seek(std::io::SeekFrom::End(0)).unwrap_or_default();
        file.rewind().map_err(|error| ModelError::io(path, &error))?;
        let header =
            gguf::read(BufReader::new(file)).map_err(|message| ModelError::new(path, message))?;
        if let Some(bytes) = header.bytes().filter(|bytes| *bytes > size) {
            unfinished = Some(format!("the file has {size} of {bytes} bytes and more"));
        }
        match &mut whole {
            Some(whole) => whole.add(&header),
            None => whole = Some(header),
        }
    }
    let parts = whole.as_ref().map_or(0, gguf::Header::parts);
    let parts = parts.max(paths.first().map_or(0, |path| folder::count(path)));
    let mut facts = whole.map(|header| header.facts()).unwrap_or_default();
    if paths.len() < parts {
        unfinished = Some(format!("{} of {parts} files are here", paths.len()));
        // What the others hold is in no header here.
        (facts.shape, facts.weight_bytes) = (None, None);
    }
    facts.details.extend(unfinished.map(|phrase| (UNFINISHED, phrase)));
    Ok(facts)
}

/// The header of a safetensors file.
pub(super) fn safetensors_file(path: &Path) -> Result<Weights, ModelError> {
    Weights::read(BufReader::new(open(path)?)).map_err(|message| ModelError::new(path, message))
}

/// What weights alone say.
fn of_weights(weights: &Weights) -> Facts {
    let mut facts = Facts { weight_bytes: Some(weights.bytes()), ..Facts::default() };
    if let Some(dtype) = weights.checkpoint_dtype() {
        facts.set("checkpoint_dtype", dtype);
    }
    facts.detail("tensors", weights.words());
    facts.detail("read", "the header of the weights; the folder's config.json says more");
    facts
}

/// A JSON file of a size that such files have.
pub(super) fn json(path: &Path) -> Result<Value, ModelError> {
    let text = bounded::text(path, Accept::Files, MOST_JSON);
    let text = text.map_err(|error| ModelError::io(path, &error))?;
    parse_json(&text).map_err(|error| ModelError::new(path, format!("is not JSON: {error}")))
}

/// JSON as Python writes it, with numbers that JSON does not have.
pub(super) fn parse_json(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let cleaned = without_infinities(text).ok_or(error)?;
        serde_json::from_str(&cleaned)
    })
}

/// The text with `NaN` and `Infinity` as null, if there are any outside of strings.
fn without_infinities(text: &str) -> Option<String> {
    let mut parts: Vec<String> = text.split('"').map(str::to_owned).collect();
    let words = ["-Infinity", "Infinity", "NaN"];
    let mut changed = false;
    // Strings are every second part; one with an escaped quote only shifts which parts are looked at.
    for part in parts.iter_mut().step_by(2) {
        for word in words {
            changed |= part.contains(word);
            *part = part.replace(word, "null");
        }
    }
    changed.then(|| parts.join("\""))
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
