//! Where NVIDIA's libraries lie that a kernel is compiled by and held against.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A library of NVIDIA's.
pub(super) struct Wanted {
    /// Its file, the newest first.
    pub(super) names: &'static [&'static str],
    /// Where it lies below a folder of Python packages, as NVIDIA's wheels put it.
    pub(super) wheels: &'static [&'static str],
}

/// The compiler of CUDA C++.
pub(super) const NVRTC: Wanted = Wanted {
    names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"],
    wheels: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
};

/// The vendor's products of matrices.
pub(super) const CUBLAS: Wanted = Wanted {
    names: &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"],
    wheels: &["nvidia/cu13/lib", "nvidia/cublas/lib"],
};

/// Files that may be it, in the order they are to be tried; names alone, for the loader's own search, come last: what an environment brings
/// belongs to the source that is worked on in it.
pub(super) fn places(wanted: &Wanted) -> Vec<PathBuf> {
    let folders = folders(wanted.wheels, |name| std::env::var_os(name));
    let placed =
        folders.iter().flat_map(|folder| wanted.names.iter().map(|name| folder.join(name)));
    placed.filter(|path| path.is_file()).chain(wanted.names.iter().map(PathBuf::from)).collect()
}

/// Folders it may lie in. `variable` gives one of the environment.
fn folders(wheels: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let mut found = Vec::new();
    for root in ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| folder(name)) {
        found.push(root.join("lib64"));
    }
    for root in ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| folder(name)) {
        found.push(root.join("lib"));
        for python in children(&root.join("lib"), "python3") {
            found.extend(wheels.iter().map(|wheel| python.join("site-packages").join(wheel)));
        }
    }
    found.push(PathBuf::from("/usr/local/cuda/lib64"));
    found
}

fn children(folder: &Path, start: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = all.filter(|entry| entry.file_name().to_string_lossy().starts_with(start));
    let mut found: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_comes_before_the_machine_and_a_named_one_before_both() {
        let root = tempfile::tempdir().expect("a folder");
        let packages = root.path().join("lib/python3.12/site-packages");
        std::fs::create_dir_all(&packages).expect("makes");
        let venv = root.path().as_os_str().to_owned();
        let found = folders(NVRTC.wheels, |name| match name {
            "CUDA_HOME" => Some("/opt/cuda".into()),
            "VIRTUAL_ENV" => Some(venv.clone()),
            "CONDA_PREFIX" => Some("relative".into()),
            _ => None,
        });
        let want = [
            PathBuf::from("/opt/cuda/lib64"),
            root.path().join("lib"),
            packages.join("nvidia/cu13/lib"),
            packages.join("nvidia/cuda_nvrtc/lib"),
            PathBuf::from("/usr/local/cuda/lib64"),
        ];
        assert_eq!(found, want);
    }
}
