//! Which files a spec speaks of, and whether they changed.
//!
//! Asked every 300 ms by time and size, and only then by content: inotify loses the file of an editor that writes a new one and renames it, and is
//! deaf on network drives.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use warpscope_probes::bounded;

use crate::io::sink::history::Fnv;
use crate::text::fits;

/// Time between two looks.
pub(crate) const LOOK: Duration = Duration::from_millis(300);
/// Most files that are watched.
const MOST_FILES: usize = 10_000;
/// Folders below one another that `**` goes into.
const DEEPEST: usize = 16;
/// Most of a file that goes into the hash.
const MAX_FILE: u64 = 64 << 20;

/// Files, each with when it was written and how long it is.
pub(crate) type Seen = BTreeMap<PathBuf, Option<(SystemTime, u64)>>;

/// The files that patterns name; `Err` names a plain name that is no file.
pub(crate) fn files(folder: &Path, patterns: &[String]) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for pattern in patterns {
        let before = found.len();
        let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        let start = if pattern.starts_with('/') { Path::new("/") } else { folder };
        walk(start, &parts, 0, &mut found);
        if found.len() == before {
            return Err(format!("source {pattern:?}: no such file in {}", folder.display()));
        }
        if found.len() > MOST_FILES {
            return Err(format!("source {pattern:?}: more than {MOST_FILES} files"));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn walk(folder: &Path, parts: &[&str], depth: usize, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else { return };
    if found.len() > MOST_FILES || depth > DEEPEST {
        return;
    }
    let mut enter = |path: PathBuf, rest: &[&str]| {
        if !rest.is_empty() {
            walk(&path, rest, depth + 1, found);
        } else if path.is_file() {
            found.push(path);
        }
    };
    if !part.contains(['*', '?']) {
        return enter(folder.join(part), rest);
    }
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let deep = *part == "**";
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A link to a folder above would be walked for ever.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if name.starts_with('.') {
            continue;
        }
        if deep && is_folder {
            enter(entry.path(), parts);
        } else if !deep && fits(part, &name) {
            enter(entry.path(), rest);
        }
    }
    if deep {
        walk(folder, rest, depth + 1, found);
    }
}

/// How files look now; one that is gone has nothing.
pub(crate) fn look(files: &[PathBuf]) -> Seen {
    let about = |path: &PathBuf| {
        let about = std::fs::metadata(path).ok()?;
        Some((about.modified().ok()?, about.len()))
    };
    files.iter().map(|path| (path.clone(), about(path))).collect()
}

/// A hash of each file's content.
pub(crate) fn hashes(files: &[PathBuf]) -> BTreeMap<PathBuf, u64> {
    let hash = |path: &PathBuf| {
        let mut bytes = Vec::new();
        let read = bounded::open(path).and_then(|file| file.take(MAX_FILE).read_to_end(&mut bytes));
        let mut hash = Fnv::default();
        hash.update(&[u8::from(read.is_ok())]);
        hash.update(&bytes);
        hash.value
    };
    files.iter().map(|path| (path.clone(), hash(path))).collect()
}

/// One hash of all of them, by their names from a folder on: where that is, and how it was typed, makes no difference.
fn hash_of(folder: &Path, hashes: &BTreeMap<PathBuf, u64>) -> String {
    let name = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let below = path.strip_prefix(folder).ok();
        below.or(path.file_name().map(Path::new)).unwrap_or(&path).to_owned()
    };
    let mut all: Vec<(PathBuf, u64)> =
        hashes.iter().map(|(path, hash)| (name(path), *hash)).collect();
    all.sort();
    let mut hash = Fnv::default();
    for (name, content) in all {
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update(&[0]);
        hash.update(&content.to_le_bytes());
    }
    format!("{:016x}", hash.value)
}

/// Looks at files now and then.
pub(crate) struct Watch {
    folder: PathBuf,
    files: Vec<PathBuf>,
    seen: Seen,
    hashes: BTreeMap<PathBuf, u64>,
    last: Instant,
    /// Something was written since the hashes were taken, and perhaps still is.
    unsettled: bool,
}

impl Watch {
    pub(crate) fn new(folder: &Path, files: Vec<PathBuf>) -> Self {
        let (seen, hashes) = (look(&files), hashes(&files));
        Self {
            folder: folder.to_owned(),
            files,
            seen,
            hashes,
            last: Instant::now(),
            unsettled: false,
        }
    }

    pub(crate) fn hash(&self) -> String {
        hash_of(&self.folder, &self.hashes)
    }

    /// Names of the files whose content changed, once it stood still for one look; nothing when it is too early for a look. A save in which
    /// nothing changed is none.
    pub(crate) fn changed(&mut self) -> Vec<String> {
        if self.last.elapsed() < LOOK {
            return Vec::new();
        }
        self.last = Instant::now();
        self.compare(look(&self.files))
    }

    fn compare(&mut self, now: Seen) -> Vec<String> {
        if now != self.seen {
            self.seen = now;
            self.unsettled = true;
            return Vec::new();
        }
        if !std::mem::take(&mut self.unsettled) {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.hashes, hashes(&self.files));
        let changed = self.hashes.iter().filter(|(path, hash)| before.get(*path) != Some(hash));
        let name = |(path, _): (&PathBuf, &u64)| {
            path.file_name().unwrap_or_default().to_string_lossy().into_owned()
        };
        changed.map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("makes folders");
            std::fs::write(path, name).expect("writes");
        }
        folder
    }

    #[test]
    fn patterns_name_files_and_stay_where_they_are() {
        let folder = folder(&["a.c", "b.c", "b.h", ".hidden.c", "src/c.c", "src/deep/d.c"]);
        let found = |patterns: &[&str]| -> Result<Vec<String>, String> {
            let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
            let base = folder.path();
            let name =
                |path: PathBuf| path.strip_prefix(base).expect("is below").display().to_string();
            files(base, &patterns).map(|all| all.into_iter().map(name).collect())
        };
        assert_eq!(found(&["*.c", "a.c"]).expect("both"), ["a.c", "b.c"]);
        assert_eq!(found(&["?.h"]).expect("one"), ["b.h"]);
        assert_eq!(found(&["**/*.c"]).expect("all"), ["a.c", "b.c", "src/c.c", "src/deep/d.c"]);
        assert_eq!(found(&["src/*.c"]).expect("one"), ["src/c.c"]);
        assert!(found(&["missing.c"]).expect_err("is not there").contains("missing.c"));
        assert!(found(&["*.rs"]).is_err());
    }

    #[test]
    fn the_hash_is_of_contents_and_names_however_a_path_is_spelt() {
        let folder = folder(&["f.toml", "src/a.c"]);
        let hash = |paths: &[&str]| {
            let paths = paths.iter().map(|path| folder.path().join(path)).collect();
            Watch::new(folder.path(), paths).hash()
        };
        let first = hash(&["src/a.c", "f.toml"]);
        assert_eq!(hash(&["src/a.c", "src/../f.toml"]), first);
        assert_eq!(hash(&["f.toml", "src/a.c"]), first);
        std::fs::write(folder.path().join("src/a.c"), "other").expect("writes");
        assert_ne!(hash(&["src/a.c", "f.toml"]), first);
    }

    #[test]
    fn stars_match_any_letters() {
        for (pattern, name, want) in [
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*.cu", "k.cu.bak", false),
            ("?", "é", true),
            ("**", "x", true),
            ("ab", "abc", false),
        ] {
            assert_eq!(fits(pattern, name), want, "{pattern} {name}");
        }
    }

    #[test]
    fn a_save_counts_once_it_stands_still_and_only_with_other_content() {
        let folder = folder(&["a.c"]);
        let path = folder.path().join("a.c");
        let mut watch = Watch::new(folder.path(), vec![path.clone()]);
        let now = |length| Seen::from([(path.clone(), Some((SystemTime::UNIX_EPOCH, length)))]);
        assert!(watch.compare(now(1)).is_empty(), "just written");
        assert!(watch.compare(now(2)).is_empty(), "still being written");
        assert!(watch.compare(now(2)).is_empty(), "the same as before");
        std::fs::write(&path, "new").expect("writes");
        assert!(watch.compare(now(3)).is_empty());
        assert_eq!(watch.compare(now(3)), ["a.c"]);
        assert!(watch.compare(now(3)).is_empty(), "told once");
    }
}
