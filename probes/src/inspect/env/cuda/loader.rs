//! The dynamic loader's search, replayed: `ld.so(8)`.
//!
//! A library that is loaded serves every later one that asks for its soname, so order matters: a framework's own libraries come before
//! those of the packages built on it.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::super::disk::Disk;
use super::super::elf::{Dynamic, expand};
use super::super::inventory::{Package, built_with};
use super::super::links::lexical;
use super::super::progress::Progress;
use super::builds;
use super::copies::{Copy, LIBRARIES, Machine, Place, identify, is_private};
use super::versions::Versions;

/// Libraries followed in one environment.
const MOST: usize = 4096;

/// Frameworks, in the order their libraries are loaded; packages that are none come after them.
const FRAMEWORKS: &[&str] =
    &["torch", "tensorflow", "jaxlib", "paddlepaddle-gpu", "onnxruntime-gpu"];

/// What torch opens first, before anything else.
const FIRST: &str = "libtorch_global_deps.so";

/// Where the loader looks at last.
const DEFAULT: &[&str] = &["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// A CUDA library that would be loaded.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) copy: Copy,
    pub(super) via: String,
    pub(super) needed_by: PathBuf,
}

/// A library being loaded, and those that brought it in.
struct Object {
    path: PathBuf,
    dynamic: Dynamic,
    above: Option<Rc<Object>>,
}

impl Object {
    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn file(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or("?")
    }

    fn expand(&self, paths: &[String]) -> Vec<PathBuf> {
        let full = expand(paths, self.folder()).map(|path| lexical(Path::new(&path)));
        full.filter(|path| path.is_absolute()).collect()
    }
}

/// Replays what the loader does for one environment.
pub(super) struct Loader<'a> {
    disk: &'a Disk,
    machine: &'a Machine,
    own: &'a [Copy],
    versions: Versions,
    /// Names that are taken: later libraries get what is loaded.
    names: HashSet<String>,
    seen: HashSet<PathBuf>,
    loaded: Vec<Loaded>,
}

impl<'a> Loader<'a> {
    pub(super) fn new(disk: &'a Disk, machine: &'a Machine, own: &'a [Copy]) -> Self {
        let (names, seen, loaded) = (HashSet::new(), HashSet::new(), Vec::new());
        Self { disk, machine, own, versions: Versions::default(), names, seen, loaded }
    }

    /// Loads every library of every package, frameworks first.
    pub(super) fn load(mut self, packages: &[Package], progress: &mut Progress<'_>) -> Vec<Loaded> {
        let runtime = built_with(packages);
        let mut order: Vec<_> = packages.iter().filter(|one| !is_provider(one)).collect();
        let rank =
            |package: &Package| FRAMEWORKS.iter().position(|name| *name == package.normalized);
        order.sort_by_key(|package| rank(package).unwrap_or(FRAMEWORKS.len()));
        for package in order {
            let mut paths: Vec<_> =
                package.libraries.iter().map(|one| self.disk.inner(&one.path)).collect();
            paths.retain(|path| is_loadable(path));
            if let Some(runtime) = runtime {
                builds::retain_loaded(&mut paths, runtime);
            }
            paths.sort_by_key(|path| !path.ends_with(FIRST));
            for path in paths {
                if progress.cancelled() || self.seen.len() >= MOST {
                    return self.loaded;
                }
                self.load_one(path, progress);
            }
        }
        self.loaded
    }

    /// Loads a library and, breadth first as the loader does, what it needs.
    fn load_one(&mut self, path: PathBuf, progress: &mut Progress<'_>) {
        let mut queue = VecDeque::from([(path, None)]);
        while let Some((path, above)) = queue.pop_front() {
            if self.seen.len() >= MOST || !self.seen.insert(path.clone()) {
                continue;
            }
            let Ok(mut file) = self.disk.open(&path) else { continue };
            let Some(dynamic) = Dynamic::read(&mut file) else { continue };
            progress.read(0);
            self.names.extend(dynamic.soname.clone());
            let object = Rc::new(Object { path, dynamic, above });
            let opened = opened_later(&object);
            for soname in object.dynamic.needed.iter().chain(&opened) {
                if self.names.contains(soname) {
                    continue;
                }
                let Some((path, via)) = self.search(soname, &object) else { continue };
                self.names.insert(soname.clone());
                self.note(&path, via, &object, progress);
                queue.push_back((path, Some(Rc::clone(&object))));
            }
        }
    }

    fn note(&mut self, path: &Path, via: String, object: &Object, progress: &mut Progress<'_>) {
        let known = || self.disk.canonical(path).ok();
        let own = known().and_then(|real| self.own.iter().find(|copy| copy.real == real).cloned());
        let Some(copy) =
            own.or_else(|| self.versions.copy(self.disk, path.to_owned(), Place::Cached, progress))
        else {
            return;
        };
        if !self.loaded.iter().any(|one| one.copy.real == copy.real) {
            self.loaded.push(Loaded { copy, via, needed_by: object.path.clone() });
        }
    }

    /// Where the loader finds a name, and how.
    fn search(&self, soname: &str, object: &Rc<Object>) -> Option<(PathBuf, String)> {
        if soname.contains('/') {
            return None;
        }
        let in_any = |dirs: &[PathBuf]| {
            let paths = dirs.iter().map(|dir| dir.join(soname));
            paths.into_iter().find(|path| self.disk.is_file(path))
        };
        if let Some((path, file)) = self.by_rpath(object, &in_any) {
            return Some((path, format!("RPATH of {file}")));
        }
        if let Some(path) = in_any(&self.machine.listed) {
            return Some((path, "LD_LIBRARY_PATH".to_owned()));
        }
        if let Some(path) = in_any(&object.expand(&object.dynamic.runpath)) {
            return Some((path, format!("RUNPATH of {}", object.file())));
        }
        if let Some(path) = self.machine.cache.get(soname).filter(|path| self.disk.is_file(path)) {
            return Some((path.clone(), "ld.so.cache".to_owned()));
        }
        let default: Vec<_> = DEFAULT.iter().map(PathBuf::from).collect();
        if let Some(path) = in_any(&default) {
            return Some((path, "default folder".to_owned()));
        }
        self.preloaded(soname)
    }

    /// The old run paths of the library and of those that brought it in; a new one switches them off.
    fn by_rpath(
        &self,
        object: &Rc<Object>,
        in_any: &dyn Fn(&[PathBuf]) -> Option<PathBuf>,
    ) -> Option<(PathBuf, String)> {
        if !object.dynamic.runpath.is_empty() {
            return None;
        }
        let mut next = Some(object);
        while let Some(one) = next {
            let usable = one.dynamic.runpath.is_empty();
            let found = usable.then(|| in_any(&one.expand(&one.dynamic.rpath))).flatten();
            if let Some(path) = found {
                return Some((path, one.file().to_owned()));
            }
            next = one.above.as_ref();
        }
        None
    }

    /// What the frameworks open by themselves from NVIDIA's wheels when the loader finds nothing.
    fn preloaded(&self, soname: &str) -> Option<(PathBuf, String)> {
        identify(soname)?;
        let shared =
            |copy: &&Copy| matches!(copy.place, Place::Wheel(_)) && !is_private(&copy.path);
        let mut wheels = self.own.iter().filter(shared);
        let copy = wheels.find(|copy| copy.path.file_name().is_some_and(|name| name == soname))?;
        Some((copy.path.clone(), format!("preloaded from {}", copy.place)))
    }
}

/// Libraries cuDNN opens by name when it first needs them, by the same search as if it had asked for them at once.
fn opened_later(object: &Object) -> Vec<String> {
    let Some(major) = object.file().strip_prefix("libcudnn.so.") else { return Vec::new() };
    let major = major.split('.').next().unwrap_or_default();
    let parts = LIBRARIES.iter().filter(|row| row.0.starts_with("cudnn_"));
    parts.map(|row| format!("{}.so.{major}", row.1)).collect()
}

/// NVIDIA's own packages are loaded by others, not for themselves.
fn is_provider(package: &Package) -> bool {
    package.normalized.starts_with("nvidia-")
}

/// Whether a file is a library the loader opens for itself: device code is not, and a CUDA library waits until another asks for it.
fn is_loadable(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.contains(".so") && identify(name).is_none()
}
