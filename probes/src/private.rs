//! Files and folders for their user alone, whatever the umask says.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Mode of files that are made.
pub const MODE: u32 = 0o600;

/// Makes a folder, and those above it that are missing.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Puts a file in the place of another, with its folder where that is missing. Readers find the old content or the new one, whole.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, File::sync_data)
}

/// The same without waiting for the disk, for what can be found out again.
pub fn cache(path: &Path, content: &[u8]) -> io::Result<()> {
    put(path, content, |_| Ok(()))
}

fn put(path: &Path, content: &[u8], finish: fn(&File) -> io::Result<()>) -> io::Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder(parent)?;
    }
    let write = |draft: &Path| {
        // Created anew, so that no link that lies there is followed.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(draft)?;
        file.write_all(content)?;
        finish(&file)
    };
    let draft = draft(path);
    let done = write(&draft).and_then(|()| fs::rename(&draft, path));
    if done.as_ref().is_err_and(|error| error.kind() != ErrorKind::AlreadyExists) {
        let _ = fs::remove_file(&draft);
    }
    done
}

/// A name beside a file that this process uses once.
pub fn draft(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}-{count}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_no_link_is_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, other) = (dir.path().join("state/a.json"), dir.path().join("other"));
        fs::write(&other, "precious").expect("writes");
        for content in ["one", "two"] {
            replace(&path, content.as_bytes()).expect("writes");
            assert_eq!(fs::read_to_string(&path).expect("is there"), content);
        }
        fs::remove_file(&path).expect("is there");
        symlink(&other, &path).expect("links");
        replace(&path, b"three").expect("writes");
        assert_eq!(fs::read_to_string(&other).expect("is there"), "precious");
        assert_eq!(fs::read_dir(dir.path().join("state")).expect("lists").count(), 1);
        let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("has one"))), (0o600, 0o700));
    }

    #[test]
    fn a_failure_leaves_nothing_behind() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("a/full")).expect("a folder in its place");
        replace(&dir.path().join("a"), b"x").expect_err("cannot be replaced");
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 1);
    }
}
