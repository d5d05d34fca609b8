//! Cubins lying by themselves: the target of machine code, from its ELF header and its notes.
//!
//! Where the compute capability stands depends on the version of the ABI. Whether code is specific to an architecture or to a family
//! the header tells only in part: the assembler's note holds its command line, and `.nv.compat` one of the two facts.

use warpscope_kernels::{Sm, Suffix};

use super::elf::Elf;
use super::image::{Compression, Image, ImageKind, sm_from};
use super::source::{Fault, Reader, Source, u16_in};

/// ABI version of CUDA up to 12 for all but Blackwell, and of everything later.
const OLD_ABI: u8 = 7;

/// "Architecture-specific", in the flags of the old ABI and of CUDA 12.8 and 12.9 for Blackwell.
const OLD_SPECIFIC: u32 = 0x800;
const NEW_SPECIFIC: u32 = 0x8;

/// Attribute of `.nv.compat` that says the same from CUDA 13 on.
const SPECIFIC_ATTRIBUTE: u8 = 9;

/// Notes and attributes are a few hundred bytes.
const LONGEST_NOTE: u64 = 4096;

/// The image a cubin is.
pub(super) fn image(elf: &Elf, source: &dyn Source) -> Result<Image, Fault> {
    let (number, specific) = match elf.abi_version {
        version if version <= OLD_ABI => (elf.flags & 0xFF, elf.flags & OLD_SPECIFIC != 0),
        _ => (elf.flags >> 8 & 0xFF, elf.flags & NEW_SPECIFIC != 0),
    };
    let suffix = if specific { Suffix::Arch } else { Suffix::None };
    let what = "a cubin for an impossible compute capability";
    let plain = sm_from(number, suffix).ok_or(Fault::Malformed { what, at: 0x30 })?;
    let target = refined(elf, source, plain);
    let empty = kernels(elf).next().is_none();
    Ok(Image { kind: ImageKind::Cubin, target, isa: None, compression: Compression::None, empty })
}

/// The target with the suffix its notes tell.
fn refined(elf: &Elf, source: &dyn Source, plain: Sm) -> Sm {
    let mut reader = Reader::new(source);
    let mut bytes = |name: &[u8]| {
        let range = elf.section(name)?.range;
        let length = range.end.saturating_sub(range.start).min(LONGEST_NOTE);
        reader.copy(range.start, length as usize).ok()
    };
    let noted = bytes(b".note.nv.tkinfo").and_then(|note| architecture(&note));
    if let Some(noted) =
        noted.filter(|noted| (noted.major, noted.minor) == (plain.major, plain.minor))
    {
        return noted;
    }
    let specific =
        plain.suffix == Suffix::Arch || bytes(b".nv.compat").is_some_and(|list| is_specific(&list));
    Sm { suffix: if specific { Suffix::Arch } else { Suffix::None }, ..plain }
}

/// The `-arch sm_90a` of the command line in a note.
fn architecture(note: &[u8]) -> Option<Sm> {
    let key = b"-arch ";
    let at = note.windows(key.len()).position(|window| window == key)? + key.len();
    let word = note[at..].split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').next()?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Whether a list of attributes says "architecture-specific". Each is a form, a name and two bytes; form 4 has a length there and more bytes.
fn is_specific(mut list: &[u8]) -> bool {
    while let [form, name, low, high, rest @ ..] = list {
        if (*form, *name) == (2, SPECIFIC_ATTRIBUTE) {
            return *low == 1;
        }
        let more = if *form == 4 { usize::from(u16_in(&[*low, *high], 0)) } else { 0 };
        list = rest.get(more..).unwrap_or_default();
    }
    false
}

/// Names of the kernels in a cubin: each has a section of its own.
pub(super) fn kernels(elf: &Elf) -> impl Iterator<Item = &str> {
    elf.sections().filter_map(|section| std::str::from_utf8(section.name_after(b".text.")?).ok())
}
