//! Where this machine's noise is kept: a JSON file of its own, replaced whole or not at all.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::jsonl;
use crate::bench::noise::Noise;

/// Largest file that is read.
const MAX_FILE: u64 = 16 << 20;

/// What was measured; nothing where there is no file. An error names the file.
pub fn read(path: &Path) -> Result<Noise, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let file = match std::fs::File::open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Noise::default());
        }
        other => other.map_err(|error| failed(error.to_string()))?,
    };
    let mut text = String::new();
    let read = file.take(MAX_FILE).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    Noise::parse(&text).map_err(failed)
}

/// Puts a new file in place of the old one.
pub fn write(path: &Path, noise: &Noise) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let bytes = jsonl::pretty(noise)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(&bytes)?;
        file.sync_all()
    });
    let done = written.and_then(|()| std::fs::rename(&new, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::noise::Floor;
    use crate::bench::points::Key;

    #[test]
    fn what_is_kept_is_found_again_and_no_other_file_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("warpscope/noise.json");
        assert_eq!(read(&path).expect("no file is no fault"), Noise::default());
        let mut noise = Noise::default();
        let key = Key { name: "a".into(), device: Some("cpu".into()), ..Key::default() };
        noise.set(&key, Floor { share: 0.02, blocks: 9, at_ms: 1 });
        for _ in 0..2 {
            write(&path, &noise).expect("writes");
            assert_eq!(read(&path).expect("reads"), noise);
            assert_eq!(
                std::fs::read_dir(path.parent().expect("a folder")).expect("lists").count(),
                1
            );
        }
        std::fs::write(&path, "garbage").expect("writes");
        assert!(read(&path).is_err_and(|error| error.contains("noise.json")));
    }
}
