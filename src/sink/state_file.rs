//! Small files in which the program remembers something about the machine: read with care, replaced whole or not at all.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde::Serialize;

use super::jsonl;

/// Largest file that is read.
const MAX_FILE: u64 = 16 << 20;

/// What a file says; the default where there is none. An error names the file.
pub(super) fn read<T: Default>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    // A pipe would keep us waiting.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed("it is no file".to_owned()));
    }
    let file = match std::fs::File::open(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(T::default());
        }
        other => other.map_err(|error| failed(error.to_string()))?,
    };
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    let length = read.map_err(|error| failed(error.to_string()))?;
    if length as u64 > MAX_FILE {
        return Err(failed(format!("larger than {MAX_FILE} bytes")));
    }
    parse(&text).map_err(failed)
}

/// Puts a new file in place of the old one, for its owner only.
pub(super) fn write<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let bytes = jsonl::pretty(value)?;
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
