//! Fixtures built with NVIDIA's compilers, against what NVIDIA's own tool says of them; hostile bytes of every kind.

mod cases;
mod hostile;
mod rules;
mod truth;

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// The fixtures' folder.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/binaries")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap()
}

fn scan_bytes(bytes: &[u8]) -> Option<Scan> {
    scan_source(Path::new("bytes"), &bytes).ok()
}

fn scanned(name: &str) -> Scan {
    scan_file(&folder().join(name)).unwrap()
}

/// `sm_75:2 compute_90:1`.
fn text(count: &Count) -> String {
    count.iter().map(|(target, n)| format!("{target}:{n}")).collect::<Vec<_>>().join(" ")
}
