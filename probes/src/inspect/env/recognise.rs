//! What a folder really is, told by its marks: `pyvenv.cfg`, `conda-meta`, `lib/pythonX.Y/site-packages`. No interpreter is asked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Identity};
use super::inventory::EnvKind;
use super::places::fits;
use super::progress::{Progress, is_absent};

/// More than any `pyvenv.cfg`.
const CONFIG_BYTES: u64 = 64 << 10;

/// An environment that was recognised; nothing in it has been read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: EnvKind,
    /// Its folder, a path inside, links followed.
    pub(super) root: PathBuf,
    pub(super) python: Option<String>,
    /// Where its packages are, in the order of `sys.path`.
    pub(super) sites: Vec<PathBuf>,
    /// The installation whose packages it sees as well.
    pub(super) inherits: Option<PathBuf>,
    /// Whether it sees packages of an installation that was not found.
    pub(super) sees_more: bool,
    /// What led to it.
    pub(super) found_by: String,
}

impl Found {
    /// Why it starts no Python: its interpreter is a link to nothing.
    pub(super) fn lost_interpreter(&self, disk: &Disk) -> Option<String> {
        let python = self.root.join("bin/python");
        disk.link(&python).ok()??;
        let is_lost = disk.is_real() && disk.kind(&python).is_err_and(|error| is_absent(&error));
        is_lost.then(|| {
            format!(
                "its interpreter is gone: {} leads to a file that is not there. Make the environment anew, or restore the Python it was made with.",
                disk.outer(&python).display()
            )
        })
    }

    /// Whether all that its Python would find is known: it is an environment by itself, and no path file names other folders.
    pub(super) fn is_whole(&self, disk: &Disk, progress: &mut Progress<'_>) -> bool {
        let alone = !matches!(
            self.kind,
            EnvKind::Folder | EnvKind::User | EnvKind::Process | EnvKind::Program
        );
        alone
            && !self.sees_more
            && disk.is_real()
            && !self.sites.iter().any(|site| {
                let names = disk.list(site, progress);
                let mut files = names.iter().filter(|name| fits("*.pth", name));
                files.any(|name| {
                    let text =
                        disk.text(&site.join(name), CONFIG_BYTES, progress).unwrap_or_default();
                    let is_path = |line: &str| {
                        !line.is_empty()
                            && !line.starts_with(['#', ' '])
                            && !line.starts_with("import")
                    };
                    text.lines().any(is_path)
                })
            })
    }

    /// The folder of a program without Python.
    pub(super) fn of_program(root: PathBuf) -> Self {
        Self { kind: EnvKind::Process, root, ..Self::default() }
    }
}

/// Looks at one place: the environments it is, holds or belongs to.
pub(super) fn recognise(
    disk: &Disk,
    place: &Path,
    kind: EnvKind,
    progress: &mut Progress<'_>,
) -> Vec<Found> {
    // Not "is a file": the interpreter of a venv whose base is gone is a link to nothing.
    if !disk.is_dir(place) {
        return interpreter(disk, place, kind, progress);
    }
    let Ok(root) = disk.canonical(place) else { return Vec::new() };
    if is_site(&root) {
        return vec![of_site(disk, root, kind, progress)];
    }
    let found = prefix(disk, &root, kind, progress);
    if !found.is_empty() || kind != EnvKind::Folder {
        return found;
    }
    bare(disk, &root, progress)
}

fn is_site(path: &Path) -> bool {
    matches!(path.file_name().and_then(OsStr::to_str), Some("site-packages" | "dist-packages"))
}

/// The environment of an interpreter: beside it when it is a venv's, else where its links end.
fn interpreter(disk: &Disk, file: &Path, kind: EnvKind, progress: &mut Progress<'_>) -> Vec<Found> {
    let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if !name.starts_with("python") && !name.starts_with("pypy") {
        return Vec::new();
    }
    let above = |file: &Path| Some(file.parent()?.parent()?.to_owned());
    let beside = above(file).filter(|root| disk.is_file(&root.join("pyvenv.cfg")));
    let end = || disk.canonical(file).ok().as_deref().and_then(above);
    let Some(root) = beside.or_else(end) else { return Vec::new() };
    let Ok(root) = disk.canonical(&root) else { return Vec::new() };
    let mut found = prefix(disk, &root, kind, progress);
    let version = disk.canonical(file).ok().and_then(|file| {
        let digits = file.file_name()?.to_str()?.strip_prefix("python")?.to_owned();
        digits.contains('.').then_some(digits)
    });
    if version.is_some() && found.iter().any(|one| one.python == version) {
        found.retain(|one| one.python == version);
    }
    found
}

/// The environment a `site-packages` belongs to.
fn of_site(disk: &Disk, site: PathBuf, kind: EnvKind, progress: &mut Progress<'_>) -> Found {
    let above = site.ancestors().nth(3).filter(|_| version_of(site.parent()).is_some());
    let windows = || site.ancestors().nth(2).filter(|root| disk.is_file(&root.join("pyvenv.cfg")));
    if let Some(root) = above.or_else(windows).map(Path::to_owned) {
        let mut all = prefix(disk, &root, kind, progress).into_iter();
        if let Some(found) = all.find(|one| one.sites.contains(&site)) {
            return found;
        }
    }
    let python = version_of(site.parent());
    Found { kind, root: site.clone(), python, sites: vec![site], ..Found::default() }
}

/// A folder filled by `pip install --target`, or a project with its environment inside.
fn bare(disk: &Disk, root: &Path, progress: &mut Progress<'_>) -> Vec<Found> {
    for inner in [".venv", "venv", "env"] {
        let found = prefix(disk, &root.join(inner), EnvKind::Folder, progress);
        if !found.is_empty() {
            return found;
        }
    }
    let names = disk.list(root, progress);
    if !names.iter().any(|name| fits("*.dist-info", name) || fits("*.egg-info", name)) {
        return Vec::new();
    }
    let (root, sites) = (root.to_owned(), vec![root.to_owned()]);
    vec![Found { kind: EnvKind::Folder, root, sites, ..Found::default() }]
}

/// An installation prefix: one environment for each version of Python in it.
fn prefix(disk: &Disk, root: &Path, kind: EnvKind, progress: &mut Progress<'_>) -> Vec<Found> {
    let config = disk.text(&root.join("pyvenv.cfg"), CONFIG_BYTES, progress);
    let conda = disk.is_dir(&root.join("conda-meta"));
    let config = config.map(|text| Config::parse(&text));
    let kind = kind_by_marks(kind, root, config.as_ref(), conda);
    let config = config.unwrap_or_default();
    let base = config.system_site.then(|| config.home.as_deref().and_then(Path::parent)).flatten();
    let base = base.and_then(|base| disk.canonical(base).ok());
    let sees_more = config.system_site && base.is_none();
    let found = |python, sites, inherits| Found {
        kind,
        root: root.to_owned(),
        python,
        sites,
        inherits,
        sees_more,
        ..Found::default()
    };
    let mut all = Vec::new();
    for version in versions(disk, root, progress) {
        let mut sites = sites(disk, root, &version);
        if sites.is_empty() {
            continue;
        }
        let overlaid = || (kind == EnvKind::User).then(|| system_of(disk, &version)).flatten();
        let inherits = base.clone().or_else(overlaid);
        sites.extend(inherits.iter().flat_map(|base| self::sites(disk, base, &version)));
        all.push(found(Some(version), sites, inherits));
    }
    let windows = root.join("Lib/site-packages");
    if all.is_empty() && disk.is_dir(&windows) {
        all.push(found(config.version, vec![windows], None));
    } else if all.is_empty() && conda {
        all.push(found(None, Vec::new(), None));
    }
    all
}

/// The installation whose interpreter sees a user's own packages: what `pip install --user` adds lies over the system's.
fn system_of(disk: &Disk, version: &str) -> Option<PathBuf> {
    let systems = ["/usr", "/usr/local"].map(PathBuf::from);
    systems.into_iter().find(|root| disk.is_file(&root.join(format!("bin/python{version}"))))
}

/// Marks beat the place: a conda environment named by `VIRTUAL_ENV` is one of conda. A tool's own place says more than the mark
/// that all its environments have.
fn kind_by_marks(kind: EnvKind, root: &Path, venv: Option<&Config>, conda: bool) -> EnvKind {
    match kind {
        EnvKind::Process | EnvKind::Image => kind,
        _ if conda => EnvKind::Conda,
        EnvKind::Conda | EnvKind::Folder | EnvKind::Venv if venv.is_some_and(|venv| venv.uv) => {
            EnvKind::Uv
        }
        EnvKind::Conda | EnvKind::Folder if venv.is_some() => EnvKind::Venv,
        _ if ["/", "/usr", "/usr/local"].iter().any(|system| root == Path::new(system)) => {
            EnvKind::System
        }
        EnvKind::Conda => EnvKind::Folder,
        kind => kind,
    }
}

/// Versions of Python that have a library folder here: `3.11`, oldest first.
fn versions(disk: &Disk, root: &Path, progress: &mut Progress<'_>) -> Vec<String> {
    let mut versions: Vec<_> = ["lib", "lib64"]
        .iter()
        .flat_map(|lib| disk.list(&root.join(lib), progress))
        .filter_map(|name| version_of(Some(Path::new(&name))))
        .filter(|version| version.contains('.'))
        .collect();
    versions.sort_unstable_by_key(|version| numbers(version));
    versions.dedup();
    versions
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// `3.11` from `python3.11`, which free-threaded builds write `python3.13t`.
fn version_of(folder: Option<&Path>) -> Option<String> {
    let name = folder?.file_name()?.to_str()?;
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"))?;
    let plain = version.trim_end_matches('t');
    let digits = plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    (digits && plain.starts_with(|c: char| c.is_ascii_digit()) && plain.len() < 8)
        .then(|| plain.to_owned())
}

/// The package folders of one version, each once, in the order of `sys.path`.
///
/// Debian keeps its own in the unversioned `python3` and lets pip write to `/usr/local`; Fedora does the latter as well.
fn sites(disk: &Disk, root: &Path, version: &str) -> Vec<PathBuf> {
    let mut rows: Vec<PathBuf> = Vec::new();
    if root == Path::new("/usr") {
        rows.push(format!("/usr/local/lib/python{version}/dist-packages").into());
        if !disk.is_file(Path::new(&format!("/usr/local/bin/python{version}"))) {
            rows.push(format!("/usr/local/lib/python{version}/site-packages").into());
        }
        rows.push("/usr/lib/python3/dist-packages".into());
    }
    for lib in ["lib", "lib64"] {
        for folder in
            [format!("python{version}"), format!("python{version}t"), format!("pypy{version}")]
        {
            rows.push(root.join(lib).join(&folder).join("site-packages"));
            if root != Path::new("/usr/local") {
                rows.push(root.join(lib).join(&folder).join("dist-packages"));
            }
        }
    }
    let mut known: Vec<Identity> = Vec::new();
    rows.retain(|row| {
        let identity = disk.is_dir(row).then(|| disk.identity(row)).flatten();
        let new = identity.is_some_and(|identity| !known.contains(&identity));
        known.extend(identity);
        new
    });
    rows
}

/// What `pyvenv.cfg` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Config {
    home: Option<PathBuf>,
    version: Option<String>,
    system_site: bool,
    /// Whether uv made it, which says so.
    uv: bool,
}

impl Config {
    fn parse(text: &str) -> Self {
        let mut config = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim();
            match key.trim().to_ascii_lowercase().as_str() {
                "home" => {
                    config.home = Some(value.into()).filter(|home: &PathBuf| home.is_absolute())
                }
                "version" | "version_info" => {
                    let parts: Vec<_> = value.split('.').take(2).collect();
                    config.version = Some(parts.join(".")).filter(|short| short.len() < 8);
                }
                "uv" => config.uv = true,
                "include-system-site-packages" => {
                    config.system_site = value.eq_ignore_ascii_case("true");
                }
                _ => {}
            }
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by CPython 3.11's `venv`, by virtualenv 20 and by uv 0.8.
    #[test]
    fn reads_what_three_tools_write() {
        let venv = "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.7\n";
        let virtualenv = "home = /usr/bin\nimplementation = CPython\nversion_info = 3.11.7.final.0\nvirtualenv = 20.25.0\ninclude-system-site-packages = false\n";
        let uv = "home = /opt/python/bin\nimplementation = CPython\nuv = 0.8.0\nversion_info = 3.12\ninclude-system-site-packages = false\n";
        for (text, home, version, system_site, uv) in [
            (venv, "/usr/bin", "3.11", true, false),
            (virtualenv, "/usr/bin", "3.11", false, false),
            (uv, "/opt/python/bin", "3.12", false, true),
        ] {
            let (home, version) = (Some(home.into()), Some(version.into()));
            assert_eq!(Config::parse(text), Config { home, version, system_site, uv });
        }
        assert_eq!(
            Config::parse("home\nhome = relative\n=\nversion = "),
            Config { version: Some(String::new()), ..Config::default() }
        );
    }

    #[test]
    fn tells_versions_from_other_folders() {
        for (name, version) in [
            ("python3.11", Some("3.11")),
            ("python3.13t", Some("3.13")),
            ("python3", Some("3")),
            ("pypy3.10", Some("3.10")),
            ("python", None),
            ("python-apt", None),
            ("python3.11-config", None),
        ] {
            assert_eq!(version_of(Some(Path::new(name))).as_deref(), version, "{name}");
        }
    }
}
