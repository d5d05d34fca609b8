//! The loader's cache, `/etc/ld.so.cache`: which file a library name leads to.
//!
//! The format of glibc since 2.2 (`glibc-ld.so.cache1.1`), alone or behind the older one. Little-endian.

use std::collections::HashMap;
use std::path::PathBuf;

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0\0";
const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_HEADER: usize = 16;
const OLD_ENTRY: usize = 12;
const NEW_HEADER: usize = 48;
const NEW_ENTRY: usize = 24;

/// Library for glibc 2, in the low byte of an entry's flags.
const ELF_LIBC6: u32 = 3;
/// 64-bit machines, in the second byte: x86-64 and AArch64.
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0x0a00;
#[cfg(not(target_arch = "aarch64"))]
const MACHINE: u32 = 0x0300;

/// Where library names lead, for programs of this machine's kind; empty when the cache makes no sense.
pub(super) fn parse(bytes: &[u8]) -> HashMap<String, PathBuf> {
    table(bytes).unwrap_or_default()
}

fn table(bytes: &[u8]) -> Option<HashMap<String, PathBuf>> {
    let bytes = new_part(bytes)?;
    let count = number(bytes, NEW_MAGIC.len())? as usize;
    let entries = bytes.get(NEW_HEADER..)?.chunks_exact(NEW_ENTRY).take(count);
    let mut table = HashMap::new();
    for entry in entries {
        let flags = number(entry, 0)?;
        if flags & 0xff != ELF_LIBC6 || flags & 0xff00 != MACHINE {
            continue;
        }
        let text = |at: usize| string(bytes, number(entry, at)? as usize);
        if let (Some(name), Some(path)) = (text(4), text(8))
            && path.starts_with('/')
        {
            // The loader takes the first row it can use; later ones are for other hardware levels.
            table.entry(name.to_owned()).or_insert_with(|| PathBuf::from(path));
        }
    }
    Some(table)
}

/// The part in the new format, to which its offsets refer.
fn new_part(bytes: &[u8]) -> Option<&[u8]> {
    if bytes.starts_with(NEW_MAGIC) {
        return Some(bytes);
    }
    let old = bytes.strip_prefix(OLD_MAGIC)?;
    let count = number(old, 0)? as usize;
    let end = count.checked_mul(OLD_ENTRY)?.checked_add(OLD_HEADER)?.checked_next_multiple_of(8)?;
    bytes.get(end..).filter(|rest| rest.starts_with(NEW_MAGIC))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn string(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let rest = &rest[..rest.len().min(4096)];
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// A cache as ldconfig writes it.
    pub(in crate::inspect::env) fn cache(rows: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut strings = Vec::new();
        let mut entries = Vec::new();
        let base = NEW_HEADER + rows.len() * NEW_ENTRY;
        for (flags, name, path) in rows {
            entries.extend(flags.to_le_bytes());
            for text in [name, path] {
                entries.extend(((base + strings.len()) as u32).to_le_bytes());
                strings.extend(text.as_bytes());
                strings.push(0);
            }
            entries.extend([0; 12]);
        }
        let mut bytes = NEW_MAGIC.to_vec();
        bytes.extend((rows.len() as u32).to_le_bytes());
        bytes.resize(NEW_HEADER, 0);
        bytes.extend(entries);
        bytes.extend(strings);
        bytes
    }

    const OURS: u32 = MACHINE | ELF_LIBC6;

    #[test]
    fn agrees_with_ldconfig_on_this_machine() {
        let ldconfig = ["ldconfig", "/sbin/ldconfig"]
            .iter()
            .find_map(|program| Command::new(program).arg("-p").output().ok());
        let (Some(output), Ok(bytes)) = (ldconfig, std::fs::read("/etc/ld.so.cache")) else {
            println!("SKIPPED: no ldconfig or no cache here");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let machine =
            if cfg!(target_arch = "aarch64") { "(libc6,AArch64" } else { "(libc6,x86-64" };
        let mut expected = HashMap::new();
        for line in text.lines().filter(|line| line.contains(machine)) {
            let (left, path) = line.split_once(" => ").expect("an arrow");
            let name = left.split_whitespace().next().expect("a name").to_owned();
            expected.entry(name).or_insert_with(|| PathBuf::from(path));
        }
        assert!(!expected.is_empty());
        assert_eq!(parse(&bytes), expected);
    }

    #[test]
    fn other_machines_and_later_rows_are_left_out() {
        let rows = [
            (0x0803, "libx.so.1", "/lib32/libx.so.1"),
            (OURS, "libx.so.1", "/first/libx.so.1"),
            (OURS, "libx.so.1", "/second/libx.so.1"),
            (OURS, "liby.so.1", "relative"),
        ];
        let plain = cache(&rows);
        let expected = HashMap::from([("libx.so.1".to_owned(), PathBuf::from("/first/libx.so.1"))]);
        assert_eq!(parse(&plain), expected);
        let mut behind = OLD_MAGIC.to_vec();
        behind.extend(1_u32.to_le_bytes());
        behind.resize(OLD_HEADER + OLD_ENTRY + 4, 0);
        behind.extend(&plain);
        assert_eq!(parse(&behind), expected, "behind the older format");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), place in 0_usize..120, value in any::<u32>()) {
            let mut with_magic = NEW_MAGIC.to_vec();
            with_magic.extend(&bytes);
            let mut damaged = cache(&[(OURS, "a", "/b"), (OURS, "c", "/d")]);
            let place = place.min(damaged.len() - 4);
            damaged[place..place + 4].copy_from_slice(&value.to_le_bytes());
            for bytes in [&bytes, &with_magic, &damaged, &OLD_MAGIC.to_vec()] {
                prop_assert!(parse(bytes).values().all(|path| path.is_absolute()));
            }
        }
    }
}
