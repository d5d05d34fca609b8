//! Headers of models, which come from the net.

use std::fs;
use std::path::Path;

use warpscope_probes::model::{Model, Places};

use crate::Trace;
use crate::archive::sections;
use crate::runner::scratch;

/// Files of a folder that are looked at.
const FILES: &[&str] = &[
    "config.json",
    "hf_quant_config.json",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model-00001-of-00002.gguf",
    "model-00002-of-00002.gguf",
];

/// A folder of several files, each behind a line `@@ NAME`.
pub(super) fn folder(bytes: &[u8], trace: &mut Trace) {
    let folder = scratch::fresh_folder("model");
    for (name, contents) in sections(bytes) {
        if FILES.contains(&name) {
            fs::write(folder.join(name), contents).expect("the scratch folder takes files");
        }
    }
    read(&folder, bytes.len(), trace);
}

pub(super) fn safetensors(bytes: &[u8], trace: &mut Trace) {
    read(&scratch::file("model.safetensors", bytes), bytes.len(), trace);
}

pub(super) fn gguf(bytes: &[u8], trace: &mut Trace) {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(4), 0);
    bytes[..4].copy_from_slice(b"GGUF");
    read(&scratch::file("model.gguf", &bytes), bytes.len(), trace);
}

/// What caches say of themselves: the reference of a hub cache, and a manifest of Ollama.
pub(super) fn cache(bytes: &[u8], trace: &mut Trace) {
    let root = scratch::fresh_folder("cache");
    let manifests = root.join("manifests/registry.ollama.ai/library/m");
    for folder in ["models--a--b/refs", "models--a--b/snapshots/one", "blobs"] {
        fs::create_dir_all(root.join(folder)).expect("the scratch folder takes folders");
    }
    fs::create_dir_all(&manifests).expect("the scratch folder takes folders");
    let blob = format!("blobs/sha256-{}", "ab".repeat(32));
    fs::write(root.join(blob), "GGUF").expect("the scratch folder takes files");
    for (name, contents) in sections(bytes) {
        let path = match name {
            "main" => root.join("models--a--b/refs/main"),
            "manifest" => manifests.join("latest"),
            _ => continue,
        };
        fs::write(path, contents).expect("the scratch folder takes files");
    }
    let mut places = Places::default();
    places.hub.push(root.clone());
    places.ollama.push(root.clone());
    for name in ["a/b", "m"] {
        let found = warpscope_probes::model::find(Path::new(name), &places);
        assert!(
            found.as_ref().is_ok_and(|path| path.starts_with(&root)) || found.is_err(),
            "{found:?}"
        );
        trace.result(&found.map(|path| path.strip_prefix(&root).map(Path::to_owned)));
    }
    let listed = Model::list(&places);
    assert!(listed.iter().all(|one| one.path.starts_with(&root)));
    trace.value(&listed.iter().map(|one| (&one.name, one.bytes)).collect::<Vec<_>>());
}

fn read(path: &Path, length: usize, trace: &mut Trace) {
    let result = Model::read(path);
    trace.result(&result);
    if let Ok(model) = result {
        let words: usize = model.details.iter().map(|(_, detail)| detail.len()).sum();
        assert!(words <= 10_000 + 4 * length, "{words} bytes of details from {length}");
    }
}
