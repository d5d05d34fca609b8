//! What was found, as plain data. Text is safe to print; paths are as they are, and whoever prints one cleans it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What made an environment.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum EnvKind {
    /// `python -m venv` or virtualenv.
    Venv,
    /// conda, mamba, micromamba, pixi.
    Conda,
    /// uv: its environments, interpreters and tools.
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
    /// A folder that was named, or that nothing else explains.
    #[default]
    Folder,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Environments, each once however many ways lead to it.
    pub environments: Vec<Environment>,
    /// Places that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// How many there were, named or not.
    #[serde(default)]
    pub unreadable_count: u64,
    /// Where environments were looked for by walking, and what was left out there.
    #[serde(default)]
    pub searched: Vec<Searched>,
    /// What the processes asked about have in use.
    #[serde(default)]
    pub processes: Vec<ProcessUse>,
    /// CUDA libraries of the machine itself: those the loader finds, and those in toolkits nothing points to.
    #[serde(default)]
    pub cuda: Vec<CudaLibrary>,
    /// Whether somebody stopped the search, so that more may be there.
    #[serde(default)]
    pub cancelled: bool,
}

/// A folder below which environments were looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Searched {
    /// Which.
    pub root: PathBuf,
    /// Folders looked into.
    pub folders: u64,
    /// Folders that lie too deep and were not looked into.
    pub deeper: u64,
    /// Why the walk ended before its time.
    pub ended: Option<String>,
    /// Places left out, and why; the first of them.
    pub left_out: Vec<Unreadable>,
    /// How many were left out, named or not.
    pub left_out_count: u64,
}

/// A place that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Unreadable {
    /// Whether it is about this place, however its path is written.
    pub fn is_about(&self, path: &std::path::Path) -> bool {
        let end = |path: &std::path::Path| path.canonicalize().ok();
        self.path == path || end(&self.path).is_some_and(|here| end(path) == Some(here))
    }
}

/// What a process uses, by what it has mapped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// The process.
    pub pid: u32,
    /// The user it runs as; `None` where that is hidden, or where it has the rights of two.
    #[serde(default)]
    pub uid: Option<u32>,
    /// Root of the environment it uses, as in [`Environment::root`].
    pub environment: Option<PathBuf>,
    /// Packages whose libraries it has mapped, the largest first and NVIDIA's own left out: `torch`, `llama.cpp`.
    pub packages: Vec<String>,
    /// CUDA libraries it has mapped.
    pub cuda: Vec<CudaLibrary>,
    /// Why nothing or not all is known: permission, or it has ended.
    pub hidden: Option<String>,
}

/// One environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Folders its packages are in, in the order Python searches them.
    #[serde(default)]
    pub sites: Vec<PathBuf>,
    /// What led to it: `$VIRTUAL_ENV`, `~/.venv`, `pid 4711`.
    #[serde(default)]
    pub found_by: String,
    /// Whether `VIRTUAL_ENV` or `CONDA_PREFIX` names it here and now.
    #[serde(default)]
    pub active: bool,
    /// The installation whose packages it sees as well.
    #[serde(default)]
    pub inherits: Option<PathBuf>,
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
    /// Binaries its record lists that are not there.
    #[serde(default)]
    pub missing: Vec<Library>,
    /// Name as PEP 503 compares it.
    #[serde(default)]
    pub normalized: String,
    /// What it asks for, as its metadata writes it.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Folder, archive or repository it was installed from, where not from an index.
    #[serde(default)]
    pub source: Option<String>,
    /// CUDA it was built with, where it says so: `12.8`.
    #[serde(default)]
    pub cuda: Option<String>,
    /// Whether it says that it was built without CUDA.
    #[serde(default)]
    pub without_cuda: bool,
    /// Why it can use no GPU, whatever it holds: the torch it asks for is not there, or was built without CUDA.
    #[serde(default)]
    pub obstacle: Option<String>,
    /// Commit it was built from, where it says so.
    #[serde(default)]
    pub git: Option<String>,
}

/// One binary of a package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Its size; of one that is not there, the size its record gives.
    pub bytes: u64,
    /// Size that the package's record gives, where it gives one.
    #[serde(default)]
    pub recorded: Option<u64>,
}

/// One CUDA library an environment would load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Package it belongs to.
    #[serde(default)]
    pub package: Option<String>,
    /// The library that pulls it in.
    #[serde(default)]
    pub needed_by: Option<PathBuf>,
}

impl Environment {
    /// Whether a process led to it, and no place where environments live.
    pub fn is_by_process(&self) -> bool {
        self.found_by.starts_with("pid ")
    }

    /// A package by any spelling of its name.
    pub fn package(&self, name: &str) -> Option<&Package> {
        let wanted = super::normalized(name);
        self.packages.iter().find(|package| package.normalized == wanted)
    }

    /// CUDA its frameworks were built with, major and minor: what its torch says, else what others say, else the runtime library it would
    /// load. `None` where these are of several majors, which may be loaded side by side.
    pub fn cuda_runtime(&self) -> Option<(u32, u32)> {
        let taken = self.cuda.iter().filter(|one| one.name == "cudart" && one.wins);
        let taken = taken.filter_map(|one| one.version.as_deref());
        built_with(&self.packages).or_else(|| of_one_major(taken))
    }
}

impl Package {
    /// The whole version: `2.8.0+cu128`.
    pub fn full_version(&self) -> String {
        match &self.local {
            Some(local) => format!("{}+{local}", self.version),
            None => self.version.clone(),
        }
    }
}

/// CUDA that packages of one environment were built with: what its torch says, else what others say.
pub(super) fn built_with(packages: &[Package]) -> Option<(u32, u32)> {
    let is_torch = |one: &&Package| matches!(&*one.normalized, "torch" | "pytorch");
    let torch = packages.iter().filter(is_torch).filter_map(|one| one.cuda.as_deref());
    let all = packages.iter().filter_map(|one| one.cuda.as_deref());
    of_one_major(torch).or_else(|| of_one_major(all))
}

/// The first of these versions, if all are of one major.
fn of_one_major<'a>(versions: impl Iterator<Item = &'a str>) -> Option<(u32, u32)> {
    let mut versions = versions.filter_map(major_minor);
    let first = versions.next()?;
    versions.all(|other| other.0 == first.0).then_some(first)
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cuda_of_an_environment_is_that_of_its_torch() {
        let cuda = |packages: &[(&str, &str)], runtimes: &[&str]| {
            let package = |(name, cuda): &(&str, &str)| Package {
                normalized: (*name).to_owned(),
                cuda: Some((*cuda).to_owned()),
                ..Package::default()
            };
            let runtime = |version: &&str| CudaLibrary {
                name: "cudart".to_owned(),
                version: Some((*version).to_owned()),
                wins: true,
                ..CudaLibrary::default()
            };
            let packages = packages.iter().map(package).collect();
            let cuda = runtimes.iter().map(runtime).collect();
            Environment { packages, cuda, ..Environment::default() }.cuda_runtime()
        };
        // conda-forge's builds name their CUDA, and come before pytorch in the alphabet.
        assert_eq!(cuda(&[("magma", "11.8"), ("pytorch", "12.6")], &[]), Some((12, 6)));
        assert_eq!(cuda(&[("magma", "12.4")], &["13.0.48"]), Some((12, 4)));
        assert_eq!(cuda(&[], &["12.8.90"]), Some((12, 8)));
        assert_eq!(cuda(&[], &["12.8.90", "13.0.48"]), None);
        assert_eq!(cuda(&[("torch", "12.8")], &["12.8.90", "13.0.48"]), Some((12, 8)));
    }
}
