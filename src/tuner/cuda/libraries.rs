//! Where NVIDIA's libraries lie that a kernel is compiled by and held against.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use warpscope_probes::trust::Vetted;

use super::{Code, Cuda};
use crate::tuner::contract::Work;

/// A library of NVIDIA's.
struct Wanted {
    /// Its file, the newest first.
    names: &'static [&'static str],
    /// Where it lies below a folder of Python packages, as NVIDIA's wheels put it.
    wheels: &'static [&'static str],
}

/// The compiler of CUDA C++.
const NVRTC: Wanted = Wanted {
    names: &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"],
    wheels: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"],
};

/// The vendor's products of matrices.
const CUBLAS: Wanted = Wanted {
    names: &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"],
    wheels: &["nvidia/cu13/lib", "nvidia/cublas/lib"],
};

/// The libraries that kernels of a spec are compiled by and held against, as this machine and its environment variables have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Libraries {
    /// NVRTC.
    pub(super) nvrtc: Vetted,
    /// cuBLAS.
    pub(super) cublas: Vetted,
}

impl Libraries {
    /// Looks for both, and at who could have put them there. Nothing is loaded.
    pub fn find() -> Self {
        Self { nvrtc: find(&NVRTC), cublas: find(&CUBLAS) }
    }

    /// What is said of them before a kernel is tried: which are loaded for it, and which are left alone.
    pub fn lines(&self, cuda: &Cuda, work: Work) -> Vec<String> {
        let compiles = cuda.code == Code::Cu && cuda.nvrtc.is_none();
        let multiplies = matches!(work, Work::Gemm | Work::Gemv) && cuda.cublas.is_none();
        let nvrtc = compiles.then(|| self.nvrtc.lines("NVRTC", "name it as `nvrtc` in the spec"));
        let cublas =
            multiplies.then(|| self.cublas.lines("cuBLAS", "name it as `cublas` in the spec"));
        [nvrtc, cublas].into_iter().flatten().flatten().collect()
    }
}

/// Files to try, in this order; names alone, for the loader's own search, come last: what an environment brings belongs to the source that
/// is worked on in it.
fn find(wanted: &Wanted) -> Vetted {
    let folders = folders(wanted.wheels, |name| std::env::var_os(name));
    let placed =
        folders.iter().flat_map(|folder| wanted.names.iter().map(|name| folder.join(name)));
    let mut vetted = Vetted::of(placed.filter(|path| path.is_file()));
    vetted.load.extend(wanted.names.iter().map(PathBuf::from));
    vetted
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
