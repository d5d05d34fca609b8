//! Where chosen variants are kept: a JSON file of its own, replaced whole or not at all.

use std::io;
use std::path::Path;

use super::state_file;
use crate::worker::tuning::TuningCache;

/// What was chosen; nothing where there is no file. An error names the file.
pub fn read(path: &Path) -> Result<TuningCache, String> {
    state_file::read(path, TuningCache::parse)
}

/// Puts a new file in place of the old one.
pub fn write(path: &Path, cache: &TuningCache) -> io::Result<()> {
    state_file::write(path, cache)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::tuning::Situation;

    #[test]
    fn what_cannot_be_read_is_named_and_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("warpscope/tuned.json");
        let mut cache = read(&path).expect("no file is no fault");
        let situation = Situation { uuid: "GPU-1".to_owned(), ..Situation::default() };
        cache.keep(&situation, ("Toy", 1), &[]).expect("is kept");
        write(&path, &cache).expect("writes");
        assert_eq!(read(&path), Ok(cache));
        for damage in [&b"{\"schema\":1,\"entries\":[{\"situ"[..], b"\xff\xfe", &[b' '; 17 << 20]] {
            std::fs::write(&path, damage).expect("writes");
            let error = read(&path).expect_err("damaged");
            assert!(error.contains("tuned.json: "), "{error}");
            assert_eq!(std::fs::read(&path).expect("is there"), damage);
        }
        std::fs::remove_file(&path).expect("is there");
        std::fs::create_dir(&path).expect("a folder in its place");
        assert!(read(&path).is_err_and(|error| error.contains("tuned.json: ")));
    }
}
