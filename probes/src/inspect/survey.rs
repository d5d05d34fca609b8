//! Both halves joined: what is installed, and what its binaries can run on.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::binary::{Scan, ScanError, Why};
use super::env::{Environment, Inventory, Library, Package, ProcessUse, Unreadable};

/// Everything installed, with the device code of its binaries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentScan {
    /// Environments, packages, libraries.
    pub inventory: Inventory,
    /// Device code by path; only of files that carry any.
    pub scans: BTreeMap<PathBuf, Scan>,
    /// Binaries that could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Binaries that are not whole, and why.
    #[serde(default)]
    pub damaged: BTreeMap<PathBuf, String>,
}

/// A binary of a package that is not as it was installed, or of which that cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage<'a> {
    /// The file.
    pub path: &'a Path,
    /// What is wrong with it: `is missing`; why it cannot be read.
    pub what: &'a str,
    /// Whether it cannot be read, so that nothing is known of it.
    pub is_unread: bool,
    /// Whether the package is nothing without it: no other of its binaries is twice as large.
    pub is_main: bool,
}

/// How far the reading of binaries has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanProgress {
    /// Files read.
    pub files: usize,
    /// Files there are.
    pub files_total: usize,
    /// Bytes of the files read.
    pub bytes: u64,
    /// Bytes of the files there are.
    pub bytes_total: u64,
    /// The file being read.
    pub place: PathBuf,
    /// Time left at the pace so far; none before the first file is read.
    pub left: Option<Duration>,
}

impl ScanProgress {
    /// Share of the bytes done, 0–1.
    pub fn share(&self) -> f64 {
        if self.bytes_total == 0 { 1.0 } else { self.bytes as f64 / self.bytes_total as f64 }
    }

    /// What is left after so long, if it goes on like this.
    fn left_after(&self, passed: Duration) -> Option<Duration> {
        let share = self.share();
        (share > 0.0).then(|| passed.mul_f64(1.0 / share - 1.0))
    }
}

/// How one file is read: from the file, or from what is remembered of it.
pub type Scanner<'a> = &'a mut dyn FnMut(&Path) -> Result<Scan, ScanError>;

impl EnvironmentScan {
    /// Reads the binaries of everything found. Each file once, whoever it belongs to; stops soon after `cancel` is set.
    pub fn of(
        inventory: Inventory,
        scan: Scanner<'_>,
        cancel: &AtomicBool,
        report: &mut dyn FnMut(&ScanProgress),
    ) -> Self {
        let files = libraries(&inventory);
        let mut advance = ScanProgress {
            files_total: files.len(),
            bytes_total: files.values().map(|one| one.bytes).sum(),
            ..ScanProgress::default()
        };
        let begun = Instant::now();
        let mut survey = Self { inventory, ..Self::default() };
        for (path, file) in files {
            if cancel.load(Ordering::Relaxed) {
                survey.inventory.cancelled = true;
                break;
            }
            path.clone_into(&mut advance.place);
            report(&advance);
            survey.take(path, file.recorded, scan);
            advance.files += 1;
            advance.bytes += file.bytes;
            advance.left = advance.left_after(begun.elapsed());
        }
        report(&advance);
        survey
    }

    fn take(&mut self, path: PathBuf, recorded: Option<u64>, scan: Scanner<'_>) {
        let found = scan(&path);
        self.add(path, recorded, found);
    }

    /// Adds what was found in a binary, of the size that a record gives where there is one.
    pub fn add(&mut self, path: PathBuf, recorded: Option<u64>, found: Result<Scan, ScanError>) {
        if let Some(damage) = damage(&path, recorded, &found) {
            self.damaged.insert(path.clone(), damage);
        }
        match found {
            Ok(found) if found.has_device_code() => drop(self.scans.insert(path, found)),
            // Most shared libraries have no device code, and some names end in .so without being one.
            Ok(_) | Err(ScanError { why: Why::Unrecognised, .. }) => {}
            Err(ScanError { why: Why::Read(error), .. }) => {
                self.unreadable.push(Unreadable { path, reason: error.to_string() });
            }
        }
    }

    /// Forgets the packages nobody asks for, with their binaries and with what only a report on environments tells.
    pub fn keep(&mut self, wanted: impl Fn(&Package) -> bool) {
        let inventory = &mut self.inventory;
        inventory.unreadable = Vec::new();
        for one in &mut inventory.environments {
            // The CUDA version of an environment is that of its package built for one.
            one.packages.retain(|package| package.cuda.is_some() || wanted(package));
            one.packages.iter_mut().for_each(|package| package.requires = Vec::new());
            one.packages.shrink_to_fit();
            one.problems = Vec::new();
        }
        let kept = libraries(inventory);
        self.scans.retain(|path, _| kept.contains_key(path));
        self.damaged.retain(|path, _| kept.contains_key(path));
        self.unreadable = Vec::new();
    }

    /// Adds what was seen at processes since. An environment that is known already only learns who uses it.
    pub fn join(&mut self, later: Self) {
        let Inventory { environments, processes, .. } = later.inventory;
        let known = &mut self.inventory;
        for home in environments {
            match known.environments.iter_mut().find(|one| one.root == home.root) {
                Some(one) => {
                    let new: Vec<u32> =
                        home.pids.into_iter().filter(|pid| !one.pids.contains(pid)).collect();
                    one.pids.extend(new);
                }
                None => known.environments.push(home),
            }
        }
        known.processes.retain(|one| processes.iter().all(|new| new.pid != one.pid));
        known.processes.extend(processes);
        self.scans.extend(later.scans);
        self.damaged.extend(later.damaged);
        for place in later.unreadable {
            if !self.unreadable.contains(&place) {
                self.unreadable.push(place);
            }
        }
    }

    /// What a process uses, as far as somebody has looked.
    pub fn process(&self, pid: u32) -> Option<&ProcessUse> {
        self.inventory.processes.iter().find(|one| one.pid == pid)
    }

    /// The largest binary of a package that is missing, not whole or unreadable.
    pub fn damage<'a>(&'a self, package: &'a Package) -> Option<Damage<'a>> {
        let whole = |one: &Library| one.recorded.unwrap_or(one.bytes).max(one.bytes);
        let unread: HashMap<&Path, &str> =
            self.unreadable.iter().map(|one| (one.path.as_path(), one.reason.as_str())).collect();
        let listed = package.libraries.iter().filter_map(|one| {
            let cut = self.damaged.get(&one.path).map(|what| (one, what.as_str(), false));
            cut.or_else(|| Some((one, *unread.get(one.path.as_path())?, true)))
        });
        let missing = package.missing.iter().map(|one| (one, "is missing", false));
        let (worst, what, is_unread) = listed.chain(missing).max_by_key(|one| whole(one.0))?;
        let largest = package.libraries.iter().map(whole).max().unwrap_or_default();
        let is_main = whole(worst) >= largest / 2;
        Some(Damage { path: &worst.path, what, is_unread, is_main })
    }

    /// The binaries of a package that carry device code.
    pub fn device_code<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Scan> {
        package.libraries.iter().filter_map(|library| self.scans.get(&library.path))
    }
}

/// Every binary once.
fn libraries(inventory: &Inventory) -> BTreeMap<PathBuf, Library> {
    let packages = inventory.environments.iter().flat_map(|one: &Environment| &one.packages);
    let each = packages.flat_map(|package| &package.libraries);
    each.map(|library: &Library| (library.path.clone(), library.clone())).collect()
}

/// Smaller files whose names end in .so can be scripts of a linker, which are text.
const SMALLEST_LIBRARY: u64 = 4096;

/// Why a binary cannot be whole: its own tables lead beyond its end, or it is none although the record of its package lists one.
fn damage(path: &Path, recorded: Option<u64>, found: &Result<Scan, ScanError>) -> Option<String> {
    let short = recorded.and_then(|recorded| {
        let bytes = std::fs::metadata(path).ok()?.len();
        let short =
            format!("holds {bytes} of the {recorded} bytes that the record of its package lists");
        (bytes < recorded).then_some(short)
    });
    match found {
        Ok(scan) => scan.damage.clone().map(|damage| short.unwrap_or(damage)),
        Err(ScanError { why: Why::Unrecognised, .. }) => short.or_else(|| {
            let listed = recorded.is_some_and(|recorded| recorded > SMALLEST_LIBRARY);
            listed
                .then(|| "is no library: its contents are not those that were installed".to_owned())
        }),
        Err(ScanError { why: Why::Read(_), .. }) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::binary::scan_file;

    #[test]
    fn what_nobody_asks_for_is_forgotten_with_its_scans() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binaries/lz4.fatbin");
        let scan = scan_file(&file).expect("is a fat binary");
        let package = |name: &str, cuda: Option<&str>| {
            let library = Library { path: name.into(), bytes: 1, recorded: None };
            let cuda = cuda.map(str::to_owned);
            let (name, libraries) = (name.to_owned(), vec![library]);
            Package { normalized: name.clone(), name, libraries, cuda, ..Package::default() }
        };
        let packages =
            vec![package("vllm", None), package("torch", Some("12.8")), package("numpy", None)];
        let scans = packages.iter().map(|one| (one.name.clone().into(), scan.clone())).collect();
        let home = Environment { packages, ..Environment::default() };
        let inventory = Inventory { environments: vec![home], ..Inventory::default() };
        let mut survey = EnvironmentScan { inventory, scans, ..EnvironmentScan::default() };
        survey.keep(|package| package.normalized == "vllm");
        let home = &survey.inventory.environments[0];
        let left: Vec<_> = home.packages.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((left, home.cuda_runtime()), (vec!["vllm", "torch"], Some((12, 8))));
        assert_eq!(
            survey.scans.keys().collect::<Vec<_>>(),
            [Path::new("torch"), Path::new("vllm")]
        );
        assert_eq!(survey.device_code(&home.packages[0]).count(), 1);
    }

    #[test]
    fn what_is_left_follows_the_pace_so_far() {
        let half = ScanProgress { bytes: 50, bytes_total: 100, ..ScanProgress::default() };
        assert_eq!(half.left_after(Duration::from_secs(4)), Some(Duration::from_secs(4)));
        assert_eq!(
            ScanProgress { bytes: 0, ..half.clone() }.left_after(Duration::from_secs(4)),
            None
        );
        let nothing = ScanProgress::default();
        assert_eq!(nothing.left_after(Duration::from_secs(4)), Some(Duration::ZERO));
    }
}
