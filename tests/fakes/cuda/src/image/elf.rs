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

fn kernels(bytes: &[u8]) -> Option<Vec<Kernel>> {
    let (table, count) = sections(bytes)?;
    let names = table + usize::from(u16_at(bytes, 0x3e)?) * SECTION;
    let names = if count == 0 { 0 } else { u64_at(bytes, names + 0x18)? };
    let mut kernels = Vec::new();
    for at in 0..count {
        let section = table + at * SECTION;
        let name = names.checked_add(u32_at(bytes, section)? as usize)?;
        let name = bytes.get(name..)?.split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?;
        if let Some(name) = name.strip_prefix(".text.") {
            // The upper byte of sh_info of a kernel's code is its number of registers.
            let registers = u32_at(bytes, section + 0x2c)? >> 24;
            kernels.push(Kernel { name: name.to_owned(), registers });
        }
    }
    Some(kernels)
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
