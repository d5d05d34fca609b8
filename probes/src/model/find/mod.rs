//! Where a model lies that somebody names: the caches of the programs that download models.
//!
//! Layouts are those of huggingface_hub, ModelScope, Ollama and LM Studio. The environment comes in as data. Nothing is written, and what a
//! cache says of itself is held against names before it becomes a path.

mod list;
mod ollama;
mod places;

use std::fmt;
use std::path::{Path, PathBuf};

pub use self::list::Listed;
pub use self::places::Places;
use super::{Model, ModelError};
use crate::bounded::{self, Accept};

/// References of a cache hold one name.
const MOST_REFERENCE: u64 = 256;
/// Snapshots of one model, files of one folder.
const MOST_ENTRIES: usize = 4096;
/// Parts of the names of weights that see; they are no model of their own.
const PROJECTOR: &str = "mmproj";

/// Where a model was looked for in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// What was asked for.
    pub name: String,
    /// Folders that exist and do not have it.
    pub searched: Vec<PathBuf>,
    /// What to do.
    pub advice: String,
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<_> = self.searched.iter().map(|path| path.display().to_string()).collect();
        match places.is_empty() {
            true => f.write_str("is not found here or in a model cache; ")?,
            false => write!(f, "is not there and not in {}; ", places.join(", "))?,
        }
        f.write_str(&self.advice)
    }
}

/// Finds a model by path, hub id, name of Ollama, or `owner/name:Q4_K_M`.
pub fn find(name: &Path, places: &Places) -> Result<PathBuf, NotFound> {
    let path = places.at_home(name);
    let Some(name) = name.to_str().filter(|name| !is_path(name) && !path.exists()) else {
        return Ok(path);
    };
    let found = Id::of(name).and_then(|id| {
        let hub = places.hub.iter().find_map(|root| in_hub(root, &id));
        let scope = || places.modelscope.iter().find_map(|root| in_modelscope(root, &id));
        let studio = || places.lm_studio.iter().find_map(|root| in_lm_studio(root, &id));
        hub.or_else(scope).or_else(studio)
    });
    let found = found.or_else(|| places.ollama.iter().find_map(|root| ollama::find(root, name)));
    found.ok_or_else(|| NotFound {
        name: name.to_owned(),
        searched: places.all().filter(|path| path.is_dir()).map(Path::to_owned).collect(),
        advice: advice(name),
    })
}

/// Whether a name can only be meant as a path.
fn is_path(name: &str) -> bool {
    let ends = [".json", ".gguf", ".safetensors", ".bin"];
    name.starts_with(['/', '.', '~'])
        || name.matches('/').count() > 2
        || ends.iter().any(|end| name.ends_with(end))
}

fn advice(name: &str) -> String {
    let mut ways = "name a model's folder, its config.json, a .gguf or a .safetensors file, a hub id, or an Ollama name".to_owned();
    if let Some(id) = Model::known_like(name) {
        ways.push_str(&format!("; it looks like {id}, which is in the table of known models"));
    }
    ways
}

impl Model {
    /// Opens a model by any of its names: a path, one of the caches, and where it is in none, the table of known models.
    pub fn open(name: &Path, places: &Places) -> Result<Self, ModelError> {
        match find(name, places) {
            Ok(path) => {
                let mut model = Self::read(&path)?;
                if path != places.at_home(name) {
                    model.name = name.display().to_string();
                    model.details.push(("path", path.display().to_string()));
                }
                Ok(model)
            }
            Err(missing) => {
                Self::known(&missing.name).ok_or_else(|| ModelError::new(name, missing.to_string()))
            }
        }
    }

    /// Models in the caches of this machine, those of one cache after those of another.
    pub fn list(places: &Places) -> Vec<Listed> {
        list::all(places)
    }
}

/// `owner/name`, perhaps with the tag of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub(super) owner: String,
    pub(super) name: String,
    pub(super) tag: Option<String>,
}

impl Id {
    pub(super) fn of(text: &str) -> Option<Self> {
        let (id, tag) = match text.split_once(':') {
            Some((id, tag)) => (id, Some(tag)),
            None => (text, None),
        };
        let (owner, name) = id.split_once('/').unwrap_or(("", id));
        let valid =
            is_name(name) && (owner.is_empty() || is_name(owner)) && tag.is_none_or(is_name);
        let tag = tag.map(str::to_owned);
        valid.then(|| Self { owner: owner.to_owned(), name: name.to_owned(), tag })
    }
}

/// Whether a word is a name and no path: caches are not left through it.
fn is_name(word: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
    !word.is_empty() && word.len() <= 200 && !word.starts_with('.') && word.bytes().all(letters)
}

/// Names in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names =
        entries.take(MOST_ENTRIES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// The snapshot of a model in a hub cache: that of `main`, or the newest.
fn in_hub(root: &Path, id: &Id) -> Option<PathBuf> {
    let owner = if id.owner.is_empty() { String::new() } else { format!("{}--", id.owner) };
    let wanted = format!("models--{owner}{}", id.name);
    let exact = root.join(&wanted);
    let folder = if exact.is_dir() {
        exact
    } else {
        root.join(names(root).into_iter().find(|name| name.eq_ignore_ascii_case(&wanted))?)
    };
    let snapshot = snapshot(&folder)?;
    with_tag(snapshot, id.tag.as_deref())
}

fn snapshot(folder: &Path) -> Option<PathBuf> {
    let snapshots = folder.join("snapshots");
    let main = bounded::text(&folder.join("refs/main"), Accept::Files, MOST_REFERENCE).ok();
    let main = main.map(|text| text.trim().to_owned()).filter(|text| is_name(text));
    if let Some(path) = main.map(|name| snapshots.join(name)).filter(|path| path.is_dir()) {
        return Some(path);
    }
    let all =
        names(&snapshots).into_iter().map(|name| snapshots.join(name)).filter(|path| path.is_dir());
    all.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// ModelScope writes dots of names as three underscores, and has had its models in several folders.
fn in_modelscope(root: &Path, id: &Id) -> Option<PathBuf> {
    let plain = |word: &str| word.replace('.', "___");
    let names = [id.name.clone(), plain(&id.name)];
    let folders = ["hub/models", "hub", "models", ""];
    let paths = folders.iter().flat_map(|folder| {
        names.iter().map(move |name| root.join(folder).join(&id.owner).join(name))
    });
    let found = paths.into_iter().find(|path| path.is_dir() && !id.owner.is_empty())?;
    with_tag(found, id.tag.as_deref())
}

fn in_lm_studio(root: &Path, id: &Id) -> Option<PathBuf> {
    let folder = root.join(&id.owner).join(&id.name);
    with_tag(
        Some(folder).filter(|folder| folder.is_dir() && !id.owner.is_empty())?,
        id.tag.as_deref(),
    )
}

/// The folder, or the file in it whose name has the tag: `Q4_K_M`. Some repositories have a folder for each.
fn with_tag(folder: PathBuf, tag: Option<&str>) -> Option<PathBuf> {
    let Some(tag) = tag else { return Some(folder) };
    let below =
        names(&folder).into_iter().map(|name| folder.join(name)).filter(|path| path.is_dir());
    std::iter::once(folder.clone()).chain(below).find_map(|folder| {
        let mut matching = names(&folder).into_iter().filter(|name| is_file_of(name, tag));
        matching.next().map(|name| folder.join(name))
    })
}

/// Whether the path of a file in a repository is that of the weights with this tag.
pub(super) fn is_file_of(path: &str, tag: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_model = name.ends_with(".gguf") && !name.starts_with(PROJECTOR);
    is_model && has_word(&name, &tag.to_ascii_lowercase())
}

/// Whether a name has a word between other signs: `q4_k_m` is not in `iq4_k_m`.
fn has_word(name: &str, word: &str) -> bool {
    let edge =
        |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    name.match_indices(word).any(|(at, _)| {
        let bytes = name.as_bytes();
        edge(at.checked_sub(1).and_then(|before| bytes.get(before)))
            && edge(bytes.get(at + word.len()))
    })
}

#[cfg(test)]
mod tests;
