//! Scans of earlier runs, so that looking again costs nothing.
//!
//! One small file per scanned file, found by device and inode, believed only if size and times of modification and of change are still the
//! same: a tool can set the former, as `touch -r` and `rsync` do. A file in
//! the user's cache can be lost, cut or old at any time: whatever does not read as it should is scanned afresh. One big index was rejected:
//! two programs writing it would lose each other's entries.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::file::{ScanError, scan_file};
use super::scan::Scan;
use crate::bounded::{self, Accept};
use crate::private;

/// Version of the entries; a scanner that finds more than the one before counts it up.
const FORMAT: u32 = 5;

/// Bytes kept in all; the oldest entries go first. A scan takes about one kilobyte.
const MOST_BYTES: u64 = 32 << 20;

/// Largest entry kept.
const LARGEST_ENTRY: u64 = 4 << 20;

/// A file changed this lately could change again without its time of modification telling.
const SETTLED: Duration = Duration::from_secs(2);

/// Which file it was, and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    device: u64,
    inode: u64,
    bytes: u64,
    /// When its contents were modified: seconds and nanoseconds.
    modified: (i64, i64),
    /// When contents or inode were changed, which nobody can set.
    changed: (i64, i64),
}

impl From<&Metadata> for Key {
    fn from(data: &Metadata) -> Self {
        Self {
            device: data.dev(),
            inode: data.ino(),
            bytes: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Entry {
    format: u32,
    key: Key,
    scan: Scan,
}

/// A folder of earlier scans.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    written: AtomicU64,
}

impl Cache {
    /// In this folder, which need not be there yet. What is too much in it is removed.
    pub fn open(folder: PathBuf) -> Self {
        let cache = Self { folder, written: AtomicU64::new(0) };
        cache.prune(MOST_BYTES);
        cache
    }

    /// Where the user's caches are: `$XDG_CACHE_HOME/warpscope/inspect`, or under `~/.cache`.
    pub fn folder_of_user() -> Option<PathBuf> {
        folder(std::env::var_os("XDG_CACHE_HOME").as_deref(), std::env::var_os("HOME").as_deref())
    }

    /// What a file holds: as it was found before if it has not changed since, and remembered for the next time otherwise.
    pub fn scan(&self, path: &Path) -> Result<Scan, ScanError> {
        let Ok(data) = fs::metadata(path) else { return scan_file(path) };
        let key = Key::from(&data);
        if let Some(scan) = self.get(key) {
            return Ok(scan.renamed(path));
        }
        let scan = scan_file(path)?;
        let same = fs::metadata(path).is_ok_and(|now| Key::from(&now) == key);
        if same && settled(&data) && is_clean(&scan) {
            // Without a cache everything works as well, only slower.
            let _ = self.put(Entry { format: FORMAT, key, scan: scan.clone() });
        }
        Ok(scan)
    }

    fn entry_path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{:x}-{:x}.json", key.device, key.inode))
    }

    fn get(&self, key: Key) -> Option<Scan> {
        let bytes = bounded::read(&self.entry_path(key), Accept::Files, LARGEST_ENTRY).ok()?;
        let entry: Entry = serde_json::from_slice(&bytes).ok()?;
        (entry.format == FORMAT && entry.key == key).then_some(entry.scan)
    }

    fn put(&self, entry: Entry) -> io::Result<()> {
        let bytes = serde_json::to_vec(&entry)?;
        let length = bytes.len() as u64;
        if length > LARGEST_ENTRY {
            return Ok(());
        }
        let order = self.written.fetch_add(length, Ordering::Relaxed);
        let done = private::cache(&self.entry_path(entry.key), &bytes);
        if order / (MOST_BYTES / 4) != (order + length) / (MOST_BYTES / 4) {
            self.prune(MOST_BYTES);
        }
        done
    }

    /// Removes the oldest entries until the rest is below the limit, with some room.
    fn prune(&self, limit: u64) {
        let Ok(list) = fs::read_dir(&self.folder) else { return };
        let known = list.flatten().filter_map(|file| {
            let data = file.metadata().ok().filter(Metadata::is_file)?;
            Some((data.modified().ok()?, data.len(), file.path()))
        });
        let mut files: Vec<_> = known.collect();
        let mut total: u64 = files.iter().map(|(_, length, _)| length).sum();
        if total <= limit {
            return;
        }
        files.sort();
        for (_, length, path) in files {
            if total <= limit / 2 {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

fn folder(cache: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    // The XDG specification has relative paths ignored.
    let set = |value: Option<&OsStr>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = set(cache).or_else(|| set(home).map(|home| home.join(".cache")))?;
    Some(base.join("warpscope").join("inspect"))
}

fn settled(data: &Metadata) -> bool {
    let age = |time| SystemTime::now().duration_since(time).ok();
    data.modified().ok().and_then(age).is_some_and(|age| age > SETTLED)
}

/// What could not be read this time may be read the next.
fn is_clean(scan: &Scan) -> bool {
    scan.warnings.is_empty() && scan.members.iter().all(is_clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AGO: Duration = Duration::from_secs(1_000_000);

    struct Place {
        folder: tempfile::TempDir,
        file: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("lib.fatbin");
            let place = Self { folder, file };
            place.write("lz4.fatbin", LONG_AGO);
            place
        }

        fn write(&self, fixture: &str, age: Duration) {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binaries").join(fixture);
            fs::write(&self.file, fs::read(from).unwrap()).unwrap();
            fs::File::options()
                .append(true)
                .open(&self.file)
                .unwrap()
                .set_modified(SystemTime::now() - age)
                .unwrap();
        }

        fn cache(&self) -> Cache {
            Cache::open(self.folder.path().join("a/b"))
        }

        fn entry(&self) -> PathBuf {
            self.cache().entry_path(Key::from(&fs::metadata(&self.file).unwrap()))
        }
    }

    fn sm_120(scan: &Scan) -> bool {
        scan.summary().cubin.contains_key(&"sm_120".parse().unwrap())
    }

    #[test]
    fn the_second_time_nothing_is_read() {
        let place = Place::new();
        let first = place.cache().scan(&place.file).unwrap();
        // An entry that was tampered with shows that the answer comes from it.
        let entry = place.entry();
        let text = fs::read_to_string(&entry).unwrap();
        fs::write(&entry, text.replace("sm_75", "sm_120")).unwrap();
        assert!(!sm_120(&first) && sm_120(&place.cache().scan(&place.file).unwrap()));
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let place = Place::new();
        assert!(!sm_120(&place.cache().scan(&place.file).unwrap()));
        place.write("zstd.fatbin", LONG_AGO / 2);
        assert!(sm_120(&place.cache().scan(&place.file).unwrap()));
        assert!(sm_120(&place.cache().scan(&place.file).unwrap()));
    }

    /// `rsync -t` and `touch -r` set the time of modification.
    #[test]
    fn a_file_of_the_same_size_and_time_is_read_again_if_it_was_changed() {
        let place = Place::new();
        let time = fs::metadata(&place.file).unwrap().modified().unwrap();
        assert!(!sm_120(&place.cache().scan(&place.file).unwrap()));
        let mut bytes = fs::read(&place.file).unwrap();
        let number = bytes.iter().position(|byte| *byte == 75).unwrap();
        bytes[number] = 120;
        fs::write(&place.file, bytes).unwrap();
        fs::File::options().append(true).open(&place.file).unwrap().set_modified(time).unwrap();
        assert!(sm_120(&place.cache().scan(&place.file).unwrap()));
    }

    #[test]
    fn what_changed_this_moment_is_not_remembered() {
        let place = Place::new();
        place.write("lz4.fatbin", Duration::ZERO);
        place.cache().scan(&place.file).unwrap();
        assert!(!place.entry().exists());
    }

    #[test]
    fn an_entry_that_is_broken_or_of_another_version_is_passed_over() {
        let place = Place::new();
        let fresh = place.cache().scan(&place.file).unwrap();
        let entry = place.entry();
        let good = fs::read_to_string(&entry).unwrap();
        for bad in [
            "",
            "{",
            "[]",
            &good[..good.len() / 2],
            &good.replace(&format!("\"format\":{FORMAT}"), "\"format\":1"),
            &good.replace("\"inode\":", "\"inode\":1"),
        ] {
            assert_ne!(bad, good);
            fs::write(&entry, bad).unwrap();
            assert_eq!(place.cache().scan(&place.file).unwrap(), fresh, "{bad}");
            assert_eq!(fs::read_to_string(&entry).unwrap(), good);
        }
    }

    #[test]
    fn another_path_to_the_same_file_names_the_other_path() {
        let place = Place::new();
        place.write("wheel.whl", LONG_AGO);
        place.cache().scan(&place.file).unwrap();
        let link = place.folder.path().join("other.whl");
        fs::hard_link(&place.file, &link).unwrap();
        let scan = place.cache().scan(&link).unwrap();
        assert_eq!(scan, scan_file(&link).unwrap());
    }

    #[test]
    fn too_much_is_removed_from_the_oldest_on() {
        let place = Place::new();
        let cache = place.cache();
        fs::create_dir_all(&cache.folder).unwrap();
        for (name, age) in [("old", 3), ("older", 4), ("new", 1)] {
            let file = fs::File::create(cache.folder.join(name)).unwrap();
            file.set_len(400).unwrap();
            file.set_modified(SystemTime::now() - LONG_AGO * age).unwrap();
        }
        cache.prune(1200);
        assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 3);
        cache.prune(1000);
        let left: Vec<_> =
            fs::read_dir(&cache.folder).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, ["new"]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_costs_nothing_but_time() {
        let place = Place::new();
        let cache = Cache::open(place.file.join("below a file"));
        assert_eq!(cache.scan(&place.file).unwrap(), scan_file(&place.file).unwrap());
    }

    #[test]
    fn the_folder_follows_the_xdg_specification() {
        let path = |cache: Option<&str>, home: Option<&str>| {
            folder(cache.map(OsStr::new), home.map(OsStr::new))
        };
        assert_eq!(path(Some("/c"), Some("/h")), Some("/c/warpscope/inspect".into()));
        for unset in [None, Some(""), Some("relative")] {
            assert_eq!(path(unset, Some("/h")), Some("/h/.cache/warpscope/inspect".into()));
        }
        assert_eq!(path(None, None), None);
    }
}
