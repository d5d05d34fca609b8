//! Versions of CUDA libraries: from the file's name, where its link ends, the toolkit's `version.json`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::super::disk::Disk;
use super::super::places::fits;
use super::super::progress::Progress;
use super::copies::{Copy, LIBRARIES, Place, identify};
use crate::text::printable;

/// Largest `version.json`.
const VERSIONS_BYTES: u64 = 1 << 20;

/// The version that says more, as long as both agree on the major one.
pub(super) fn better(one: Option<String>, other: Option<String>) -> Option<String> {
    let (Some(one), Some(other)) = (&one, &other) else { return one.or(other) };
    let parts = |text: &str| text.split('.').count();
    let same = one.split('.').next() == other.split('.').next();
    Some(if same && parts(other) > parts(one) { other } else { one }.clone())
}

/// Reads versions where they are told, each toolkit's `version.json` once.
#[derive(Default)]
pub(super) struct Versions {
    toolkits: HashMap<PathBuf, Components>,
}

impl Versions {
    /// The copy at a path, if it is a CUDA library and there.
    pub(super) fn copy(
        &mut self,
        disk: &Disk,
        path: PathBuf,
        place: Place,
        progress: &mut Progress<'_>,
    ) -> Option<Copy> {
        let (name, version) = identify(path.file_name()?.to_str()?)?;
        disk.file(&path)?;
        let real = disk.canonical(&path).ok()?;
        let named =
            real.file_name().and_then(|file| identify(file.to_str()?)).and_then(|row| row.1);
        let mut version = better(version, named);
        let toolkit =
            real.ancestors().find(|dir| fits("cuda*", dir.file_name().unwrap_or_default()));
        if let Some(toolkit) = toolkit {
            version = better(version, self.told(disk, toolkit, name, progress));
        }
        Some(Copy { name, path, real, version, package: None, place })
    }

    /// What a toolkit's `version.json` says.
    fn told(
        &mut self,
        disk: &Disk,
        toolkit: &Path,
        name: &str,
        progress: &mut Progress<'_>,
    ) -> Option<String> {
        let read = |progress: &mut Progress<'_>| {
            let bytes = disk.bytes(&toolkit.join("version.json"), VERSIONS_BYTES, progress);
            bytes.map(|bytes| components(&bytes)).unwrap_or_default()
        };
        let row = LIBRARIES.iter().find(|row| row.0 == name)?;
        let known = self.toolkits.entry(toolkit.to_owned()).or_insert_with(|| read(progress));
        known.get(row.2).cloned()
    }
}

/// Versions of a toolkit's components.
type Components = HashMap<String, String>;

/// Components and versions of a toolkit: `{"libcublas": {"name": "CUDA cuBLAS", "version": "12.4.5.8"}, …}`.
fn components(bytes: &[u8]) -> Components {
    #[derive(Deserialize)]
    struct Component {
        #[serde(default)]
        version: String,
    }
    let all: HashMap<String, Component> = serde_json::from_slice(bytes).unwrap_or_default();
    let plain =
        all.into_iter().filter(|(_, one)| !one.version.is_empty() && one.version.len() < 32);
    plain.map(|(name, one)| (name, printable(&one.version))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `/usr/local/cuda-12.4/version.json` has it.
    #[test]
    fn toolkits_tell_versions() {
        let json = br#"{"cuda":{"name":"CUDA SDK","version":"12.4.1"},"cuda_cudart":{"name":"CUDA Runtime (cudart)","version":"12.4.127"},"libcublas":{"name":"CUDA cuBLAS","version":"12.4.5.8"}}"#;
        let known = components(json);
        assert_eq!(known["libcublas"], "12.4.5.8");
        assert_eq!(known["cuda_cudart"], "12.4.127");
        assert!(components(b"[1]").is_empty());
    }

    #[test]
    fn the_version_that_says_more_is_kept() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(better(text("12"), text("12.8.4.1")), text("12.8.4.1"));
        assert_eq!(better(text("11"), text("12.8.4.1")), text("11"));
        assert_eq!(better(None, text("9")), text("9"));
    }
}
