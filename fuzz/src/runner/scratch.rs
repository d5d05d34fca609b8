//! Files for readers that want a path: in memory where the system has a place for that, apart for each thread.

use std::env::temp_dir;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        // What is left over here is in the way of nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static ROOT: Root = Root::new();
}

impl Root {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = place().join(format!("{}{number}", prefix(process::id())));
        fs::create_dir_all(&path).expect("there is a place for temporary files");
        Self(path)
    }
}

fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { temp_dir() }
}

fn prefix(process: u32) -> String {
    format!("warpscope-fuzz-{process}-")
}

/// A folder of this name with what was put there before.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = ROOT.with(|root| root.0.join(name));
    fs::create_dir_all(&path).expect("the scratch folder takes folders");
    path
}

/// An empty folder of this name.
pub(crate) fn fresh_folder(name: &str) -> PathBuf {
    let path = folder(name);
    fs::remove_dir_all(&path).expect("it is ours");
    folder(name)
}

/// A file of this name with these contents.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = ROOT.with(|root| root.0.join(name));
    fs::write(&path, bytes).expect("the scratch folder takes files");
    path
}

/// Removes what a process that died has left.
pub fn remove_of(process: u32) {
    let Ok(entries) = fs::read_dir(place()) else { return };
    let prefix = prefix(process);
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
