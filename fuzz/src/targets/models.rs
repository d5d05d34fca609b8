//! Headers of models, which come from the net.

use std::fs;
use std::path::Path;

use warpscope_probes::model::Model;

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

fn read(path: &Path, length: usize, trace: &mut Trace) {
    let result = Model::read(path);
    trace.result(&result);
    if let Ok(model) = result {
        let words: usize = model.details.iter().map(|(_, detail)| detail.len()).sum();
        assert!(words <= 10_000 + 4 * length, "{words} bytes of details from {length}");
    }
}
