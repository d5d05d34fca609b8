//! A model's folder: its `config.json`, what quantised it, and the headers of its weights.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::read::{gguf_file, json, of_weights, safetensors_file};
use super::safetensors::Weights;
use super::{Facts, ModelError, config};

/// Folders of models hold some hundreds of files.
const MOST_FILES: usize = 10_000;
/// Files the largest models are split into.
const MOST_SHARDS: usize = 2_000;

const CONFIG: &str = "config.json";
const QUANT: &str = "hf_quant_config.json";
const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

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
    let gguf: Vec<_> = files.iter().filter(|name| name.ends_with(".gguf")).collect();
    match gguf.as_slice() {
        [] => {}
        [one] => return gguf_file(&path.join(one)),
        several => {
            let names: Vec<_> = several.iter().take(4).map(|name| name.as_str()).collect();
            let message = format!("holds several GGUF files; name one: {}", names.join(", "));
            return Err(ModelError::new(path, message));
        }
    }
    let (weights, total) = weights(path, &files)?;
    if weights.tensors == 0 && total.is_none() {
        let message =
            "holds no config.json, no .gguf and no .safetensors; name the folder that does";
        return Err(ModelError::new(path, message));
    }
    Ok(of_weights(&weights))
}

fn list(path: &Path) -> Result<BTreeSet<String>, ModelError> {
    let entries = std::fs::read_dir(path).map_err(|error| ModelError::io(path, &error))?;
    let names =
        entries.take(MOST_FILES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.collect())
}

/// Puts the weights of the folder beside what its configuration says.
fn add_weights(path: &Path, files: &BTreeSet<String>, facts: &mut Facts) -> Result<(), ModelError> {
    let (weights, total) = weights(path, files)?;
    facts.weight_bytes = total.or((weights.tensors > 0).then(|| weights.bytes()));
    if weights.tensors > 0 {
        facts.detail("tensors", weights.words());
    }
    if let (None, Some(dtype)) =
        (facts.settings.get("checkpoint_dtype"), weights.checkpoint_dtype())
    {
        facts.set("checkpoint_dtype", dtype);
    }
    Ok(())
}

/// The headers of all weight files. Where some are not there, the bytes are those the index promises.
fn weights(path: &Path, files: &BTreeSet<String>) -> Result<(Weights, Option<u64>), ModelError> {
    let mut total = None;
    let shards = if files.contains(INDEX) {
        let index = json(&path.join(INDEX))?;
        total = index.pointer("/metadata/total_size").and_then(Value::as_u64);
        shards_of(&index)
    } else if files.contains(SINGLE) {
        BTreeSet::from([SINGLE.to_owned()])
    } else {
        let weights =
            |name: &&String| name.ends_with(".safetensors") && !name.starts_with("adapter");
        files.iter().filter(weights).cloned().collect()
    };
    let mut weights = Weights::default();
    let mut missing = false;
    for shard in shards.iter().take(MOST_SHARDS) {
        if files.contains(shard) {
            weights.add(&safetensors_file(&path.join(shard))?);
        } else {
            missing = true;
        }
    }
    Ok((weights, total.filter(|_| missing)))
}

/// Names of the files an index speaks of. Only names in the folder itself can be among its files.
fn shards_of(index: &Value) -> BTreeSet<String> {
    let map = index.get("weight_map").and_then(Value::as_object);
    map.into_iter()
        .flat_map(|map| map.values())
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
