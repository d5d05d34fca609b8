//! Any bytes: no panic, bounded memory, bounded time.

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 8] = [
    "host.so",
    "static.a",
    "wheel.whl",
    "plain.fatbin",
    "concat.fatbin",
    "cuda13-sm_90a.cubin",
    "compute_90.ptx",
    "lto.fatbin",
];

/// Changes here and there; sometimes the file is cut.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24);
    let numbers =
        prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(EXTREMES)), 0..4);
    (prop::sample::select(&NAMES[..]), edits, numbers, any::<prop::sample::Index>(), any::<bool>())
        .prop_map(|(name, edits, numbers, end, cut)| {
            let mut bytes = fixture(name);
            for (at, value) in edits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            for (at, value) in numbers {
                let at = at.index(bytes.len() - 8) & !3;
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            bytes
        })
}

const EXTREMES: &[u64] =
    &[0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, u64::MAX, u64::MAX - 7, 1 << 63, 0x0010_0001_BA55_ED50];

const MAGICS: &[&[u8]] = &[
    b"\x7fELF\x02\x01\x01",
    b"MZ",
    b"\x50\xed\x55\xba\x01\0\x10\0",
    b"!<arch>\n",
    b"PK\x03\x04",
    b".version 8.8\n",
];

/// Whatever is in the bytes, what comes out is small and its numbers fit the bytes.
fn check(bytes: &[u8]) {
    let Some(scan) = scan_bytes(bytes) else { return };
    for one in std::iter::once(&scan).chain(&scan.members) {
        assert!(one.warnings.len() <= 18);
        for (shape, count) in [&one.executable, &one.relocatable, &one.data].into_iter().flatten() {
            assert!(*count > 0 && shape.0.len() <= 256);
        }
        let summary = one.summary();
        let images: u64 = [&summary.cubin, &summary.ptx, &summary.data]
            .iter()
            .flat_map(|c| c.values())
            .map(|n| u64::from(*n))
            .sum();
        assert!(images <= one.bytes / 16, "{images} images in {} bytes", one.bytes);
    }
    let json = serde_json::to_string(&scan).unwrap();
    assert_eq!(serde_json::from_str::<Scan>(&json).unwrap(), scan);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_files_are_survived(bytes in mutated()) {
        check(&bytes);
    }

    #[test]
    fn any_bytes_behind_any_magic_are_survived(
        magic in prop::sample::select(MAGICS),
        rest in prop::collection::vec(any::<u8>(), 0..2048),
    ) {
        check(&[magic, rest.as_slice()].concat());
    }

    #[test]
    fn deflated_noise_is_survived(noise in prop::collection::vec(any::<u8>(), 0..512), len in any::<u64>(), at in any::<u64>()) {
        let packed = noise.as_slice();
        let mut into = [0; 64];
        let _ = Inflated::new(&packed, len).read_at(at % (1 << 20), &mut into);
    }
}

#[test]
fn every_cut_of_a_library_is_survived() {
    let bytes = fixture("host.so");
    for length in (0..bytes.len()).step_by(7) {
        check(&bytes[..length]);
    }
}

/// An entry of 64 bytes whose last two fields are the header of another container, which reaches to the end: at every entry a new chain begins,
/// and each of them breaks off at the very last. Judging every chain to its end would take hours.
#[test]
fn chains_within_chains_do_not_take_for_ever() {
    let count = 1 << 15;
    let mut bytes = vec![0; 64];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    for index in 0..count {
        let mut entry = [0_u8; 64];
        entry[0] = 2;
        entry[2..4].copy_from_slice(&[1, 1]);
        entry[4] = 64;
        entry[28] = 75;
        entry[48..56].copy_from_slice(&0x0010_0001_BA55_ED50_u64.to_le_bytes());
        entry[56..64].copy_from_slice(&((count - 1 - index) as u64 * 64 + 8).to_le_bytes());
        bytes.extend(entry);
    }
    bytes.extend([0; 64]);
    let scan = scan_bytes(&bytes).unwrap();
    assert!(!scan.has_device_code());
    assert!(
        scan.warnings.iter().any(|warning| warning.contains("near-containers")),
        "{:?}",
        scan.warnings
    );
}

/// Every name is the whole table of names, four megabytes without a zero: reading them all would take an hour.
#[test]
fn sections_that_share_one_long_name_do_not_take_for_ever() {
    let (count, names) = (1_usize << 17, 4_usize << 20);
    let table = 64 + count * 64;
    let mut bytes = vec![b'x'; table + names];
    bytes[..table].fill(0);
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    bytes[0x28] = 64;
    // More sections than fit the field are counted in the first one's header.
    bytes[0x3A..0x40].copy_from_slice(&[64, 0, 0, 0, 1, 0]);
    bytes[96..104].copy_from_slice(&(count as u64).to_le_bytes());
    (1..count).for_each(|index| bytes[64 + index * 64 + 4] = 1);
    bytes[128 + 24..128 + 32].copy_from_slice(&(table as u64).to_le_bytes());
    bytes[128 + 32..128 + 40].copy_from_slice(&(names as u64).to_le_bytes());
    let scan = scan_bytes(&bytes).unwrap();
    assert!(scan.warnings.is_empty() && !scan.has_device_code(), "{:?}", scan.warnings);
}

/// The table of long names of an archive, sixteen megabytes without an end, and members that are all called by it.
#[test]
fn members_that_share_one_long_name_do_not_take_for_ever() {
    let member = |name: &str, size: usize| format!("{name:<48}{size:<10}`\n").into_bytes();
    let names = 16 << 20;
    let mut bytes = [b"!<arch>\n".to_vec(), member("//", names), vec![b'x'; names]].concat();
    bytes.extend(member("/0", 0).repeat(20_000));
    let cubin = fixture("cuda13-sm_75.cubin");
    bytes.extend([member("/0", cubin.len()), cubin].concat());
    let scan = scan_bytes(&bytes).unwrap();
    assert_eq!((text(&scan.summary().cubin).as_str(), scan.warnings.len()), ("sm_75:1", 0));
}

/// Entries of another size than the format's would be read in full, up to eight gigabytes of them.
#[test]
fn sections_of_another_size_are_refused() {
    let mut bytes = fixture("host.so");
    bytes[0x3A..0x3C].copy_from_slice(&[128, 0]);
    let scan = scan_bytes(&bytes).unwrap();
    assert!(scan.warnings[0].contains("malformed section table"), "{:?}", scan.warnings);
}

#[test]
fn members_that_share_their_bytes_are_refused() {
    let mut bytes = fixture("wheel.whl");
    let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The packed size of the first member: more than the whole archive.
    bytes[directory + 20..directory + 24].copy_from_slice(&0x7FFF_FFFF_u32.to_le_bytes());
    let scan = scan_bytes(&bytes).unwrap();
    assert!(scan.warnings[0].contains("overlap"), "{:?}", scan.warnings);
}
