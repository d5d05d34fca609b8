//! Inputs that failed, made small and written down.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::attempt::{Failure, attempt};
use crate::seeds;
use crate::targets::Target;

/// How long an input is made smaller.
const MINIMISING: Duration = Duration::from_secs(3);
/// Longest input that is printed.
const LONGEST_SHOWN: usize = 1000;

/// Failures of one target, one input for each cause.
pub(super) struct Findings {
    folder: PathBuf,
    causes: HashSet<String>,
    pub(super) files: Vec<PathBuf>,
}

impl Findings {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), causes: HashSet::new(), files: Vec::new() }
    }

    pub(super) fn take(&mut self, target: &Target, bytes: &[u8], failure: &Failure) {
        if !self.causes.insert(failure.cause.clone()) {
            return;
        }
        let small = minimised(target, bytes.to_vec(), &failure.cause);
        let file = save(&self.folder, target.name, &small);
        eprintln!("{}: {}\n  input: {}", target.name, failure.message, file.display());
        // A log outlives the machine it was written on.
        if small.len() <= LONGEST_SHOWN {
            eprintln!("  its bytes: {}", small.escape_ascii());
        }
        self.files.push(file);
    }
}

/// Where findings go when nothing else is said.
pub fn folder() -> PathBuf {
    seeds::repository().join("target/fuzz")
}

/// Writes an input down under the name of its target and of what is in it.
pub fn save(folder: &Path, target: &str, bytes: &[u8]) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let path = folder.join(format!("{target}-{:016x}", hasher.finish()));
    if let Err(error) = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes)) {
        eprintln!("{}: {error}", path.display());
    }
    path
}

/// What is left when every block is taken away without which the input still fails for the same cause.
fn minimised(target: &Target, mut bytes: Vec<u8>, cause: &str) -> Vec<u8> {
    let start = Instant::now();
    let mut size = bytes.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < bytes.len() && start.elapsed() < MINIMISING {
            let mut fewer = bytes.clone();
            fewer.drain(at..(at + size).min(bytes.len()));
            let same = attempt(target, &fewer).failure.is_some_and(|one| one.cause == cause);
            if same { bytes = fewer } else { at += size }
        }
        size /= 2;
    }
    bytes
}
