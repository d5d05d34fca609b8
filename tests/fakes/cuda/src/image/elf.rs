//! The few fields of a cubin that loading needs.

use warpscope_kernels::{Sm, Suffix};

pub(super) const MAGIC: &[u8] = b"\x7fELF";

const EM_CUDA: u16 = 190;
const HEADER: usize = 64;
const SECTION: usize = 64;
const NOBITS: u32 = 8;

/// A binary for one target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cubin {
    /// What it was built for.
    pub(crate) target: Sm,
    /// Entry points.
    pub(crate) kernels: Vec<Kernel>,
}

/// An entry point of a cubin.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kernel {
    /// Its name.
    pub(crate) name: String,
    /// Registers of a thread.
    pub(crate) registers: u32,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(bytes.get(at..)?.first_chunk().copied()?)).ok()
}

/// Where the section table lies and how many sections it has, from the first 64 bytes.
fn sections(header: &[u8]) -> Option<(usize, usize)> {
    let sized = u16_at(header, 0x3a)? as usize == SECTION;
    sized.then_some((u64_at(header, 0x28)?, u16_at(header, 0x3c)?.into()))
}

/// Size of an ELF file in memory, of which at least `known` bytes can be read; `more` shows further bytes.
pub(super) fn length<'a>(header: &[u8], more: impl Fn(usize) -> &'a [u8]) -> Option<usize> {
    const LARGEST: usize = 1 << 30;
    let (table, count) = sections(header.get(..HEADER)?)?;
    let end = table.checked_add(count * SECTION).filter(|end| *end <= LARGEST)?;
    // Program headers, which ptxas writes last.
    let programs = u64_at(header, 0x20)?;
    let each = usize::from(u16_at(header, 0x36)?) * usize::from(u16_at(header, 0x38)?);
    let programs = programs.checked_add(each).filter(|end| *end <= LARGEST)?;
    let bytes = more(end);
    let ends = (0..count).map(|at| {
        let section = table + at * SECTION;
        let size = match u32_at(bytes, section + 4)? {
            NOBITS => 0,
            _ => u64_at(bytes, section + 0x20)?,
        };
        u64_at(bytes, section + 0x18)?.checked_add(size).filter(|end| *end <= LARGEST)
    });
    ends.chain([Some(end), Some(programs)]).try_fold(HEADER, |largest, end| Some(largest.max(end?)))
}

/// Reads a cubin.
pub(super) fn read(bytes: &[u8]) -> Option<Cubin> {
    if u16_at(bytes, 0x12)? != EM_CUDA {
        return None;
    }
    let flags = u32_at(bytes, 0x30)?;
    // Two layouts of e_flags: up to sm_90 of CUDA 12, and everything newer.
    let (number, exact) = match (bytes.get(7)?, bytes.get(8)?) {
        (0x33, _) => (flags & 0xff, flags & 0x800 != 0),
        (0x41, _) => (flags >> 8 & 0xff, flags & 0x8 != 0),
        _ => return None,
    };
    let suffix = if exact { Suffix::Arch } else { Suffix::None };
    let target = Sm { major: (number / 10) as u8, minor: (number % 10) as u8, suffix };
    Some(Cubin { target, kernels: kernels(bytes)? })
}

/// A section: its name, its bytes, the section its strings are in.
struct Section<'a> {
    name: &'a str,
    bytes: &'a [u8],
    link: usize,
}

fn text(bytes: &[u8], at: usize) -> Option<&str> {
    std::str::from_utf8(bytes.get(at..)?.split(|byte| *byte == 0).next()?).ok()
}

fn all_sections(bytes: &[u8]) -> Option<Vec<Section<'_>>> {
    let (table, count) = sections(bytes)?;
    let names = table + usize::from(u16_at(bytes, 0x3e)?) * SECTION;
    let names = if count == 0 { &[] } else { bytes.get(u64_at(bytes, names + 0x18)?..)? };
    let one = |at: usize| {
        let section = table + at * SECTION;
        let (start, size) = (u64_at(bytes, section + 0x18)?, u64_at(bytes, section + 0x20)?);
        let held = u32_at(bytes, section + 4)? != NOBITS;
        let body = if held { bytes.get(start..start.checked_add(size)?)? } else { &[] };
        let name = text(names, u32_at(bytes, section)? as usize)?;
        Some(Section { name, bytes: body, link: u32_at(bytes, section + 0x28)? as usize })
    };
    (0..count).map(one).collect()
}

fn kernels(bytes: &[u8]) -> Option<Vec<Kernel>> {
    let sections = all_sections(bytes)?;
    let registers = registers(&sections).unwrap_or_default();
    let names = sections.iter().filter_map(|section| section.name.strip_prefix(".text."));
    let kernel = |name: &str| {
        let found = registers.iter().find(|entry| entry.0 == name);
        Kernel { name: name.to_owned(), registers: found.map_or(0, |entry| entry.1) }
    };
    Some(names.map(kernel).collect())
}

/// Registers of each kernel, from the notes for the driver: a format, a number, and a value or its size.
fn registers<'a>(sections: &[Section<'a>]) -> Option<Vec<(&'a str, u32)>> {
    const SIZED: u8 = 4;
    const REGISTERS: u8 = 0x2f;
    const SYMBOL: usize = 24;
    let symbols = sections.iter().find(|section| section.name == ".symtab")?;
    let names = sections.get(symbols.link)?.bytes;
    let mut rest = sections.iter().find(|section| section.name == ".nv.info")?.bytes;
    let mut found = Vec::new();
    while let [format, number, low, high, after @ ..] = rest {
        let size =
            if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let value = after.get(..size)?;
        if (*format, *number) == (SIZED, REGISTERS) {
            let symbol = u32_at(value, 0)? as usize * SYMBOL;
            found.push((text(names, u32_at(symbols.bytes, symbol)? as usize)?, u32_at(value, 4)?));
        }
        rest = &after[size..];
    }
    Some(found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The smallest file that is a cubin: no sections.
    pub(crate) fn cubin((abi, version): (u8, u8), flags: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[7] = abi;
        bytes[8] = version;
        bytes[0x12..0x14].copy_from_slice(&EM_CUDA.to_le_bytes());
        bytes[0x30..0x34].copy_from_slice(&flags.to_le_bytes());
        bytes[0x3a..0x3c].copy_from_slice(&(SECTION as u16).to_le_bytes());
        bytes
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = cubin((0x33, 7), 0x004b_054b);
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), None);
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0xff;
            let _ = read(&changed);
            let _ = length(&changed, |_| &[]);
        }
        assert_eq!(length(&whole, |_| &[]), Some(HEADER));
    }
}
