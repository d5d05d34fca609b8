//! Where recordings that run are found: a folder of this user alone, in it one of each recording.
//!
//! The folder is the lock: whoever cannot enter it cannot write. A folder that belongs to somebody else, or that others may enter, is refused
//! and not repaired: on a shared machine it may be a trap.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::getuid;

const PREFIX: &str = "record-";

/// `warpscope` in `$XDG_RUNTIME_DIR`, which is given, else a folder in `/tmp`.
pub fn base(runtime: Option<&OsString>) -> PathBuf {
    match runtime.map(PathBuf::from).filter(|path| path.is_absolute()) {
        Some(runtime) => runtime.join("warpscope"),
        None => PathBuf::from(format!("/tmp/warpscope-{}", getuid().as_raw())),
    }
}

/// The folder of this process, made where it is missing.
pub fn own(base: &Path) -> Result<PathBuf, String> {
    make_private(base)?;
    let folder = base.join(format!("{PREFIX}{}", std::process::id()));
    make_private(&folder)?;
    Ok(folder)
}

/// Makes a folder, or makes sure that the one there is this user's alone.
pub fn make_private(path: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let shown = path.display();
            return Err(format!("{shown}: {error}; set XDG_RUNTIME_DIR to a folder of yours"));
        }
        _ => {}
    }
    check_private(path)
}

/// Why a folder is not this user's alone.
pub fn check_private(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let about = std::fs::symlink_metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    let trouble = if !about.is_dir() {
        "is no folder"
    } else if about.uid() != getuid().as_raw() {
        "belongs to another user"
    } else if about.mode() & 0o077 != 0 {
        "can be entered by others"
    } else {
        return Ok(());
    };
    Err(format!("{shown} {trouble}; set XDG_RUNTIME_DIR to a folder of your own, mode 700"))
}

/// Folders of recordings.
pub fn folders(base: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
}
