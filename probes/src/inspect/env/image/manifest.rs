//! What an image says of itself: `manifest.json` of `docker save`, `index.json` of the OCI image layout.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::store::Store;
use crate::text::printable;

/// Largest description believed; real ones have some 100 KB.
const BYTES: u64 = 8 << 20;
/// Layers of one image; engines stop at 127.
const MOST_LAYERS: usize = 1024;
/// An index may name an index.
const DEEPEST: usize = 4;

/// An image as its descriptions have it, layers from the lowest up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) name: Option<String>,
    pub(super) architecture: Option<String>,
    pub(super) vars: BTreeMap<String, String>,
    pub(super) working: Option<String>,
    pub(super) layers: Vec<String>,
    /// Images beside it that are not looked at.
    pub(super) others: usize,
}

/// `manifest.json`: one row for each image.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Saved {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// An OCI index or manifest: both have the fields of the other empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest {
    manifests: Vec<Descriptor>,
    config: Option<Descriptor>,
    layers: Vec<Descriptor>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Descriptor {
    digest: String,
    platform: Option<Platform>,
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Platform {
    architecture: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    architecture: Option<String>,
    config: Option<Settings>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Settings {
    env: Option<Vec<String>>,
    working_dir: Option<String>,
}

/// Reads the descriptions of an image; `None` where there are none.
pub(super) fn describe(store: &Store) -> Option<Described> {
    saved(store).or_else(|| layout(store))
}

fn saved(store: &Store) -> Option<Described> {
    let mut rows: Vec<Saved> = json(store, "manifest.json")?;
    if rows.is_empty() {
        return None;
    }
    let others = rows.len() - 1;
    let first = rows.swap_remove(0);
    let name = first.repo_tags.unwrap_or_default().into_iter().next();
    Some(
        Described { name, others, layers: first.layers, ..Described::default() }
            .with(store, &first.config),
    )
}

fn layout(store: &Store) -> Option<Described> {
    let mut manifest: Manifest = json(store, "index.json")?;
    let mut described = Described::default();
    for _ in 0..DEEPEST {
        let Some(chosen) = choose(&manifest.manifests) else { break };
        described.others +=
            manifest.manifests.iter().filter(|one| one.is_image()).count().saturating_sub(1);
        let name = chosen.annotations.get("io.containerd.image.name");
        let name = name.or_else(|| chosen.annotations.get("org.opencontainers.image.ref.name"));
        described.name = described.name.or_else(|| name.cloned());
        manifest = json(store, &blob(&chosen.digest)?)?;
    }
    let config = blob(&manifest.config?.digest)?;
    described.layers = manifest.layers.iter().filter_map(|layer| blob(&layer.digest)).collect();
    Some(described.with(store, &config))
}

/// The image for this machine's kind of processor, else the first.
fn choose(manifests: &[Descriptor]) -> Option<Descriptor> {
    let wanted = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    let fits = |one: &&Descriptor| {
        one.platform.as_ref().is_some_and(|platform| platform.architecture == wanted)
    };
    let found = manifests.iter().find(fits);
    found.or_else(|| manifests.iter().find(|one| one.is_image())).cloned()
}

impl Descriptor {
    /// Attestations stand in an index like images, for a platform called unknown.
    fn is_image(&self) -> bool {
        self.platform.as_ref().is_none_or(|platform| platform.architecture != "unknown")
    }
}

impl Described {
    /// Adds what the configuration says.
    fn with(mut self, store: &Store, config: &str) -> Self {
        let config: Config = json(store, config).unwrap_or_default();
        let settings = config.config.unwrap_or_default();
        let pairs = settings.env.unwrap_or_default();
        let pairs = pairs.iter().filter_map(|pair| pair.split_once('='));
        self.vars = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        self.working = settings.working_dir.filter(|dir| dir.starts_with('/'));
        self.architecture = config.architecture.as_deref().map(printable);
        self.name = self.name.as_deref().map(printable);
        self.layers.truncate(MOST_LAYERS);
        self
    }
}

/// Where a blob lies: `blobs/sha256/…`.
fn blob(digest: &str) -> Option<String> {
    let (kind, hash) = digest.split_once(':')?;
    let plain = |text: &str| {
        !text.is_empty()
            && text.len() <= 128
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    (plain(kind) && plain(hash)).then(|| format!("blobs/{kind}/{hash}"))
}

fn json<T: DeserializeOwned>(store: &Store, name: &str) -> Option<T> {
    serde_json::from_slice(&store.bytes(name, BYTES)?).ok()
}
