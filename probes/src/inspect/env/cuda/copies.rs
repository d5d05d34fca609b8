//! Copies of CUDA libraries: which files they are, of what version, and whose.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::super::disk::Disk;
use super::super::inventory::Package;
use super::super::ld_cache;
use super::super::places::Places;
use super::super::progress::Progress;
use super::versions::{Versions, better};

/// Largest cache believed; this machine's has 30 KB.
const CACHE_BYTES: u64 = 16 << 20;
/// Libraries that are looked for: how we call them, their file's stem, what the toolkit's `version.json` calls them.
pub(super) const LIBRARIES: &[(&str, &str, &str)] = &[
    ("cudart", "libcudart", "cuda_cudart"),
    ("cublas", "libcublas", "libcublas"),
    ("cublasLt", "libcublasLt", "libcublas"),
    ("cudnn", "libcudnn", "cudnn"),
    ("cudnn_adv", "libcudnn_adv", "cudnn"),
    ("cudnn_cnn", "libcudnn_cnn", "cudnn"),
    ("cudnn_engines_precompiled", "libcudnn_engines_precompiled", "cudnn"),
    ("cudnn_engines_runtime_compiled", "libcudnn_engines_runtime_compiled", "cudnn"),
    ("cudnn_graph", "libcudnn_graph", "cudnn"),
    ("cudnn_heuristic", "libcudnn_heuristic", "cudnn"),
    ("cudnn_ops", "libcudnn_ops", "cudnn"),
    ("cudnn_adv_infer", "libcudnn_adv_infer", "cudnn"),
    ("cudnn_cnn_infer", "libcudnn_cnn_infer", "cudnn"),
    ("cudnn_ops_infer", "libcudnn_ops_infer", "cudnn"),
    ("cusparse", "libcusparse", "libcusparse"),
    ("nccl", "libnccl", "nccl"),
    ("nvjitlink", "libnvJitLink", "libnvjitlink"),
    ("nvrtc", "libnvrtc", "cuda_nvrtc"),
];

/// Where the distributions and the toolkit's installer put CUDA.
const TOOLKITS: &[&str] =
    &["/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", "/opt/cuda/lib64"];

/// One file that is a CUDA library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Copy {
    pub(super) name: &'static str,
    /// Path inside, as it is listed.
    pub(super) path: PathBuf,
    /// Path inside, links followed: what makes two copies one.
    pub(super) real: PathBuf,
    pub(super) version: Option<String>,
    pub(super) package: Option<String>,
    pub(super) place: Place,
}

/// Where a copy lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Place {
    /// In a wheel of NVIDIA's, for all to share.
    Wheel(String),
    /// In a wheel that brought its own, under a name of its own where a hash is in it.
    Bundled(String),
    /// In a conda environment.
    Conda,
    /// In a directory of `LD_LIBRARY_PATH`.
    Listed,
    /// Known to the loader's cache.
    Cached,
    /// In a CUDA toolkit that nothing points to.
    Toolkit,
    /// In a running process.
    Mapped,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wheel(package) => write!(f, "wheel {package}"),
            Self::Bundled(package) => write!(f, "bundled with {package}"),
            Self::Conda => f.write_str("conda"),
            Self::Listed => f.write_str("LD_LIBRARY_PATH"),
            Self::Cached => f.write_str("ld.so.cache"),
            Self::Toolkit => f.write_str("CUDA toolkit"),
            Self::Mapped => f.write_str("mapped"),
        }
    }
}

/// The CUDA library a file's name says it is, and the version in the name: `libcublas.so.12.8.4.1`,
/// `libcudart-9335f6a2.so.12.4.127` as wheel repairers rename them.
pub(in super::super) fn identify(file: &str) -> Option<(&'static str, Option<String>)> {
    let (stem, version) = match file.split_once(".so") {
        Some((stem, "")) => (stem, None),
        Some((stem, rest)) => (stem, Some(rest.strip_prefix('.')?)),
        None => return None,
    };
    let stem = unhashed(stem);
    let row = LIBRARIES.iter().find(|row| row.1 == stem)?;
    let plain = |text: &&str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.len() < 32
            && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    match version {
        Some(version) => Some((row.0, Some(version).filter(plain).map(str::to_owned)?.into())),
        None => Some((row.0, None)),
    }
}

/// A stem without the hash that makes its name its own.
fn unhashed(stem: &str) -> &str {
    match stem.rsplit_once('-') {
        Some((stem, hash))
            if hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            stem
        }
        _ => stem,
    }
}

/// Whether a file has a name of its own, so that it stands in nobody's way.
pub(super) fn is_private(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split_once(".so").is_some_and(|(stem, _)| unhashed(stem) != stem)
}

/// The machine's own copies, the same for all of its environments.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Machine {
    /// Directories of `LD_LIBRARY_PATH`.
    pub(super) listed: Vec<PathBuf>,
    /// The loader's cache.
    pub(super) cache: HashMap<String, PathBuf>,
    /// Copies the loader finds by itself.
    pub(super) reachable: Vec<Copy>,
    /// Copies in toolkits it does not.
    pub(super) toolkits: Vec<Copy>,
}

impl Machine {
    /// Looks at the loader's list, its cache and the toolkits.
    pub(in super::super) fn read(
        disk: &Disk,
        places: &Places,
        progress: &mut Progress<'_>,
    ) -> Self {
        let cache = disk.bytes(Path::new("/etc/ld.so.cache"), CACHE_BYTES, progress);
        let cache = cache.map(|bytes| ld_cache::parse(&bytes)).unwrap_or_default();
        let listed = places.directories("LD_LIBRARY_PATH");
        let mut machine = Self { listed, cache, ..Self::default() };
        let mut versions = Versions::default();
        let mut cached: Vec<_> =
            machine.cache.iter().filter(|row| identify(row.0).is_some()).map(|row| row.1).collect();
        cached.sort_unstable();
        let listed = machine.listed.iter().flat_map(|dir| files(disk, dir, progress));
        let mut rows: Vec<_> = listed.map(|path| (path, Place::Listed)).collect();
        rows.extend(cached.into_iter().map(|path| (path.clone(), Place::Cached)));
        for (path, place) in rows {
            let copy = versions.copy(disk, path, place, progress);
            machine.reachable.extend(copy.filter(|copy| !has(&machine.reachable, copy)));
        }
        for pattern in TOOLKITS {
            for dir in places.expand(disk, pattern, progress) {
                for path in files(disk, &dir, progress) {
                    let copy = versions.copy(disk, path, Place::Toolkit, progress);
                    let new = |copy: &Copy| {
                        !has(&machine.reachable, copy) && !has(&machine.toolkits, copy)
                    };
                    machine.toolkits.extend(copy.filter(new));
                }
            }
        }
        machine
    }
}

fn has(copies: &[Copy], copy: &Copy) -> bool {
    copies.iter().any(|one| one.real == copy.real)
}

/// CUDA libraries in a folder, one path each.
fn files(disk: &Disk, dir: &Path, progress: &mut Progress<'_>) -> Vec<PathBuf> {
    let names = disk.list(dir, progress);
    let names =
        names.iter().filter(|name| name.to_str().is_some_and(|name| identify(name).is_some()));
    names.map(|name| dir.join(name)).collect()
}

/// Copies that lie in the environment itself.
pub(super) fn own(
    disk: &Disk,
    root: &Path,
    packages: &[Package],
    progress: &mut Progress<'_>,
) -> Vec<Copy> {
    let mut versions = Versions::default();
    let mut copies: Vec<Copy> = Vec::new();
    for package in packages {
        for library in &package.libraries {
            let path = disk.inner(&library.path);
            let nvidia = package.normalized.starts_with("nvidia-");
            let place = match package.installer.as_deref() {
                _ if nvidia => Place::Wheel(package.name.clone()),
                Some("conda") => Place::Conda,
                _ => Place::Bundled(package.name.clone()),
            };
            let Some(mut copy) = versions.copy(disk, path, place, progress) else { continue };
            copy.package = Some(package.name.clone());
            let own = nvidia || package.installer.as_deref() == Some("conda");
            copy.version = better(copy.version, own.then(|| package.version.clone()));
            if !has(&copies, &copy) {
                copies.push(copy);
            }
        }
    }
    if disk.is_dir(&root.join("conda-meta")) {
        for path in files(disk, &root.join("lib"), progress) {
            let copy = versions.copy(disk, path, Place::Conda, progress);
            copies.extend(copy.filter(|copy| !has(&copies, copy)));
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_tell_library_and_version() {
        for (file, name, version) in [
            ("libcublas.so.12", "cublas", Some("12")),
            ("libcublasLt.so.12.8.4.1", "cublasLt", Some("12.8.4.1")),
            ("libcudart-9335f6a2.so.12.4.127", "cudart", Some("12.4.127")),
            ("libcudart-d0da41ae.so.11.0", "cudart", Some("11.0")),
            ("libnccl.so.2", "nccl", Some("2")),
            ("libcudnn_ops.so.9", "cudnn_ops", Some("9")),
            ("libcudart.so", "cudart", None),
        ] {
            assert_eq!(identify(file), Some((name, version.map(str::to_owned))), "{file}");
        }
        for file in [
            "libcublas_static.a",
            "libcublasXt.so.12",
            "libcudart.so.x",
            "libcublas.so.12.debug",
            "cublas.py",
            ".so",
            "",
        ] {
            assert_eq!(identify(file), None, "{file}");
        }
        assert!(is_private(Path::new("/x/libcudart-9335f6a2.so.12")));
        assert!(!is_private(Path::new("/x/libcudart.so.12")));
    }
}
