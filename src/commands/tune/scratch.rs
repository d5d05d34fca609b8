//! A folder for builds and outputs, removed with its owner.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that goes when its owner does.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder for this user only.
    pub(crate) fn new() -> io::Result<Self> {
        let base = std::env::temp_dir();
        for attempt in 0_u32..1000 {
            let path = base.join(format!("warpscope-tune-{}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| Self(path)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is left to do about a folder that cannot be removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
