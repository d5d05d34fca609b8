//! ELF files of 64 bits: the sections of a library, of an object file, of a cubin.

use std::ops::Range;

use super::source::{Fault, Reader, Source, u16_in, u32_in, u64_in};

/// `e_machine` of a cubin.
pub(super) const CUDA: u16 = 190;

/// `e_type` of what a linker still has to see.
pub(super) const RELOCATABLE: u16 = 1;

const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;

/// Most sections read; an object file with one section per function has some ten thousand.
const MOST_SECTIONS: u64 = 1 << 17;

/// Longest table of section names read.
const LONGEST_NAMES: u64 = 4 << 20;

/// Longest name given; those of templates have some thousand bytes.
const LONGEST_NAME: usize = 4096;

const NOBITS: u32 = 8;
const ALLOCATED: u64 = 2;
const EXECUTABLE: u64 = 4;

/// The fields of a header that matter here.
#[derive(Debug)]
pub(super) struct Elf {
    /// Kind of file: relocatable, executable, shared.
    pub(super) kind: u16,
    /// Version of the ABI; a cubin's tells how to read its flags.
    pub(super) abi_version: u8,
    /// Flags of the machine.
    pub(super) flags: u32,
    sections: Vec<u8>,
    names: Vec<u8>,
}

/// One section.
#[derive(Debug)]
pub(super) struct Section<'a> {
    /// The table of names from its own on; empty where it cannot be told.
    names: &'a [u8],
    /// The bytes it covers.
    pub(super) range: Range<u64>,
    /// Whether it is loaded and is not machine code of the host.
    pub(super) data: bool,
}

impl Elf {
    /// Reads header, section table and names. A file without a section table has no sections.
    pub(super) fn read(source: &dyn Source) -> Result<Self, Fault> {
        let mut reader = Reader::new(source);
        let header: [u8; HEADER] = reader.array(0)?;
        if header[4] != 2 || header[5] != 1 {
            return Err(Fault::Unsupported("an ELF file that is not 64-bit little-endian"));
        }
        let mut elf = Self {
            kind: u16_in(&header, 16),
            abi_version: header[8],
            flags: u32_in(&header, 0x30),
            sections: Vec::new(),
            names: Vec::new(),
        };
        let table = u64_in(&header, 0x28);
        if table == 0 {
            return Ok(elf);
        }
        if usize::from(u16_in(&header, 0x3A)) != SECTION_HEADER {
            return Err(Fault::Malformed {
                what: "an ELF file with a malformed section table",
                at: 0,
            });
        }
        elf.read_sections(&mut reader, table, &header)?;
        Ok(elf)
    }

    /// More sections than fit the header's fields are counted in the first section's.
    fn read_sections(
        &mut self,
        reader: &mut Reader,
        table: u64,
        header: &[u8],
    ) -> Result<(), Fault> {
        let first: [u8; SECTION_HEADER] = reader.array(table)?;
        let count = match u16_in(header, 0x3C) {
            0 => u64_in(&first, 32),
            count => u64::from(count),
        };
        let names = match u16_in(header, 0x3E) {
            0xFFFF => u32_in(&first, 40),
            index => u32::from(index),
        };
        if count > MOST_SECTIONS {
            return Err(Fault::Unsupported("an ELF file with too many sections"));
        }
        self.sections = reader.copy(table, count as usize * SECTION_HEADER)?;
        let Some(names) = self.header(names as usize) else { return Ok(()) };
        let (at, length) = (u64_in(names, 24), u64_in(names, 32));
        if length <= LONGEST_NAMES {
            self.names = reader.copy(at, length as usize)?;
        }
        Ok(())
    }

    fn header(&self, index: usize) -> Option<&[u8]> {
        let at = index.checked_mul(SECTION_HEADER)?;
        self.sections.get(at..at + SECTION_HEADER)
    }

    /// Every section that has bytes in the file.
    pub(super) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let headers = self.sections.chunks_exact(SECTION_HEADER);
        headers.filter(|header| u32_in(header, 4) != NOBITS && u32_in(header, 4) != 0).map(
            |header| {
                let (flags, at) = (u64_in(header, 8), u64_in(header, 24));
                Section {
                    names: self.names.get(u32_in(header, 0) as usize..).unwrap_or_default(),
                    range: at..at.saturating_add(u64_in(header, 32)),
                    data: flags & ALLOCATED != 0 && flags & EXECUTABLE == 0,
                }
            },
        )
    }

    /// The first section of a name.
    pub(super) fn section(&self, name: &[u8]) -> Option<Section<'_>> {
        self.sections().find(|section| section.is_called(name))
    }
}

impl<'a> Section<'a> {
    /// Whether this is its name. Looks at no more of the table than that, which may be one long name that all sections share.
    pub(super) fn is_called(&self, name: &[u8]) -> bool {
        is_called(self.names, name)
    }

    /// What its name has after `prefix`.
    pub(super) fn name_after(&self, prefix: &[u8]) -> Option<&'a [u8]> {
        let rest = self.names.strip_prefix(prefix)?;
        rest[..rest.len().min(LONGEST_NAME)].split(|byte| *byte == 0).next()
    }
}

/// Whether a text that ends with a zero, or with the bytes it is in, is this one.
pub(super) fn is_called(text: &[u8], name: &[u8]) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
}
