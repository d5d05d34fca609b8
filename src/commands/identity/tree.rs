//! Numbers of git's objects: of a file, of a folder, and of the folder a commit names.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use sha1_smol::Sha1;
use warpscope_probes::bounded;

use super::index::Bytes;

/// Bytes of a number.
pub(crate) const ID: usize = 20;
/// Number of an object.
pub(crate) type Id = [u8; ID];

/// Bytes of a packed commit that are read; its first line is all that is needed, and those it is put together from are hardly longer.
const PACKED: usize = 16 << 10;
/// Most of it after it is unpacked.
const UNPACKED: usize = 64 << 10;
/// Bytes of the first line.
const LINE: usize = b"tree ".len() + 2 * ID;
/// Longest chain of differences; git makes none longer than 50 by itself.
const CHAIN: usize = 256;
/// Mode of a folder within a folder.
const FOLDER: u32 = 0o40000;
/// A commit, and a difference to an object before it, among the kinds of packed objects.
const COMMIT: u8 = 1;
const DIFFERENCE: u8 = 6;

/// Takes the bytes of an object whose length is known.
pub(crate) fn object(kind: &str, length: u64) -> Sha1 {
    Sha1::from(format!("{kind} {length}\0"))
}

/// Builds the folders of a work tree from its files in the order of the index, and gives the number of the outermost.
#[derive(Default)]
pub(crate) struct Tree {
    /// The folders that are open, from the outside in, each with what it holds so far. The outermost has no name.
    open: Vec<(Vec<u8>, Vec<u8>)>,
    root: Vec<u8>,
}

impl Tree {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: &[u8], mode: u32, id: &Id) {
        let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let name = parts.pop().unwrap_or_default();
        let same = self.open.iter().zip(&parts).take_while(|(open, part)| open.0 == **part);
        let same = same.count();
        self.close(same);
        let new = parts.drain(same..).map(|part| (part.to_owned(), Vec::new()));
        self.open.extend(new);
        self.put(mode, name, id);
    }

    /// The number of the whole.
    pub(crate) fn finish(mut self) -> Id {
        self.close(0);
        number(&self.root)
    }

    fn close(&mut self, left: usize) {
        while self.open.len() > left
            && let Some((name, content)) = self.open.pop()
        {
            self.put(FOLDER, &name, &number(&content));
        }
    }

    fn put(&mut self, mode: u32, name: &[u8], id: &Id) {
        let into = self.open.last_mut().map_or(&mut self.root, |folder| &mut folder.1);
        into.extend_from_slice(format!("{mode:o} ").as_bytes());
        into.extend_from_slice(name);
        into.push(0);
        into.extend_from_slice(id);
    }
}

fn number(content: &[u8]) -> Id {
    let mut hash = object("tree", content.len() as u64);
    hash.update(content);
    hash.digest().bytes()
}

/// The folder a commit names.
pub(crate) fn of_commit(objects: &Path, commit: &Id) -> Option<Id> {
    loose(objects, commit).or_else(|| {
        let packs = std::fs::read_dir(objects.join("pack")).ok()?.flatten().map(|one| one.path());
        let mut indexes = packs.filter(|path| path.extension().is_some_and(|ext| ext == "idx"));
        indexes.find_map(|index| packed(&index, commit))
    })
}

fn loose(objects: &Path, commit: &Id) -> Option<Id> {
    let hex = hex(commit);
    let file = bounded::open(&objects.join(&hex[..2]).join(&hex[2..])).ok()?;
    let mut bytes = Vec::new();
    file.take(PACKED as u64).read_to_end(&mut bytes).ok()?;
    let content = unpack(&bytes);
    let end = content.strip_prefix(b"commit ")?.iter().position(|byte| *byte == 0)?;
    named(&content[b"commit ".len() + end + 1..])
}

/// A commit within a pack: its index is a table of 256 counts, sorted numbers, checksums and places.
fn packed(index: &Path, commit: &Id) -> Option<Id> {
    let file = bounded::open(index).ok()?;
    let number = |at: u64| {
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from(u32::from_be_bytes(bytes)))
    };
    if (number(0)?, number(4)?) != (0xff74_4f63, 2) {
        return None;
    }
    let count = number(8 + 4 * 255)?;
    let first = u64::from(commit[0]);
    let mut low = if first == 0 { 0 } else { number(8 + 4 * (first - 1))? };
    let mut high = number(8 + 4 * first)?.min(count);
    let ids = 8 + 4 * 256;
    while low < high {
        let middle = low.midpoint(high);
        let mut id = [0; ID];
        file.read_exact_at(&mut id, ids + middle * ID as u64).ok()?;
        match id.cmp(commit) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => {
                let places = ids + count * (ID as u64 + 4);
                let place = number(places + 4 * middle)?;
                let far = places + 4 * count + 8 * (place & 0x7fff_ffff);
                let place = match place >> 31 {
                    0 => place,
                    _ => number(far)? << 32 | number(far + 4)?,
                };
                let pack = bounded::open(&index.with_extension("pack")).ok()?;
                return in_pack(&pack, place, CHAIN).and_then(|commit| named(&commit));
            }
        }
    }
    None
}

/// The beginning of a commit in a pack, which may be a difference to one before it.
fn in_pack(pack: &File, place: u64, chain: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PACKED];
    let count = pack.read_at(&mut bytes, place).ok()?;
    bytes.truncate(count);
    // Kind and length come first, in bytes of which all but the last have the highest bit set.
    let end = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
    match bytes[0] >> 4 & 7 {
        COMMIT => Some(unpack(&bytes[end..])),
        DIFFERENCE => {
            let mut rest = Bytes(&bytes[end..]);
            let back = u64::try_from(rest.varying()?).ok().filter(|back| *back > 0)?;
            let base = in_pack(pack, place.checked_sub(back)?, chain.checked_sub(1)?)?;
            changed(&base, &unpack(rest.0))
        }
        _ => None,
    }
}

/// Puts an object together from one before it: pieces of that one, and new ones. No more than is needed.
fn changed(base: &[u8], difference: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Bytes(difference);
    for _length in ["before", "after"] {
        while rest.take(1)?[0] & 0x80 != 0 {}
    }
    let mut whole = Vec::new();
    while whole.len() < UNPACKED && !rest.0.is_empty() {
        let order = rest.take(1)?[0];
        if order & 0x80 == 0 {
            whole.extend_from_slice(rest.take(usize::from(order))?);
            continue;
        }
        // Seven bits say which bytes of a place and a length follow.
        let mut numbers = [0; 7];
        for (bit, number) in numbers.iter_mut().enumerate() {
            if order >> bit & 1 != 0 {
                *number = usize::from(rest.take(1)?[0]);
            }
        }
        let [a, b, c, d, e, f, g] = numbers;
        let (from, length) = (a | b << 8 | c << 16 | d << 24, e | f << 8 | g << 16);
        let length = if length == 0 { 1 << 16 } else { length };
        let piece = base.get(from..)?;
        // The base may have been cut off behind what is needed.
        whole.extend_from_slice(&piece[..length.min(piece.len())]);
        if length > piece.len() {
            break;
        }
    }
    (whole.len() >= LINE).then_some(whole)
}

/// The beginning of what was packed. That the rest is missing is no error here.
fn unpack(bytes: &[u8]) -> Vec<u8> {
    decompress_to_vec_zlib_with_limit(bytes, UNPACKED).unwrap_or_else(|partly| partly.output)
}

/// The number in the first line of a commit.
fn named(commit: &[u8]) -> Option<Id> {
    let line = commit.get(..LINE)?.strip_prefix(b"tree ")?;
    from_hex(std::str::from_utf8(line).ok()?)
}

pub(crate) fn from_hex(text: &str) -> Option<Id> {
    let mut id = [0; ID];
    if text.len() != 2 * ID || !text.is_ascii() {
        return None;
    }
    for (at, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(id)
}

pub(crate) fn hex(id: &Id) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
