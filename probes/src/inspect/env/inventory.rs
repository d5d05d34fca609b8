//! What was found, as plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What made an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvKind {
    /// `python -m venv` or virtualenv.
    Venv,
    /// conda, mamba, micromamba, pixi.
    Conda,
    /// uv's own interpreters and tools.
    Uv,
    /// pyenv.
    Pyenv,
    /// Poetry's cache of environments.
    Poetry,
    /// pipx.
    Pipx,
    /// The distribution's interpreter.
    System,
    /// `pip install --user`.
    User,
    /// Inside a container, or an image lying as a file.
    Image,
    /// The environment a running process uses.
    Process,
    /// A program by itself: llama.cpp, Ollama.
    Program,
    /// A folder that was named.
    Folder,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Environments, each once however many ways lead to it.
    pub environments: Vec<Environment>,
    /// Places that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// A place that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// One environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// What made it.
    pub kind: EnvKind,
    /// Its folder.
    pub root: PathBuf,
    /// Python's version: `3.11`.
    pub python: Option<String>,
    /// Processes that use it.
    pub pids: Vec<u32>,
    /// Installed packages that matter on a GPU, and those they depend on.
    pub packages: Vec<Package>,
    /// CUDA libraries it would load.
    pub cuda: Vec<CudaLibrary>,
    /// What is wrong with it by itself: pins that disagree, two versions of one library.
    pub problems: Vec<String>,
}

/// One installed package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Package {
    /// Name as its metadata writes it.
    pub name: String,
    /// Version without the local part.
    pub version: String,
    /// Local version: `cu128`.
    pub local: Option<String>,
    /// Where it came from, where that is recorded: `pip`, `conda`, `uv`, a folder, a repository.
    pub installer: Option<String>,
    /// Binaries that belong to it.
    pub libraries: Vec<Library>,
}

/// One binary of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// One CUDA library an environment would load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaLibrary {
    /// `cudart`, `cublas`, `cublasLt`, `cudnn`, `nccl`, `nvrtc`.
    pub name: String,
    /// Version, as far as the file's name, its package or its contents tell.
    pub version: Option<String>,
    /// The file.
    pub path: PathBuf,
    /// How it is found: run path, wheel, conda, `LD_LIBRARY_PATH`, ld.so.cache, mapped.
    pub via: String,
    /// Whether the loader would take this copy.
    pub wins: bool,
}
