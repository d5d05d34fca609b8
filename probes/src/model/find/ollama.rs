//! Ollama's store: a manifest for every tag names the blob with the weights by its digest.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::is_name;
use crate::bounded::{self, Accept};

const MOST_MANIFEST: u64 = 1 << 20;
const WEIGHTS: &str = "application/vnd.ollama.image.model";

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
}

/// The weights of `llama3.1:8b`, `owner/name` or `hf.co/owner/name:Q4_K_M`; the tag is `latest` where there is none.
pub(super) fn find(root: &Path, name: &str) -> Option<PathBuf> {
    let (model, tag) = name.split_once(':').unwrap_or((name, "latest"));
    let words: Vec<_> = model.split('/').collect();
    let [host, owner, model] = match words.as_slice() {
        [model] => ["registry.ollama.ai", "library", *model],
        [owner, model] => ["registry.ollama.ai", *owner, *model],
        [host, owner, model] => [*host, *owner, *model],
        _ => return None,
    };
    if ![host, owner, model, tag].iter().all(|word| is_name(word)) {
        return None;
    }
    blob(root, &root.join("manifests").join(host).join(owner).join(model).join(tag))
}

/// The weights a manifest names.
pub(super) fn blob(root: &Path, manifest: &Path) -> Option<PathBuf> {
    let text = bounded::text(manifest, Accept::Files, MOST_MANIFEST).ok()?;
    let manifest: Manifest = serde_json::from_str(&text).ok()?;
    let layer = manifest.layers.iter().find(|layer| layer.media_type == WEIGHTS)?;
    let digest = layer.digest.strip_prefix("sha256:")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let path = root.join("blobs").join(format!("sha256-{digest}"));
    (is_digest && path.is_file()).then_some(path)
}
