//! Inputs to start from: files of this repository, and those under `fuzz/seeds/NAME`, where inputs that once failed stay as well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::targets::Target;

/// Longest seed. A longer one is cut, a text at the end of a line: the first lines of a recording show all its fields.
const LONGEST: usize = 16 << 10;

/// The root of this repository.
pub(crate) fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The seeds of a target in the order of their names.
pub(crate) fn of(target: &Target) -> Vec<Vec<u8>> {
    let root = repository();
    let named = target.seeds.iter().map(|seed| root.join(seed));
    let mut files: Vec<PathBuf> = named.flat_map(|path| files(&path)).collect();
    files.extend(self::files(&root.join("fuzz/seeds").join(target.name)));
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).map(cut).collect()
}

/// The path itself, or the files of the folder.
fn files(path: &Path) -> Vec<PathBuf> {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => vec![path.to_owned()],
    }
}

fn cut(mut seed: Vec<u8>) -> Vec<u8> {
    if seed.len() > LONGEST {
        let line = seed[..LONGEST].iter().rposition(|byte| *byte == b'\n');
        let is_text = std::str::from_utf8(&seed).is_ok();
        seed.truncate(line.filter(|_| is_text).map_or(LONGEST, |line| line + 1));
    }
    seed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::TARGETS;

    #[test]
    fn every_target_has_seeds_and_every_named_seed_is_there() {
        for target in TARGETS {
            assert!(!of(target).is_empty(), "{} has no seeds", target.name);
            let missing: Vec<_> =
                target.seeds.iter().filter(|seed| !repository().join(seed).exists()).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", target.name);
        }
    }

    #[test]
    fn every_folder_of_seeds_belongs_to_a_target_and_all_are_small() {
        let folder = repository().join("fuzz/seeds");
        let mut bytes = 0;
        for entry in fs::read_dir(folder).expect("is committed").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let known = TARGETS.iter().any(|target| target.name == name);
            assert!(known || name == "make.py", "no target is called {name}");
            let sizes = files(&entry.path()).into_iter().filter_map(|file| fs::metadata(file).ok());
            bytes += sizes.map(|file| file.len()).sum::<u64>();
        }
        assert!(bytes <= 200_000, "{bytes} bytes of seeds");
    }
}
