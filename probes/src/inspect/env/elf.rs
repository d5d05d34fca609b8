//! What a shared library asks of the loader: its name, what it needs, where to look for it.
//!
//! Only the dynamic section is read, with a handful of small reads whatever the size of the file. 64-bit little-endian, which every
//! machine with CUDA is. A crate for ELF would want the whole file in memory, or mapped, and bring far more than this.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Program headers looked at; libraries have about ten.
const MOST_HEADERS: u64 = 64;
/// Largest dynamic section: 4096 entries.
const DYNAMIC_BYTES: u64 = 64 << 10;
/// Longest name or search path.
const STRING_BYTES: u64 = 16 << 10;
/// Libraries one may need.
const MOST_NEEDED: usize = 256;

/// The loader's view of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dynamic {
    pub(super) soname: Option<String>,
    pub(crate) needed: Vec<String>,
    /// Searched before `LD_LIBRARY_PATH`, unless there is a run path.
    pub(crate) rpath: Vec<String>,
    /// Searched after `LD_LIBRARY_PATH`.
    pub(crate) runpath: Vec<String>,
}

/// Search paths of a library that lies in the folder `origin`.
pub(crate) fn expand(paths: &[String], origin: &Path) -> impl Iterator<Item = String> {
    let origin = origin.to_string_lossy();
    paths.iter().map(move |path| path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
}

impl Dynamic {
    /// Reads a library; `None` when it is none, is static, or makes no sense.
    pub(crate) fn read(file: &mut (impl Read + Seek)) -> Option<Self> {
        let header: [u8; 64] = exact(file, 0)?;
        // Magic, 64-bit, little-endian.
        if header[..6] != [0x7f, b'E', b'L', b'F', 2, 1] {
            return None;
        }
        let segments = segments(file, &header)?;
        let dynamic = segments.iter().find(|one| one.kind == PT_DYNAMIC)?;
        let bytes = some(file, dynamic.offset, dynamic.bytes.min(DYNAMIC_BYTES))?;
        let entries = bytes.chunks_exact(16).map(|entry| (word(entry, 0), word(entry, 8)));
        let entries: Vec<_> = entries.take_while(|entry| entry.0 != DT_NULL).collect();
        let strings = entries.iter().find(|entry| entry.0 == DT_STRTAB)?.1;
        let strings = offset_of(&segments, strings)?;
        let mut found = Self::default();
        for (tag, value) in entries {
            if !matches!(tag, DT_NEEDED | DT_SONAME | DT_RPATH | DT_RUNPATH) {
                continue;
            }
            let Some(text) = strings.checked_add(value).and_then(|at| string(file, at)) else {
                continue;
            };
            match tag {
                DT_NEEDED if found.needed.len() < MOST_NEEDED => found.needed.push(text),
                DT_SONAME => found.soname = Some(text),
                DT_RPATH => found.rpath = paths(&text),
                DT_RUNPATH => found.runpath = paths(&text),
                _ => {}
            }
        }
        Some(found)
    }
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;

/// A part of the file and where it lies in memory.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

fn segments(file: &mut (impl Read + Seek), header: &[u8; 64]) -> Option<Vec<Segment>> {
    let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let (at, size, count) = (word(header, 32), half(54), half(56).min(MOST_HEADERS));
    if size < 56 {
        return None;
    }
    let bytes = some(file, at, size * count)?;
    let segment = |row: &[u8]| Segment {
        kind: u32::from_le_bytes([row[0], row[1], row[2], row[3]]),
        offset: word(row, 8),
        address: word(row, 16),
        bytes: word(row, 32),
    };
    Some(bytes.chunks_exact(usize::try_from(size).ok()?).map(segment).collect())
}

/// Where in the file an address in memory comes from.
fn offset_of(segments: &[Segment], address: u64) -> Option<u64> {
    segments.iter().filter(|one| one.kind == PT_LOAD).find_map(|one| {
        let into = address.checked_sub(one.address).filter(|into| *into < one.bytes)?;
        one.offset.checked_add(into)
    })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn exact<const N: usize>(file: &mut (impl Read + Seek), at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// Up to `most` bytes; the callers bound it.
fn some(file: &mut (impl Read + Seek), at: u64, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).ok()?;
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Text up to its zero; most are a few dozen bytes.
fn string(file: &mut (impl Read + Seek), at: u64) -> Option<String> {
    let cut =
        |bytes: &[u8]| bytes.iter().position(|byte| *byte == 0).map(|end| bytes[..end].to_vec());
    let short = some(file, at, 256)?;
    let bytes = cut(&short).or_else(|| cut(&some(file, at, STRING_BYTES)?))?;
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

fn paths(text: &str) -> Vec<String> {
    // The loader takes an empty one for the working directory.
    text.split(':').map(|path| if path.is_empty() { "." } else { path }.to_owned()).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs::File;
    use std::io::Cursor;
    use std::path::PathBuf;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// What `readelf -d` prints of a library, in the same words.
    fn asked(path: &Path) -> Option<Dynamic> {
        let output =
            Command::new("readelf").arg("-dW").arg(path).env("LC_ALL", "C").output().ok()?;
        let mut found = Dynamic::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some(value) = line.split_once('[').and_then(|(_, rest)| rest.rsplit_once(']'))
            else {
                continue;
            };
            match line {
                _ if line.contains("(NEEDED)") => found.needed.push(value.0.to_owned()),
                _ if line.contains("(SONAME)") => found.soname = Some(value.0.to_owned()),
                _ if line.contains("(RPATH)") => found.rpath = paths(value.0),
                _ if line.contains("(RUNPATH)") => found.runpath = paths(value.0),
                _ => {}
            }
        }
        Some(found)
    }

    #[test]
    fn agrees_with_readelf_on_the_libraries_of_this_machine() {
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"];
        let list = |folder: &&str| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> =
            folders.iter().flat_map(list).map(|entry| entry.path()).collect();
        paths.retain(|path| path.to_string_lossy().contains(".so") && path.is_file());
        paths.sort();
        let mut compared = 0;
        for path in paths.iter().step_by(paths.len() / 40 + 1) {
            let Some(found) = File::open(path).ok().and_then(|mut file| Dynamic::read(&mut file))
            else {
                continue;
            };
            let Some(expected) = asked(path) else { break };
            assert_eq!(found, expected, "{}", path.display());
            compared += 1;
        }
        if compared == 0 {
            println!("SKIPPED: no readelf or no libraries here");
        }
    }

    /// A library with one load segment that maps the file to itself.
    pub(crate) fn library(entries: &[(u64, &str)]) -> Vec<u8> {
        let (mut strings, mut dynamic) = (vec![0_u8], Vec::new());
        let mut entry = |tag: u64, value: u64| {
            dynamic.extend([tag.to_le_bytes(), value.to_le_bytes()].concat())
        };
        let table = 64 + 2 * 56;
        for (tag, text) in entries {
            entry(*tag, strings.len() as u64);
            strings.extend(text.as_bytes());
            strings.push(0);
        }
        let rows = (entries.len() + 2) * 16;
        entry(DT_STRTAB, (table + rows) as u64);
        entry(DT_NULL, 0);
        let total = (table + rows + strings.len()) as u64;
        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1];
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64_u64.to_le_bytes());
        file[54..58].copy_from_slice(&[56, 0, 2, 0]);
        for (kind, offset, bytes) in [(PT_LOAD, 0, total), (PT_DYNAMIC, table as u64, rows as u64)]
        {
            file.extend(kind.to_le_bytes());
            file.extend([0; 4]);
            [offset, offset, offset, bytes, bytes, 8]
                .iter()
                .for_each(|word: &u64| file.extend(word.to_le_bytes()));
        }
        file.extend(dynamic);
        file.extend(strings);
        file
    }

    #[test]
    fn reads_what_it_was_given() {
        let bytes = library(&[
            (DT_SONAME, "libx.so.1"),
            (DT_NEEDED, "libcublas.so.12"),
            (DT_RUNPATH, "$ORIGIN/../lib::/opt"),
        ]);
        let found = Dynamic::read(&mut Cursor::new(&bytes)).expect("a library");
        assert_eq!(found.soname.as_deref(), Some("libx.so.1"));
        assert_eq!(found.needed, ["libcublas.so.12"]);
        assert_eq!(found.runpath, ["$ORIGIN/../lib", ".", "/opt"]);
        let folders = expand(&found.runpath, Path::new("/a/b"));
        assert_eq!(folders.collect::<Vec<_>>(), ["/a/b/../lib", ".", "/opt"]);
    }

    proptest! {
            #[test]
            fn any_bytes_are_survived(
                bytes in proptest::collection::vec(any::<u8>(), 0..400),
                place in 0_usize..300,
                value in any::<u64>(),
            ) {
                Dynamic::read(&mut Cursor::new(&bytes));
                let mut damaged = library(&[(DT_NEEDED, "a"), (DT_RPATH, "/b")]);
                let place = place.min(damaged.len() - 8);
                damaged[place..place + 8].copy_from_slice(&value.to_le_bytes());
                Dynamic::read(&mut Cursor::new(&damaged));
                damaged.truncate(place);
    Dynamic::read(&mut Cursor::new(&damaged));
            }
        }
}
