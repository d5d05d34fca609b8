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
    entry: usize,
    names: Vec<u8>,
}

/// One section.
#[derive(Debug)]
pub(super) struct Section<'a> {
    /// Its name; empty where it cannot be told.
    pub(super) name: &'a [u8],
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
        let malformed = |what| Err(Fault::Malformed { what, at: 0 });
        if header[4] != 2 || header[5] != 1 {
            return malformed("an ELF file that is not 64-bit little-endian");
        }
        let mut elf = Self {
            kind: u16_in(&header, 16),
            abi_version: header[8],
            flags: u32_in(&header, 0x30),
            sections: Vec::new(),
            entry: usize::from(u16_in(&header, 0x3A)),
            names: Vec::new(),
        };
        let table = u64_in(&header, 0x28);
        if table == 0 {
            return Ok(elf);
        }
        if elf.entry < SECTION_HEADER {
            return malformed("an ELF file with a malformed section table");
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
            return Err(Fault::Malformed { what: "an ELF file with too many sections", at: table });
        }
        self.sections = reader.copy(table, count as usize * self.entry)?;
        let Some(names) = self.header(names as usize) else { return Ok(()) };
        let (at, length) = (u64_in(names, 24), u64_in(names, 32));
        if length <= LONGEST_NAMES {
            self.names = reader.copy(at, length as usize)?;
        }
        Ok(())
    }

    fn header(&self, index: usize) -> Option<&[u8]> {
        let at = index.checked_mul(self.entry)?;
        self.sections.get(at..at + SECTION_HEADER)
    }

    /// Every section that has bytes in the file.
    pub(super) fn sections(&self) -> impl Iterator<Item = Section<'_>> {
        let headers = self.sections.chunks_exact(self.entry.max(SECTION_HEADER));
        headers.filter(|header| u32_in(header, 4) != NOBITS && u32_in(header, 4) != 0).map(
            |header| {
                let (flags, at) = (u64_in(header, 8), u64_in(header, 24));
                Section {
                    name: text(&self.names, u32_in(header, 0) as usize),
                    range: at..at.saturating_add(u64_in(header, 32)),
                    data: flags & ALLOCATED != 0 && flags & EXECUTABLE == 0,
                }
            },
        )
    }

    /// The first section of a name.
    pub(super) fn section(&self, name: &[u8]) -> Option<Section<'_>> {
        self.sections().find(|section| section.name == name)
    }
}

/// The text that begins at `at` and ends with a zero.
fn text(names: &[u8], at: usize) -> &[u8] {
    let rest = names.get(at..).unwrap_or_default();
    rest.split(|byte| *byte == 0).next().unwrap_or_default()
}
