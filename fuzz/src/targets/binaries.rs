//! Files with device code. Whatever the bytes, the scanner ends, and what it gives is small and can be written and read back.

use std::path::Path;

use warpscope_probes::inspect::binary::{Inflated, Scan, Source, scan_source};

use crate::Trace;

/// Most warnings of one file.
const MOST_WARNINGS: usize = 18;

pub(super) fn elf(bytes: &[u8], trace: &mut Trace) {
    scan_as(b"\x7fELF\x02\x01", bytes, trace);
}

pub(super) fn pe(bytes: &[u8], trace: &mut Trace) {
    scan_as(b"MZ", bytes, trace);
}

pub(super) fn fatbin(bytes: &[u8], trace: &mut Trace) {
    scan_as(&0xBA55_ED50_u32.to_le_bytes(), bytes, trace);
}

pub(super) fn ar(bytes: &[u8], trace: &mut Trace) {
    scan_as(b"!<arch>\n", bytes, trace);
}

pub(super) fn zip(bytes: &[u8], trace: &mut Trace) {
    scan_as(b"PK\x03\x04", bytes, trace);
}

pub(super) fn ptx(bytes: &[u8], trace: &mut Trace) {
    scan_as(b".version ", bytes, trace);
}

/// A deflated stream, read here and there.
pub(super) fn inflate(bytes: &[u8], trace: &mut Trace) {
    let inflated = Inflated::new(&bytes, 1 << 20);
    let mut block = [0; 512];
    for at in [0, 700, 3, 1 << 16] {
        let result = inflated.read_at(at, &mut block);
        trace.result(&result);
        if let Ok(filled) = result {
            trace.count("filled", filled);
            trace.count("first", block[0].into());
        }
    }
}

/// Scans bytes as the format whose first bytes these are.
fn scan_as(magic: &[u8], bytes: &[u8], trace: &mut Trace) {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().max(magic.len()), 0);
    bytes[..magic.len()].copy_from_slice(magic);
    let result = scan_source(Path::new("bytes"), &bytes.as_slice());
    trace.result(&result);
    let Ok(scan) = result else { return };
    for one in std::iter::once(&scan).chain(&scan.members) {
        check(one, trace);
    }
    let json = serde_json::to_string(&scan).expect("a scan can be written");
    assert_eq!(serde_json::from_str::<Scan>(&json).expect("what was written can be read"), scan);
}

fn check(scan: &Scan, trace: &mut Trace) {
    let all = [&scan.executable, &scan.relocatable, &scan.data].into_iter().flatten();
    let each = |shape: &[(_, u32)]| shape.iter().map(|(_, each)| u64::from(*each)).sum::<u64>();
    let images: u64 = all.map(|(shape, count)| each(&shape.0) * u64::from(*count)).sum();
    // Regions do not overlap and an entry takes 64 bytes; inside a table of concatenated images too.
    assert!(images <= scan.bytes / 64 + 1, "{images} images in {} bytes", scan.bytes);
    assert!(scan.warnings.len() <= MOST_WARNINGS, "{:?}", scan.warnings);
    trace.count("images", images as usize);
}
