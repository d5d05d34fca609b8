//! The packages of an environment, from the files beside them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::conda;
use super::disk::Disk;
use super::inventory::{Library, Package};
use super::links::lexical;
use super::metadata::{self, Build, DirectUrl, Metadata, normalized, split_version};
use super::places::fits;
use super::progress::{Progress, is_absent};
use super::recognise::Found;
use crate::text::printable;

/// More than the headers of any METADATA.
const METADATA_BYTES: u64 = 256 << 10;
/// The largest RECORD met is torch's, with some 2 MB.
const RECORD_BYTES: u64 = 32 << 20;
/// Longest line of a RECORD: a path of the longest length Linux takes, and a hash.
const LINE_BYTES: u64 = 8 << 10;
/// Small files: INSTALLER, `direct_url.json`, `top_level.txt`, `version.py`.
const SMALL_BYTES: u64 = 64 << 10;
/// Binaries of one package; `flashinfer-cubin`, the richest met, has 15 970.
const MOST_LIBRARIES: usize = 32 << 10;
/// Packages of one environment.
const MOST_PACKAGES: usize = 16 << 10;
/// Depth and entries of a walk through a package without RECORD.
const WALK_DEPTH: usize = 8;
const WALK_ENTRIES: usize = 20_000;

/// Files that tell of a build, by package.
const BUILDS: &[(&str, &str)] = &[
    ("torch", "torch/version.py"),
    ("torchvision", "torchvision/version.py"),
    ("torchaudio", "torchaudio/version.py"),
];

/// Packages of an environment and what is odd about how they lie there.
#[derive(Debug, Default)]
pub(super) struct Packages {
    pub(super) packages: Vec<Package>,
    pub(super) problems: Vec<String>,
}

/// Reads every package folder of an environment; of two packages with one name Python takes the first.
pub(super) fn read(disk: &Disk, found: &Found, progress: &mut Progress<'_>) -> Packages {
    let mut all = Packages::default();
    for site in &found.sites {
        let reader = Reader { disk, root: &found.root, site };
        let mut here: Vec<Package> = Vec::new();
        for name in disk.list(site, progress) {
            if progress.cancelled() || all.packages.len() + here.len() >= MOST_PACKAGES {
                break;
            }
            if let Some(package) = reader.entry(&name, progress) {
                all.problems.extend(twice(&here, &package));
                here.push(package);
            }
        }
        let known: HashSet<_> = all.packages.iter().map(|one| one.normalized.clone()).collect();
        all.packages.extend(here.into_iter().filter(|one| !known.contains(&one.normalized)));
    }
    conda::add(disk, &found.root, &mut all.packages, progress);
    all.packages.sort_by(|a, b| a.normalized.cmp(&b.normalized));
    all.packages.dedup_by(|a, b| a.normalized == b.normalized && a.version == b.version);
    all
}

/// Two sets of metadata of one package in one folder: a broken upgrade.
fn twice(here: &[Package], package: &Package) -> Option<String> {
    let other = here.iter().find(|one| one.normalized == package.normalized)?;
    let (name, one, two) = (&package.name, other.full_version(), package.full_version());
    (one != two).then(|| {
        format!(
            "{name} {one} and {two} are both recorded in one folder, so an upgrade was cut short; reinstall it: pip install --force-reinstall {name}"
        )
    })
}

/// Reads packages out of one `site-packages`.
struct Reader<'a> {
    disk: &'a Disk,
    root: &'a Path,
    site: &'a Path,
}

impl Reader<'_> {
    /// The package an entry of the folder records, if it is one.
    fn entry(&self, name: &OsStr, progress: &mut Progress<'_>) -> Option<Package> {
        let folder = name.to_str()?;
        let path = self.site.join(folder);
        if fits("*.dist-info", name) {
            return self.dist_info(folder, &path, progress);
        }
        if fits("*.egg-info", name) {
            return self.egg_info(folder, &path, progress);
        }
        if fits("*.egg-link", name) {
            let text = self.disk.text(&path, SMALL_BYTES, progress)?;
            return self.linked(text.lines().next()?.trim(), progress);
        }
        None
    }

    fn dist_info(&self, folder: &str, path: &Path, progress: &mut Progress<'_>) -> Option<Package> {
        let text = self.disk.text(&path.join("METADATA"), METADATA_BYTES, progress)?;
        let mut package = package(Metadata::parse(&text).or(Metadata::from_folder(folder)))?;
        let small = |file: &str, progress: &mut Progress<'_>| {
            self.disk.text(&path.join(file), SMALL_BYTES, progress)
        };
        package.installer = small("INSTALLER", progress)
            .map(|text| printable(text.trim()))
            .filter(|name| !name.is_empty() && name.len() < 64);
        let direct = small("direct_url.json", progress);
        let direct = direct.and_then(|text| DirectUrl::parse(&text));
        package.source = direct.as_ref().map(DirectUrl::source);
        match self.recorded(&path.join("RECORD"), self.site, progress) {
            Some(recorded) => (package.libraries, package.missing) = recorded,
            None => package.libraries = self.walked(&package.normalized, path, progress),
        }
        if package.installer.as_deref() == Some("conda") {
            // conda changes files when it builds and installs, and leaves the wheel's record as it was.
            package.missing = Vec::new();
            package.libraries.iter_mut().for_each(|one| one.recorded = None);
        }
        if let Some(project) = direct.and_then(|direct| direct.editable()) {
            self.add_editable(&mut package, &project, path, progress);
        }
        self.add_build(&mut package, progress);
        Some(package)
    }

    fn egg_info(&self, folder: &str, path: &Path, progress: &mut Progress<'_>) -> Option<Package> {
        let single = self.disk.is_file(path);
        let info = if single { path.to_owned() } else { path.join("PKG-INFO") };
        let text = self.disk.text(&info, METADATA_BYTES, progress)?;
        let mut package = package(Metadata::parse(&text).or(Metadata::from_folder(folder)))?;
        if single {
            return Some(package);
        }
        if let Some(text) = self.disk.text(&path.join("requires.txt"), METADATA_BYTES, progress) {
            package.requires.extend(metadata::requires_txt(&text));
        }
        package.libraries = match self.recorded(&path.join("installed-files.txt"), path, progress) {
            Some((libraries, _)) => libraries,
            None => self.walked(&package.normalized, path, progress),
        };
        Some(package)
    }

    /// A project that is used where it lies: what is compiled is in its folder, or in the `src` of it.
    fn add_editable(
        &self,
        package: &mut Package,
        project: &Path,
        info: &Path,
        progress: &mut Progress<'_>,
    ) {
        for site in [project, &project.join("src")] {
            let reader = Reader { site, root: project, ..*self };
            package.libraries.extend(reader.walked(&package.normalized, info, progress));
        }
    }

    /// A project that setuptools linked to: its `.egg-info` lies in the project.
    fn linked(&self, project: &str, progress: &mut Progress<'_>) -> Option<Package> {
        let project = Path::new(project);
        if !project.is_absolute() {
            return None;
        }
        let names = self.disk.list(project, progress);
        let folder = names.iter().find(|name| fits("*.egg-info", name))?.to_str()?.to_owned();
        let reader = Reader { site: project, root: project, ..*self };
        let mut package = reader.egg_info(&folder, &project.join(&folder), progress)?;
        package.source = Some(printable(&format!("file://{} (editable)", project.display())));
        Some(package)
    }

    /// Binaries a list of files names, relative to `base`: those that are there, and those that are not. `None` where there is no list.
    fn recorded(
        &self,
        list: &Path,
        base: &Path,
        progress: &mut Progress<'_>,
    ) -> Option<(Vec<Library>, Vec<Library>)> {
        let failed = |error: &io::Error| progress.failed(&self.disk.outer(list), error);
        let file = self.disk.open(list).inspect_err(failed).ok()?;
        let (mut libraries, mut missing) = (Vec::new(), Vec::new());
        let mut known = HashSet::new();
        let mut reader = BufReader::with_capacity(64 << 10, file.take(RECORD_BYTES));
        let mut line = Vec::new();
        let mut total = 0;
        while libraries.len() + missing.len() < MOST_LIBRARIES && !progress.cancelled() {
            line.clear();
            let read = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line).ok()?;
            total += read as u64;
            if read == 0 {
                break;
            }
            let text = std::str::from_utf8(&line).unwrap_or_default().trim_end();
            let path = metadata::record_path(text).filter(|path| metadata::is_library(path));
            let Some(path) = path.and_then(|path| self.own(&base.join(path))) else { continue };
            if !known.insert(path.clone()) {
                continue;
            }
            let recorded = metadata::record_size(text);
            let listed = || {
                let (path, bytes) = (self.disk.outer(&path), recorded.unwrap_or_default());
                Library { path, bytes, recorded }
            };
            match self.disk.kind(&path) {
                Ok(_) => {
                    libraries.extend(self.library(&path).map(|one| Library { recorded, ..one }))
                }
                Err(error) if is_absent(&error) => missing.extend(recorded.map(|_| listed())),
                // It may be there; whoever reads it says why it cannot be read.
                Err(_) => libraries.push(listed()),
            }
        }
        progress.read(total);
        Some((libraries, missing))
    }

    /// A path inside the environment: a record may name anything.
    fn own(&self, path: &Path) -> Option<PathBuf> {
        let path = lexical(path);
        (path.starts_with(self.root) || path.starts_with(self.site)).then_some(path)
    }

    /// A binary, if it is there and inside the environment.
    fn library(&self, path: &Path) -> Option<Library> {
        let (path, bytes) = self.disk.file(&self.own(path)?)?;
        Some(Library { path, bytes, recorded: None })
    }

    /// Binaries found by walking the folders the package says are its own.
    fn walked(&self, name: &str, info: &Path, progress: &mut Progress<'_>) -> Vec<Library> {
        let top_level = self.disk.text(&info.join("top_level.txt"), SMALL_BYTES, progress);
        let own = name.replace('-', "_");
        let tops: Vec<_> = match &top_level {
            Some(text) => {
                text.lines().map(str::trim).filter(|top| !top.is_empty()).take(64).collect()
            }
            None => vec![own.as_str()],
        };
        let mut walk = Walk { reader: self, left: WALK_ENTRIES, libraries: Vec::new() };
        for top in tops.into_iter().filter(|top| !top.contains("..") && !top.starts_with('/')) {
            walk.folder(&self.site.join(top), WALK_DEPTH, progress);
            let single = format!("{top}.cpython-*.so");
            let names =
                if top_level.is_some() { self.disk.list(self.site, progress) } else { Vec::new() };
            let modules = names.iter().filter(|name| fits(&single, name));
            walk.libraries.extend(modules.filter_map(|name| self.library(&self.site.join(name))));
        }
        walk.libraries
    }

    /// What the framework's own file says of its build; its version beats the metadata's, which may lack the local part.
    fn add_build(&self, package: &mut Package, progress: &mut Progress<'_>) {
        let Some((_, file)) = BUILDS.iter().find(|row| row.0 == package.normalized) else { return };
        let Some(text) = self.disk.text(&self.site.join(file), SMALL_BYTES, progress) else {
            return;
        };
        let build = Build::parse(&text);
        (package.cuda, package.git) = (build.cuda, build.git);
        package.without_cuda = build.without_cuda;
        let (public, local) = split_version(build.version.as_deref().unwrap_or_default());
        if public == package.version && package.local.is_none() {
            package.local = local;
        }
    }
}

/// A package with nothing but what its metadata says; `None` without a name.
fn package(metadata: Metadata) -> Option<Package> {
    if metadata.name.is_empty() {
        return None;
    }
    let (version, local) = split_version(&metadata.version);
    Some(Package {
        normalized: normalized(&metadata.name),
        name: metadata.name,
        version,
        local,
        requires: metadata.requires,
        ..Package::default()
    })
}

/// A walk that ends: bounded in depth and in entries, and no link is followed.
struct Walk<'a> {
    reader: &'a Reader<'a>,
    left: usize,
    libraries: Vec<Library>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize, progress: &mut Progress<'_>) {
        let disk = self.reader.disk;
        if depth == 0 || !disk.is_real_dir(folder) {
            return;
        }
        let mut folders: Vec<PathBuf> = Vec::new();
        for name in disk.list(folder, progress) {
            if self.left == 0 || self.libraries.len() >= MOST_LIBRARIES {
                return;
            }
            self.left -= 1;
            let path = folder.join(&name);
            if name.to_str().is_some_and(metadata::is_library) {
                self.libraries.extend(self.reader.library(&path));
            } else if !name.to_str().is_some_and(|name| name.contains('.') || name == "__pycache__")
            {
                folders.push(path);
            }
        }
        for folder in folders {
            self.folder(&folder, depth - 1, progress);
        }
    }
}
