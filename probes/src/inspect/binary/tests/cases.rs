//! Files that are not as a compiler leaves them.

use super::*;

/// Puts bytes over others.
fn patched(mut bytes: Vec<u8>, at: usize, new: &[u8]) -> Vec<u8> {
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

fn position(bytes: &[u8], pattern: &[u8]) -> usize {
    bytes.windows(pattern.len()).position(|window| window == pattern).unwrap()
}

#[test]
fn without_the_assemblers_note_an_attribute_tells_the_suffix() {
    let bytes = fixture("cuda13-sm_90a.cubin");
    let at = position(&bytes, b".note.nv.tkinfo");
    let bare = patched(bytes, at, b".gone.nv.tkinfo");
    assert_eq!(text(&scan_bytes(&bare).unwrap().summary().cubin), "sm_90a:1");
    let at = position(&bare, b".nv.compat");
    assert_eq!(
        text(&scan_bytes(&patched(bare, at, b".no.compat")).unwrap().summary().cubin),
        "sm_90:1"
    );
}

#[test]
fn without_a_section_table_containers_are_found_as_data() {
    let bare = patched(fixture("host.so"), 0x28, &[0; 8]);
    let scan = scan_bytes(&bare).unwrap();
    assert!(scan.executable.is_empty() && scan.relocatable.is_empty());
    let whole = scanned("host.so").summary();
    let found: u32 = scan.summary().data.values().sum::<u32>();
    assert_eq!(
        found,
        [whole.cubin, whole.ptx, whole.relocatable, whole.data]
            .iter()
            .flat_map(Count::values)
            .sum::<u32>()
    );
}

#[test]
fn a_section_table_beyond_the_end_is_said_and_the_rest_is_searched() {
    let bytes = fixture("host.so");
    let cut = &bytes[..bytes.len() - 200];
    let scan = scan_bytes(cut).unwrap();
    assert!(scan.warnings[0].contains("ends before"), "{:?}", scan.warnings);
    assert!(scan.has_device_code());
}

#[test]
fn data_that_breaks_off_is_not_believed() {
    let container = fixture("lz4.fatbin");
    for (at, new) in [
        (4, &[2_u8][..]),      // another version
        (8, &[0, 0xFF]),       // another size
        (16, &[7]),            // an unknown kind
        (18, &[2]),            // another version of the entry
        (20, &[0xFF, 0xFF]),   // a header that leads astray
        (16 + 28, &[0, 0, 0]), // no compute capability
    ] {
        let mut bytes = patched(fixture("host.so"), 0x28, &[0; 8]);
        bytes.truncate(256);
        bytes.extend(patched(container.clone(), at, new));
        let scan = scan_bytes(&bytes).unwrap();
        assert!(!scan.has_device_code(), "{at}: {scan:?}");
    }
    let mut bytes = patched(fixture("host.so"), 0x28, &[0; 8]);
    bytes.truncate(256);
    bytes.extend(&container);
    assert_eq!(text(&scan_bytes(&bytes).unwrap().summary().data), "sm_75:1 compute_70:1");
}

#[test]
fn a_broken_container_in_its_section_is_said_and_the_next_is_read() {
    let bytes = fixture("host.so");
    let at = position(&bytes, &fixture("zstd.fatbin")[..64]);
    let scan = scan_bytes(&patched(bytes.clone(), at + 18, &[9])).unwrap();
    assert!(scan.warnings[0].contains("unknown version"), "{:?}", scan.warnings);
    assert_eq!(scan.summary().containers, 2);
    let scan = scan_bytes(&patched(bytes, at, &[1])).unwrap();
    assert!(scan.warnings[0].contains("no fat binary where one should be"), "{:?}", scan.warnings);
    assert_eq!(scan.summary().containers, 1);
}

/// A Windows library with one section per given name and content.
fn pe(sections: &[(&[u8; 8], &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 1024];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3C] = 0x80;
    bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
    bytes[0x86] = sections.len() as u8;
    for (index, (name, content)) in sections.iter().enumerate() {
        let (at, start) = (0x98 + index * 40, bytes.len().next_multiple_of(512));
        bytes[at..at + 8].copy_from_slice(*name);
        bytes[at + 16..at + 20].copy_from_slice(&(content.len() as u32).to_le_bytes());
        bytes[at + 20..at + 24].copy_from_slice(&(start as u32).to_le_bytes());
        bytes.resize(start, 0);
        bytes.extend_from_slice(content);
    }
    bytes
}

#[test]
fn windows_libraries_cut_the_names_of_sections() {
    let (found, left, kept) =
        (fixture("zstd.fatbin"), fixture("lto.fatbin"), fixture("lz4.fatbin"));
    let bytes = pe(&[(b".nv_fatb", &found), (b"__nv_rel", &left), (b".rdata\0\0", &kept)]);
    let scan = scan_bytes(&bytes).unwrap();
    let summary = scan.summary();
    assert_eq!((scan.format, scan.warnings.len()), (Format::Pe, 0));
    assert_eq!(text(&summary.cubin), "sm_75:1 sm_90a:1 sm_120:1");
    assert_eq!(text(&summary.relocatable), "sm_90a:1 lto_90:1");
    assert_eq!(text(&summary.data), "sm_75:1 compute_70:1");
}

#[test]
fn what_is_no_binary_is_refused_with_the_way_out() {
    let file = folder().join("make.sh");
    let said = scan_file(&file).unwrap_err().to_string();
    assert!(said.contains("make.sh") && said.contains(".fatbin"), "{said}");
    assert!(scan_file(&folder()).unwrap_err().to_string().contains("is a folder"));
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(scan_file(&pipe).unwrap_err().to_string().contains("is a pipe"));
    assert!(scan_file(&folder().join("absent")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn a_sparse_file_beyond_four_gigabytes_is_read_by_position() {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let far = 5_u64 << 30;
    // An ELF header whose section table lies beyond 4 GiB, with one section there.
    let mut head = fixture("host.so")[..64].to_vec();
    head[0x28..0x30].copy_from_slice(&far.to_le_bytes());
    head[0x3A..0x40].copy_from_slice(&[64, 0, 3, 0, 2, 0]);
    file.write_all(&head).unwrap();
    let content = fixture("lz4.fatbin");
    let section = |name: u32, at: u64, size: u64| {
        let mut bytes = [0; 64];
        bytes[..4].copy_from_slice(&name.to_le_bytes());
        bytes[4] = 1;
        bytes[24..32].copy_from_slice(&at.to_le_bytes());
        bytes[32..40].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    file.seek(SeekFrom::Start(far)).unwrap();
    file.write_all(&[0; 64]).unwrap();
    file.write_all(&section(1, far + 4096, content.len() as u64)).unwrap();
    file.write_all(&section(0, far + 256, 16)).unwrap();
    file.seek(SeekFrom::Start(far + 256)).unwrap();
    file.write_all(b"\0.nv_fatbin\0\0\0\0\0").unwrap();
    file.seek(SeekFrom::Start(far + 4096)).unwrap();
    file.write_all(&content).unwrap();
    let scan = scan_file(file.path()).unwrap();
    assert_eq!(scan.warnings, Vec::<String>::new());
    assert_eq!(text(&scan.summary().cubin), "sm_75:1");
    assert!(scan.bytes > far);
}

#[test]
fn a_deflated_stream_reads_like_the_bytes_it_was_made_from() {
    // Half noise, half zeros, so that it is neither stored nor tiny.
    let mut state = 1_u32;
    let bytes: Vec<u8> = (0..3_000_000)
        .map(|index| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if index % 200 < 100 { (state >> 24) as u8 } else { 0 }
        })
        .collect();
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &bytes).expect("memory takes it");
    let packed = encoder.finish().expect("memory takes it");
    let packed = packed.as_slice();
    let inflated = Inflated::new(&packed, bytes.len() as u64);
    for (at, count) in [
        (0, 100),
        (2_900_000, 100_000),
        (2_999_990, 100),
        (2_800_000, 10),
        (5, 200_000),
        (1_000_000, 1),
    ] {
        let mut into = vec![0; count];
        let filled = inflated.read_at(at as u64, &mut into).unwrap();
        assert_eq!(into[..filled], bytes[at..(at + count).min(bytes.len())], "{at}");
    }
    let again = (0..20).map(|_| {
        let mut into = [0; 8];
        inflated.read_at(2_999_000, &mut into).and_then(|_| inflated.read_at(0, &mut into))
    });
    assert!(again.last().unwrap().is_err(), "starting again has an end");
    let cut = &packed[..packed.len() / 2];
    let mut into = [0; 8];
    assert_eq!(Inflated::new(&cut, bytes.len() as u64).read_at(2_999_000, &mut into).unwrap(), 0);
}

/// A fat binary of one uncompressed cubin for sm_75.
fn fat(cubin: &[u8]) -> Vec<u8> {
    let payload = cubin.len().next_multiple_of(8);
    let mut bytes = vec![0; 16 + 64];
    bytes[..8].copy_from_slice(&[0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0]);
    bytes[8..16].copy_from_slice(&(64 + payload as u64).to_le_bytes());
    let entry = &mut bytes[16..];
    entry[..8].copy_from_slice(&[2, 0, 1, 1, 64, 0, 0, 0]);
    entry[8..16].copy_from_slice(&(payload as u64).to_le_bytes());
    entry[28] = 75;
    bytes.extend(cubin);
    bytes.resize(80 + payload, 0);
    bytes
}

/// However large it is: linkers record their search folders.
#[test]
fn machine_code_whose_sections_hold_no_kernel_is_empty() {
    let cubin = fixture("cuda13-sm_75.cubin");
    let empty = |cubin: &[u8]| scan_bytes(&fat(cubin)).unwrap().summary().empty;
    assert_eq!(empty(&cubin), 0);
    let kernel = position(&cubin, b".text.store_index");
    let bare = patched(cubin.clone(), kernel, b".note");
    assert!(!image::is_too_small(warpscope_kernels::Sm::new(7, 5), bare.len() as u64));
    assert_eq!(empty(&bare), 1);
    // Without a section table nobody knows.
    assert_eq!(empty(&patched(bare, 0x28, &[0; 8])), 0);
}

/// What a download that broke off leaves: half of the file, or most of it.
#[test]
fn what_was_cut_short_is_damaged_whatever_it_is() {
    for (name, lost) in [
        ("host.so", 200),
        ("static.a", 2),
        ("plain.fatbin", 8),
        ("cuda13-sm_75.cubin", 200),
        ("wheel.whl", 400),
    ] {
        let bytes = fixture(name);
        assert_eq!(scan_bytes(&bytes).unwrap().damage, None, "{name}");
        let scan = scan_bytes(&bytes[..bytes.len() - lost]).unwrap();
        assert!(scan.damage.is_some(), "{name}: {scan:?}");
        let half = scan_bytes(&bytes[..bytes.len() / 2]).unwrap();
        assert!(half.damage.is_some(), "half of {name}: {half:?}");
    }
}

#[test]
fn what_is_not_read_here_is_said_and_is_no_damage() {
    let other_version = patched(fixture("lz4.fatbin"), 18, &[2]);
    for (bytes, told) in [
        (b"!<thin>\n".to_vec(), "only names files lying elsewhere"),
        (patched(fixture("host.so"), 4, &[1]), "not 64-bit"),
        ([b"MZ".to_vec(), vec![0; 126]].concat(), "a DOS program"),
        (other_version, "unknown version"),
    ] {
        let scan = scan_bytes(&bytes).unwrap();
        assert!(scan.warnings[0].contains(told), "{told}: {:?}", scan.warnings);
        assert_eq!(scan.damage, None, "{told}");
    }
}
