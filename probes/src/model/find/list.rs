//! What the caches hold, for a list to pick from. Looking stops after a time or a number: a cache may lie on a disk that is far away.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{PROJECTOR, Places, names, ollama, snapshot};

const PATIENCE: Duration = Duration::from_millis(500);
const MOST: usize = 1000;

/// A model in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name it is opened by.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Bytes of its weights as the file system has them.
    pub bytes: u64,
    /// `safetensors`, `gguf`, or nothing that is read.
    pub format: &'static str,
}

struct List {
    models: Vec<Listed>,
    until: Instant,
}

pub(super) fn all(places: &Places) -> Vec<Listed> {
    let mut list = List { models: Vec::new(), until: Instant::now() + PATIENCE };
    places.hub.iter().for_each(|root| list.hub(root));
    for root in &places.modelscope {
        ["hub/models", "hub", "models"].iter().for_each(|folder| list.owners(&root.join(folder)));
    }
    places.lm_studio.iter().for_each(|root| list.owners(root));
    places.ollama.iter().for_each(|root| list.ollama(root));
    list.models
}

impl List {
    fn is_full(&self) -> bool {
        self.models.len() >= MOST || Instant::now() > self.until
    }

    fn hub(&mut self, root: &Path) {
        for folder in names(root) {
            let Some(id) = folder.strip_prefix("models--").map(|id| id.replace("--", "/")) else {
                continue;
            };
            if self.is_full() {
                return;
            }
            if let Some(path) = snapshot(&root.join(&folder)) {
                self.folder(&id, &path);
            }
        }
    }

    /// Folders by owner and name.
    fn owners(&mut self, root: &Path) {
        for owner in names(root) {
            for name in names(&root.join(&owner)) {
                if self.is_full() {
                    return;
                }
                self.folder(
                    &format!("{owner}/{}", name.replace("___", ".")),
                    &root.join(&owner).join(&name),
                );
            }
        }
    }

    /// A folder is one model, or as many as it has GGUF files.
    fn folder(&mut self, id: &str, path: &Path) {
        let files = names(path);
        let size = |name: &String| path.join(name).metadata().map_or(0, |meta| meta.len());
        let ends = |end: &'static str| files.iter().filter(move |name| name.ends_with(end));
        let bytes: u64 = ends(".safetensors").map(size).fold(0, u64::saturating_add);
        if bytes > 0 {
            self.add(id.to_owned(), path.to_owned(), bytes, "safetensors");
        }
        for name in ends(".gguf").filter(|name| !name.starts_with(PROJECTOR)) {
            let first = !name.contains("-of-") || name.contains("-00001-of-");
            if first {
                let tag = tag(name);
                self.add(format!("{id}:{tag}"), path.join(name), size(name), "gguf");
            }
        }
    }

    fn ollama(&mut self, root: &Path) {
        let manifests = root.join("manifests");
        for host in names(&manifests) {
            for owner in names(&manifests.join(&host)) {
                for model in names(&manifests.join(&host).join(&owner)) {
                    let folder = manifests.join(&host).join(&owner).join(&model);
                    for tag in names(&folder) {
                        if self.is_full() {
                            return;
                        }
                        let Some(path) = ollama::blob(root, &folder.join(&tag)) else { continue };
                        let bytes = path.metadata().map_or(0, |meta| meta.len());
                        self.add(short(&host, &owner, &model, &tag), path, bytes, "gguf");
                    }
                }
            }
        }
    }

    fn add(&mut self, name: String, path: PathBuf, bytes: u64, format: &'static str) {
        self.models.push(Listed { name, path, bytes, format });
    }
}

/// The word that tells a file from others of its folder: `Q4_K_M`.
fn tag(name: &str) -> &str {
    let stem = name.trim_end_matches(".gguf");
    let whole = stem.split("-00001-of-").next().unwrap_or(stem);
    whole.rsplit(['-', '.']).next().unwrap_or(whole)
}

/// The name as Ollama shows it.
fn short(host: &str, owner: &str, model: &str, tag: &str) -> String {
    match (host, owner) {
        ("registry.ollama.ai", "library") => format!("{model}:{tag}"),
        ("registry.ollama.ai", _) => format!("{owner}/{model}:{tag}"),
        _ => format!("{host}/{owner}/{model}:{tag}"),
    }
}
