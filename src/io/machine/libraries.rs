//! What the libraries of an environment, or those a text names, were built for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::inspect::binary::{Cache, scan_file};

use super::{SMALL, Variable, environment};
use crate::engine::explain::{Digest, Facts, Origin};

/// Libraries of a traceback that are scanned.
const LIBRARIES: usize = 3;

/// The Python environment that is active.
pub(crate) fn active_environment(variable: Variable<'_>) -> Option<PathBuf> {
    ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().find_map(|name| variable(name)).map(PathBuf::from)
}

/// What the libraries that the text names, and the environment they are in, were built for; of the given environment where they are in none.
pub(crate) fn libraries(digest: &Digest, environment: Option<&Path>) -> Facts {
    let mut facts = Facts::default();
    let named = paths(digest);
    let beside = || named.iter().find_map(|path| packages_above(path));
    let environment = environment.map(Path::to_owned).or_else(beside);
    if let Some(environment) = environment {
        let folders = packages_of(&environment).into_iter().chain([environment.clone()]);
        if let Some(torch) = folders.map(|one| one.join("torch")).find(|torch| torch.is_dir()) {
            build(&mut facts, &torch);
        }
        facts.join(&environment::facts(&environment, digest));
    }
    let libraries = named.iter().filter(|path| path.is_file() && is_library(path)).take(LIBRARIES);
    let targets: BTreeSet<String> = libraries.flat_map(|path| targets(path)).collect();
    if !targets.is_empty() {
        let list: Vec<String> = targets.into_iter().collect();
        facts.state("lib_arch_list", &list.join(" "), Origin::Here);
    }
    facts
}

/// Version, CUDA and architectures of an installed PyTorch.
fn build(facts: &mut Facts, torch: &Path) {
    let Ok(text) = bounded::text(&torch.join("version.py"), Accept::Files, SMALL) else { return };
    let value = |name: &str| {
        let line = text.lines().find(|line| line.split([':', '=', ' ']).next() == Some(name))?;
        Some(line.rsplit('=').next()?.trim().trim_matches(['\'', '"']).to_owned())
    };
    if let Some(version) = value("__version__") {
        facts.state("torch_version", &version, Origin::Here);
    }
    match value("cuda").as_deref() {
        Some("None") => facts.count("torch_cuda_build", 0.0, Origin::Here),
        Some(cuda) => {
            facts.count("torch_cuda_build", 1.0, Origin::Here);
            facts.state("wanted_cuda", cuda, Origin::Here);
        }
        None => {}
    }
    let targets = targets(&torch.join("lib/libtorch_cuda.so"));
    if !targets.is_empty() {
        facts.state("arch_list", &targets.join(" "), Origin::Here);
    }
}

/// Architectures of the device code in a file.
fn targets(path: &Path) -> Vec<String> {
    let cache = Cache::folder_of_user().map(Cache::open);
    let scan = cache.as_ref().map_or_else(|| scan_file(path), |cache| cache.scan(path));
    let sizes = scan.map(|scan| scan.sizes).unwrap_or_default();
    sizes.keys().map(|target| target.sm.to_string()).collect()
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.contains(".so") || name.ends_with(".dll") || name.ends_with(".pyd")
}

/// Files of this machine that the text names.
fn paths(digest: &Digest) -> Vec<PathBuf> {
    let ends = |letter: char| letter.is_whitespace() || "\"'`<>(),;".contains(letter);
    let words = digest.lines.iter().flat_map(|line| line.text.split(ends));
    let words = words.map(|word| word.trim_end_matches(':')).filter(|word| word.starts_with('/'));
    let known: BTreeSet<PathBuf> = words.take(4000).map(PathBuf::from).collect();
    known.into_iter().filter(|path| path.exists()).collect()
}

/// The folder that pip installs into above a file.
fn packages_above(path: &Path) -> Option<PathBuf> {
    let is_packages = |name: &std::ffi::OsStr| name == "site-packages" || name == "dist-packages";
    let above = path.ancestors().find(|folder| folder.file_name().is_some_and(is_packages));
    above.map(Path::to_owned)
}

/// Whether a folder is a Python environment: venv, conda, or what pip installs into.
pub(crate) fn is_environment(folder: &Path) -> bool {
    let marks = ["pyvenv.cfg", "conda-meta", "Lib/site-packages"];
    marks.iter().any(|mark| folder.join(mark).exists()) || !packages_of(folder).is_empty()
}

/// The folders that pip installs into.
fn packages_of(environment: &Path) -> Vec<PathBuf> {
    let libraries = std::fs::read_dir(environment.join("lib")).into_iter().flatten().take(100);
    let packages = libraries.filter_map(Result::ok).map(|entry| entry.path().join("site-packages"));
    packages.chain([environment.join("Lib/site-packages")]).filter(|one| one.is_dir()).collect()
}
