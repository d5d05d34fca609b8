//! Packages of conda, from `conda-meta/*.json`.
//!
//! A Python package conda installed has both kinds of metadata. The Python one names it, conda's then only says who installed it; what
//! is left are the packages without Python, and the CUDA libraries among them.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use super::disk::Disk;
use super::inventory::{Library, Package};
use super::links::lexical;
use super::metadata::{is_library, normalized};
use super::places::fits;
use super::progress::Progress;
use crate::text::printable;

/// The largest records met have a few MB: every file with two checksums.
const RECORD_BYTES: u64 = 64 << 20;
/// Records of one environment.
const MOST: usize = 8192;
/// Longest name or version believed.
const LONGEST: usize = 256;

/// What is read of a record; the rest is skipped.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record {
    name: String,
    version: String,
    build: String,
    depends: Vec<String>,
    files: Vec<String>,
}

/// Adds the packages recorded by conda under `root` to those Python records.
pub(super) fn add(
    disk: &Disk,
    root: &Path,
    packages: &mut Vec<Package>,
    progress: &mut Progress<'_>,
) {
    let folder = root.join("conda-meta");
    if !disk.is_dir(&folder) {
        return;
    }
    let owned: HashSet<_> =
        packages.iter().flat_map(|one| &one.libraries).map(|one| one.path.clone()).collect();
    let names = disk.list(&folder, progress);
    for name in names.iter().filter(|name| fits("*.json", name)).take(MOST) {
        let Some(bytes) = disk.bytes(&folder.join(name), RECORD_BYTES, progress) else { continue };
        match serde_json::from_slice::<Record>(&bytes) {
            Ok(record) => {
                let package = record.package(disk, root, &owned, packages);
                packages.extend(package);
            }
            Err(error) => {
                progress.unreadable(&disk.outer(&folder.join(name)), &error.to_string());
            }
        }
    }
}

impl Record {
    /// The package, unless Python's own metadata has named it.
    fn package(
        self,
        disk: &Disk,
        root: &Path,
        owned: &HashSet<std::path::PathBuf>,
        known: &mut [Package],
    ) -> Option<Package> {
        if self.name.is_empty() || self.name.len() > LONGEST || self.version.len() > LONGEST {
            return None;
        }
        if let Some(python) = self.python_name()
            && let Some(package) = known.iter_mut().find(|one| one.normalized == python)
        {
            package.installer = Some("conda".to_owned());
            return None;
        }
        let library = |file: &String| {
            let path = lexical(&root.join(file));
            // `libx.so` and `libx.so.1` beside `libx.so.1.2.3` are one library.
            let link = disk.link(&path).ok().flatten();
            if link.is_some_and(|target| target.is_relative()) {
                return None;
            }
            let (path, bytes) = path.starts_with(root).then(|| disk.file(&path)).flatten()?;
            (!owned.contains(&path)).then_some(Library { path, bytes, recorded: None })
        };
        let libraries = self.files.iter().filter(|file| is_library(file)).filter_map(library);
        Some(Package {
            normalized: normalized(&self.name),
            name: printable(&self.name),
            version: printable(&self.version),
            installer: Some("conda".to_owned()),
            libraries: libraries.collect(),
            requires: Vec::new(),
            source: None,
            cuda: self.cuda(),
            ..Package::default()
        })
    }

    /// Name of the Python package among its files.
    fn python_name(&self) -> Option<String> {
        let info = self.files.iter().find_map(|file| {
            let (folder, name) = file.rsplit_once('/')?;
            let folder = folder.rsplit_once('/').map_or(folder, |(_, last)| last);
            let own = folder.ends_with(".dist-info") && name == "METADATA";
            let old = folder.ends_with(".egg-info") && name == "PKG-INFO";
            (own || old).then(|| super::metadata::Metadata::from_folder(folder).name)
        })?;
        Some(normalized(&info))
    }

    /// CUDA a build string names: `py3.11_cuda12.1_cudnn8.9.2_0`, `cuda126_py312h…`.
    fn cuda(&self) -> Option<String> {
        let tag = self.build.split(['_', '-']).find_map(|part| part.strip_prefix("cuda"))?;
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some((major, minor)) = tag.split_once('.') {
            return (digits(major) && digits(minor)).then(|| format!("{major}.{minor}"));
        }
        let short = tag.split_at_checked(2).filter(|(major, minor)| digits(major) && digits(minor));
        short.map(|(major, minor)| format!("{major}.{minor}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Build strings of the pytorch channel and of conda-forge.
    #[test]
    fn builds_name_their_cuda() {
        for (build, cuda) in [
            ("py3.11_cuda12.1_cudnn8.9.2_0", Some("12.1")),
            ("cuda126_py312h1763f6d_304", Some("12.6")),
            ("py311h64a7726_0", None),
            ("cuda_0", None),
            ("cpu_mkl_py312_100", None),
        ] {
            let record = Record { build: build.to_owned(), ..Record::default() };
            assert_eq!(record.cuda().as_deref(), cuda, "{build}");
        }
    }
}
