//! What every target checks: whatever the bytes, the scanner ends, and what it gives is small and can be written and read back.
//!
//! `cargo +nightly fuzz run elf fuzz/corpus/elf probes/tests/binaries`; the fixtures are the seeds.

use std::path::Path;

use warpscope_probes::inspect::binary::{Scan, scan_source};

/// Scans bytes as the format whose first bytes these are.
pub fn scan_as(magic: &[u8], bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(magic.len()), 0);
    bytes[..magic.len()].copy_from_slice(magic);
    let Ok(scan) = scan_source(Path::new("bytes"), &bytes.as_slice()) else { return };
    for one in std::iter::once(&scan).chain(&scan.members) {
        let images: u64 = [&one.executable, &one.relocatable, &one.data]
            .into_iter()
            .flatten()
            .map(|(shape, count)| shape.0.iter().map(|(_, each)| u64::from(*each)).sum::<u64>() * u64::from(*count))
            .sum();
        // Regions do not overlap and an entry takes 64 bytes; inside a table of concatenated images too.
        assert!(images <= one.bytes / 64 + 1, "{images} images in {} bytes", one.bytes);
        assert!(one.warnings.len() <= 18);
    }
    let json = serde_json::to_string(&scan).expect("a scan can be written");
    assert_eq!(serde_json::from_str::<Scan>(&json).expect("what was written can be read"), scan);
}
