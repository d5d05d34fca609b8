//! Fat binaries: containers, and the images in them.
//!
//! A container is a header of 16 bytes and entries one after the other, each a header and a payload. Everything needed stands in the
//! headers, so a scan hops from one to the next and reads none of the payloads. A container is about one translation unit.

use std::ops::Range;

use warpscope_kernels::Suffix;

use super::cubin;
use super::elf::Elf;
use super::image::{Compression, Image, ImageKind, is_too_small, sm_from};
use super::source::{Fault, Reader, u16_in, u32_in, u64_in};
use warpscope_kernels::image::Isa;

/// First four bytes of a container.
pub(super) const MAGIC: u32 = 0xBA55_ED50;

/// Bytes of a container's header, and of the fixed part of an entry's.
const CONTAINER_HEADER: u64 = 16;
const ENTRY_HEADER: usize = 64;

/// Second field of every entry.
const ENTRY_VERSION: u16 = 0x0101;

/// Longest entry header believed; those seen are under a kilobyte, a table of concatenated images is longer.
const LONGEST_HEADER: u32 = 1 << 20;

/// Kind of an entry that holds several images compressed together, with a table of them after its header.
const CONCATENATED: u16 = 0x100;

/// Machine code larger than this has a kernel.
const LARGEST_BARE: u64 = 8192;

/// Bits of an entry's flags.
const OLD: u64 = 0x1000;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
const ARCH_SPECIFIC: u64 = 0x10_0000;
const FAMILY_SPECIFIC: u64 = 0x20_0000;

/// Different images kept of one container; no compiler makes as many.
const MOST_IMAGES: usize = 256;

/// The fixed part of an entry's header.
struct Header([u8; ENTRY_HEADER]);

impl Header {
    fn kind(&self) -> u16 {
        u16_in(&self.0, 0)
    }

    fn version(&self) -> u16 {
        u16_in(&self.0, 2)
    }

    /// Of the header; in a table of concatenated images where the image begins.
    fn length(&self) -> u32 {
        u32_in(&self.0, 4)
    }

    fn payload(&self) -> u64 {
        u64_in(&self.0, 8)
    }

    fn flags(&self) -> u64 {
        u64_in(&self.0, 40)
    }

    /// Bytes before compression; an image that is not compressed leaves the field empty.
    fn unpacked(&self) -> u64 {
        match u64_in(&self.0, 56) {
            0 => self.payload(),
            size => size,
        }
    }

    fn compression(&self) -> Compression {
        match self.flags() {
            flags if flags & ZSTD != 0 => Compression::Zstd,
            flags if flags & LZ4 != 0 => Compression::Lz4,
            flags if flags & OLD != 0 => Compression::Old,
            _ => Compression::None,
        }
    }

    /// The image, or nothing where the compute capability is none.
    fn image(&self, compression: Compression, unpacked: u64) -> Option<Image> {
        let flags = self.flags();
        let suffix = match () {
            () if flags & FAMILY_SPECIFIC != 0 => Suffix::Family,
            () if flags & ARCH_SPECIFIC != 0 => Suffix::Arch,
            () => Suffix::None,
        };
        let kind = match self.kind() {
            1 => ImageKind::Ptx,
            2 => ImageKind::Cubin,
            8 => ImageKind::Lto,
            other => ImageKind::Other(other),
        };
        let version = || {
            let part = |at| u8::try_from(u16_in(&self.0, at)).ok();
            Some(Isa::new(part(26)?, part(24)?))
        };
        let isa = if kind == ImageKind::Ptx { version() } else { None };
        let target = sm_from(u32_in(&self.0, 28), suffix)?;
        let empty = kind == ImageKind::Cubin && is_too_small(target, unpacked);
        Some(Image { kind, target, isa, compression, empty })
    }
}

/// Images of one container, with how many there are of each.
#[derive(Debug, Default)]
pub(super) struct Container {
    /// Where it begins.
    pub(super) at: u64,
    /// Where it ends.
    pub(super) end: u64,
    /// Its images, equal ones counted.
    pub(super) images: Vec<(Image, u32)>,
    /// Bytes of each, as stored and before compression; in the order of `images`.
    pub(super) sizes: Vec<(u64, u64)>,
    /// Entries looked at.
    pub(super) entries: u64,
    /// What could not be read.
    pub(super) fault: Option<Fault>,
}

impl Container {
    fn add(&mut self, image: Image, stored: u64, unpacked: u64) {
        let at = match self.images.iter().position(|(known, _)| *known == image) {
            Some(at) => at,
            None if self.images.len() == MOST_IMAGES => return,
            None => {
                self.images.push((image, 0));
                self.sizes.push((0, 0));
                self.images.len() - 1
            }
        };
        self.images[at].1 = self.images[at].1.saturating_add(1);
        let size = &mut self.sizes[at];
        *size = (size.0.saturating_add(stored), size.1.saturating_add(unpacked));
    }
}

/// The part of the source a container's header claims, there or not; nothing if there is none at `at`.
fn claimed(reader: &mut Reader, at: u64) -> Result<Option<Range<u64>>, Fault> {
    let header: [u8; CONTAINER_HEADER as usize] = reader.array(at)?;
    let length = u64::from(u16_in(&header, 6));
    if u32_in(&header, 0) != MAGIC || u16_in(&header, 4) != 1 || length < CONTAINER_HEADER {
        return Ok(None);
    }
    let start = at.saturating_add(length);
    Ok(start.checked_add(u64_in(&header, 8)).map(|end| start..end))
}

/// Reads the entry at `at`, which ends before `limit`; gives its header and where its payload is.
fn entry(reader: &mut Reader, at: u64, limit: u64) -> Result<(Header, Range<u64>), Fault> {
    let malformed = |what| Err(Fault::Malformed { what, at });
    if limit - at < ENTRY_HEADER as u64 {
        return malformed("a fat binary ends within an entry");
    }
    let header = Header(reader.array(at)?);
    let length = header.length();
    if header.version() != ENTRY_VERSION {
        return Err(Fault::Unsupported("a fat binary entry of unknown version"));
    }
    if length < ENTRY_HEADER as u32 || length > LONGEST_HEADER {
        return malformed("a fat binary entry with an impossible header length");
    }
    let start = at + u64::from(length);
    match start.checked_add(header.payload()).filter(|end| *end <= limit) {
        Some(end) => Ok((header, start..end)),
        None => malformed("a fat binary entry longer than its container"),
    }
}

/// The images of a concatenated entry, from the table after its header. Records are like entry headers, but of different lengths:
/// options follow some. Each says where its image begins after decompression, and that tells the next from bytes that only look like one.
fn concatenated(
    reader: &mut Reader,
    at: u64,
    header: &Header,
    into: &mut Container,
) -> Result<(), Fault> {
    let table = at + u64::from(u32_in(&header.0, 20));
    let end = at + u64::from(header.length());
    let count = u32_in(&reader.array::<4>(table)?, 0);
    // What is stored is shared; it is put down to the first image.
    let mut stored = header.payload();
    let (mut next, mut begins) = (table + 8, 0_u64);
    for _ in 0..count {
        let record = loop {
            if next + ENTRY_HEADER as u64 > end {
                let what = "a table of concatenated images longer than its entry";
                return Err(Fault::Malformed { what, at });
            }
            let record = Header(reader.array(next)?);
            if record.version() == ENTRY_VERSION && record.length() == begins as u32 {
                break record;
            }
            next += 8;
        };
        next += ENTRY_HEADER as u64;
        begins = begins.wrapping_add(record.payload());
        if let Some(image) = record.image(header.compression(), record.payload()) {
            into.add(image, std::mem::take(&mut stored), record.payload());
        }
    }
    Ok(())
}

/// The container at `at`, which must end before `limit`; nothing if none begins there. A container that is
/// broken half-way is given with what was read until then.
pub(super) fn container(
    reader: &mut Reader,
    at: u64,
    limit: u64,
) -> Result<Option<Container>, Fault> {
    let Some(claimed) = claimed(reader, at)? else { return Ok(None) };
    if claimed.end > reader.len() {
        return Err(Fault::Short { at: claimed.end });
    }
    if claimed.end > limit {
        return Err(Fault::Malformed { what: "a fat binary longer than its section", at });
    }
    let mut found = Container { at, end: claimed.end, ..Container::default() };
    let mut next = claimed.start;
    while next < claimed.end && found.fault.is_none() {
        found.entries += 1;
        let step = entry(reader, next, claimed.end).and_then(|(header, payload)| {
            let (at, stored) = (next, header.payload());
            next = payload.end;
            if header.kind() == CONCATENATED {
                return concatenated(reader, at, &header, &mut found);
            }
            let what = "a fat binary entry for an impossible compute capability";
            let mut image = header
                .image(header.compression(), header.unpacked())
                .ok_or(Fault::Malformed { what, at })?;
            image.empty = image.empty || is_bare(reader, &image, &payload);
            found.add(image, stored, header.unpacked());
            Ok(())
        });
        found.fault = step.err();
    }
    Ok(Some(found))
}

/// Whether machine code that lies uncompressed has sections, and none of a kernel. `nvlink` records its search folders, so that
/// what it leaves where there was nothing to link can be larger than a small kernel: 1,904 bytes for sm_75 in libcufftw.so.12 (12.0.0.61).
fn is_bare(reader: &mut Reader, image: &Image, payload: &Range<u64>) -> bool {
    let length = payload.end - payload.start;
    if image.kind != ImageKind::Cubin
        || image.compression != Compression::None
        || length > LARGEST_BARE
    {
        return false;
    }
    let bytes = reader.copy(payload.start, length as usize);
    let elf = bytes.and_then(|bytes| Elf::read(&bytes.as_slice()));
    elf.is_ok_and(|elf| elf.sections().next().is_some() && cubin::kernels(&elf).next().is_none())
}

/// Where the payloads of a container lie, as far as it can be read and at most `most` of them.
pub(super) fn payloads(reader: &mut Reader, container: &Container, most: usize) -> Vec<Range<u64>> {
    let Ok(Some(claimed)) = claimed(reader, container.at) else { return Vec::new() };
    let mut next = claimed.start;
    let mut found = Vec::new();
    while next < claimed.end && found.len() < most {
        let Ok((_, payload)) = entry(reader, next, claimed.end) else { break };
        next = payload.end;
        found.push(payload);
    }
    found
}

/// Whether an entry of this kind is known. Data that only looks like a container is refused by it.
fn known(header: &Header) -> bool {
    matches!(header.kind(), 1 | 2 | 8 | CONCATENATED)
}

/// The container at `at` if every header in it is of a known kind and they fill it exactly, with how many entries were looked at to tell.
/// For bytes that nothing says are a container.
pub(super) fn consistent(
    reader: &mut Reader,
    at: u64,
    limit: u64,
) -> Result<(Option<Container>, u64), Fault> {
    let exact =
        |claimed: &Range<u64>| claimed.start == at + CONTAINER_HEADER && claimed.end <= limit;
    let Some(claimed) = claimed(reader, at)?.filter(exact) else { return Ok((None, 0)) };
    match entry(reader, claimed.start, claimed.end) {
        Ok((header, _)) if known(&header) => {}
        Err(Fault::Read(error)) => return Err(Fault::Read(error)),
        _ => return Ok((None, 1)),
    }
    let found = container(reader, at, limit)?;
    let looked = found.as_ref().map_or(1, |found| found.entries);
    let whole = |found: &Container| {
        let strange =
            found.images.iter().any(|(image, _)| matches!(image.kind, ImageKind::Other(_)));
        found.fault.is_none() && !found.images.is_empty() && !strange
    };
    Ok((found.filter(whole), looked))
}
