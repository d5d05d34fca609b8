//! What the loader would take along with a library: the files beside it, and those its search paths name.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};

use super::policy::{Kind, Objection, Trustees};
use super::walk::{Refused, Walk};
use crate::inspect::env::elf::{Dynamic, expand};

/// Libraries that load others of their folder by name: cuBLAS takes cuBLASLt, NVRTC its built-in functions.
const FAMILIES: [&str; 2] = ["libcublas", "libnvrtc"];
/// Libraries one may bring along.
const MOST: usize = 256;

/// A library that was checked.
struct Checked {
    /// As it is to be loaded: its own name in a folder without symbolic links. The name stays, for others are found by it.
    path: PathBuf,
    /// The file behind it.
    file: PathBuf,
}

/// The path under which a library may be loaded. Covers the library, its family in the same folder, and what the run paths of these find;
/// not what the loader finds through `LD_LIBRARY_PATH` or in the folders of the system.
pub(super) fn check(path: &Path, trustees: Trustees) -> Result<PathBuf, Refused> {
    let first = library(path, trustees)?;
    let loaded_as = first.path.clone();
    let mut seen = BTreeSet::from([first.path.clone()]);
    let mut queue = VecDeque::from([first]);
    for sibling in family(&loaded_as) {
        if seen.insert(sibling.clone()) {
            queue.push_back(library(&sibling, trustees)?);
        }
    }
    let mut folders = BTreeSet::new();
    while let Some(one) = queue.pop_front() {
        let (names, searched) = wants(&one)?;
        for folder in searched {
            folders.extend(searchable(&folder, trustees)?);
        }
        let candidates = names.iter().flat_map(|name| folders.iter().map(move |at| at.join(name)));
        for candidate in candidates.filter(|candidate| candidate.exists()) {
            if seen.len() > MOST {
                return Err(Refused::unreadable(path, "too many libraries come with it"));
            }
            if seen.insert(candidate.clone()) {
                queue.push_back(library(&candidate, trustees)?);
            }
        }
    }
    Ok(loaded_as)
}

/// Checks one file and the way to it.
fn library(path: &Path, trustees: Trustees) -> Result<Checked, Refused> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Refused::by(path, Kind::Folder, Objection::NotAFile));
    };
    let folder = folder(parent, trustees)?;
    let path = folder.path().join(name);
    let mut walk = folder;
    walk.follow(Path::new(name))?;
    match walk.facts().kind {
        Kind::File => Ok(Checked { path, file: walk.path().to_owned() }),
        other => Err(Refused::by(walk.path(), other, Objection::NotAFile)),
    }
}

/// Checks a folder that libraries are loaded from.
fn folder(path: &Path, trustees: Trustees) -> Result<Walk, Refused> {
    if !path.is_absolute() {
        return Err(Refused::unreadable(path, "it is relative"));
    }
    let mut walk = Walk::new(trustees)?;
    walk.follow(path)?;
    let loadable = trustees.loadable(walk.facts());
    loadable.map_err(|why| Refused::by(walk.path(), Kind::Folder, why))?;
    Ok(walk)
}

/// The same for a search path; nothing where there is none and nobody else can make one.
fn searchable(path: &str, trustees: Trustees) -> Result<Option<PathBuf>, Refused> {
    let path = Path::new(path);
    if path.exists() {
        return folder(path, trustees).map(|walk| Some(walk.path().to_owned()));
    }
    let existing = path.ancestors().find(|one| one.exists()).unwrap_or(path);
    folder(existing, trustees).map(|_| None)
}

/// Names a library needs, and where the loader looks for them.
fn wants(one: &Checked) -> Result<(Vec<String>, Vec<String>), Refused> {
    let unreadable = |why: &str| Refused::unreadable(&one.file, why);
    let mut file = File::open(&one.file).map_err(|error| unreadable(&error.to_string()))?;
    // What is no library is for the loader to refuse.
    let Some(Dynamic { needed, rpath, runpath, .. }) = Dynamic::read(&mut file) else {
        return Ok(Default::default());
    };
    let paths = if runpath.is_empty() { rpath } else { runpath };
    let origin = one.path.parent().unwrap_or(Path::new("/"));
    let folders: Vec<String> = expand(&paths, origin).collect();
    let fixed = |path: &String| path.starts_with('/') && !path.contains('$');
    if !folders.iter().all(fixed) || needed.iter().any(|name| name.contains('/')) {
        return Err(unreadable("its search path depends on the process that loads it"));
    }
    Ok((needed, folders))
}

/// Libraries of the same folder that may be loaded along.
fn family(path: &Path) -> Vec<PathBuf> {
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of_it = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        name.contains(".so") && FAMILIES.iter().any(|family| name.starts_with(family))
    };
    let mut found: Vec<PathBuf> = names.filter(is_of_it).collect();
    found.sort();
    found
}
