//! A model's folder: its `config.json`, what quantised it, and the headers of its weights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::index::Index;
use super::read::{UNFINISHED, gguf_files, json, safetensors_file};
use super::safetensors::Weights;
use super::{Facts, ModelError, config};

/// Folders of models hold some hundreds of files.
const MOST_FILES: usize = 10_000;
/// Files the largest models are split into.
const MOST_SHARDS: usize = 2_000;

/// Beginning of the names of the part of a model that sees.
const PROJECTOR: &str = "mmproj";

const CONFIG: &str = "config.json";
const QUANT: &str = "hf_quant_config.json";
const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
/// Weights that are no part of the model: adapters, and the same weights in another layout.
const APART: &[&str] = &["adapter", "consolidated"];

/// Name of the model in this folder: its own, or that under which a download cache keeps it.
pub(super) fn name(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let names =
        || path.ancestors().filter_map(|one| one.file_name()).map(|one| one.to_string_lossy());
    let cached = names().find_map(|name| Some(name.strip_prefix("models--")?.replace("--", "/")));
    cached.or_else(|| names().next().map(|name| name.into_owned())).unwrap_or_default()
}

/// Reads a folder.
pub(super) fn read(path: &Path) -> Result<Facts, ModelError> {
    let files = list(path)?;
    let here = |name: &str| files.contains(name);
    if here(CONFIG) {
        let config = json(&path.join(CONFIG))?;
        let quant = here(QUANT).then(|| json(&path.join(QUANT))).transpose()?;
        let mut facts = config::describe(&config, quant.as_ref())
            .map_err(|message| ModelError::new(&path.join(CONFIG), message))?;
        add_weights(path, &files, &mut facts)?;
        return Ok(facts);
    }
    if let Some(facts) = gguf(path, &files)? {
        return Ok(facts);
    }
    let mut facts = Facts::default();
    add_weights(path, &files, &mut facts)?;
    if facts.details.is_empty() {
        let message =
            "holds no config.json, no .gguf and no .safetensors; name the folder that does";
        return Err(ModelError::new(path, message));
    }
    Ok(facts)
}

/// The one model in GGUF files of the folder, which may be in several parts.
fn gguf(path: &Path, files: &BTreeSet<String>) -> Result<Option<Facts>, ModelError> {
    let all = files.iter().filter(|name| name.ends_with(".gguf") && !name.starts_with(PROJECTOR));
    let all: Vec<_> = all.collect();
    let Some((first, rest)) = all.split_first() else { return Ok(None) };
    let set = whole(first);
    if !rest.is_empty() && (set.is_none() || rest.iter().any(|name| whole(name) != set)) {
        let names: Vec<_> = all.iter().take(4).map(|name| name.as_str()).collect();
        let message = format!("holds several GGUF files; name one: {}", names.join(", "));
        return Err(ModelError::new(path, message));
    }
    let paths: Vec<_> = all.iter().take(MOST_SHARDS).map(|name| path.join(name)).collect();
    gguf_files(&paths).map(Some)
}

/// The files of a model one of which is named.
pub(super) fn parts(path: &Path) -> Vec<PathBuf> {
    let alone = || vec![path.to_owned()];
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let (Some(set), Some(parent)) = (whole(&name), path.parent()) else { return alone() };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let Ok(files) = list(parent) else { return alone() };
    let all = files.iter().filter(|name| whole(name) == Some(set)).take(MOST_SHARDS);
    all.map(|name| parent.join(name)).collect()
}

/// The path a framework loads a local model from: the first part of a split GGUF file, else the path itself.
pub(super) fn loaded(path: &Path) -> PathBuf {
    let gguf = |files: BTreeSet<String>| {
        let is_it = |name: &&String| name.ends_with(".gguf") && !name.starts_with(PROJECTOR);
        let alone = !files.contains(CONFIG);
        files.iter().find(is_it).filter(|_| alone).map(|first| path.join(first))
    };
    let first = match path.is_dir() {
        true => list(path).ok().and_then(gguf),
        false => parts(path).into_iter().next(),
    };
    first.unwrap_or_else(|| path.to_owned())
}

/// The number of parts that the name of one tells.
pub(super) fn count(path: &Path) -> usize {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    whole(&name).and_then(|(_, count)| count.parse().ok()).unwrap_or(1)
}

/// What a file is a part of: `model` and `00003` of `model-00001-of-00003.gguf`.
fn whole(name: &str) -> Option<(&str, &str)> {
    let (rest, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(count) && is_number(number)).then_some((stem, count))
}

fn list(path: &Path) -> Result<BTreeSet<String>, ModelError> {
    let entries = std::fs::read_dir(path).map_err(|error| ModelError::io(path, &error))?;
    let names =
        entries.take(MOST_FILES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.collect())
}

/// Puts the weights of the folder beside what its configuration says. Where some are not there, the bytes are those the index promises.
fn add_weights(path: &Path, files: &BTreeSet<String>, facts: &mut Facts) -> Result<(), ModelError> {
    let index = files.contains(INDEX).then(|| Index::read(&path.join(INDEX))).transpose()?;
    let shards = index.as_ref().map_or_else(|| shards_among(files), |index| index.files.clone());
    let mut weights = Weights::default();
    let here: Vec<_> = shards.iter().filter(|name| files.contains(*name)).collect();
    for shard in here.iter().take(MOST_SHARDS) {
        weights.add(&safetensors_file(&path.join(shard))?);
    }
    let promised = || index.as_ref()?.total_size;
    let complete = weights.tensors > 0 && here.len() == shards.len() && here.len() <= MOST_SHARDS;
    facts.weight_bytes = if complete { Some(weights.bytes()) } else { promised() };
    if weights.tensors > 0 {
        facts.detail("tensors", weights.words());
    }
    if complete {
        weights.measure(facts);
    }
    if here.len() < shards.len() {
        facts.detail(UNFINISHED, format!("{} of {} files are here", here.len(), shards.len()));
    }
    let said = facts.settings.get("checkpoint_dtype").is_some();
    if let Some(dtype) = weights.checkpoint_dtype().filter(|_| !said) {
        facts.set("checkpoint_dtype", dtype);
    }
    Ok(())
}

/// The weights of a folder without an index.
fn shards_among(files: &BTreeSet<String>) -> BTreeSet<String> {
    if files.contains(SINGLE) {
        return BTreeSet::from([SINGLE.to_owned()]);
    }
    let all = files.iter().filter(|name| name.ends_with(".safetensors"));
    all.filter(|name| !APART.iter().any(|start| name.starts_with(start))).cloned().collect()
}
