//! Windows libraries: the sections of a PE file. Names are cut to eight bytes there.

use std::ops::Range;

use super::source::{Fault, Reader, Source, u16_in, u32_in};

const SECTION_HEADER: u64 = 40;
const CODE: u32 = 0x20;

/// One section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Its name, filled up with zeros.
    pub(super) name: [u8; 8],
    /// The bytes it covers.
    pub(super) range: Range<u64>,
    /// Whether it holds data and no machine code of the host.
    pub(super) data: bool,
}

/// The sections of a PE file.
pub(super) fn sections(source: &dyn Source) -> Result<Vec<Section>, Fault> {
    let mut reader = Reader::new(source);
    let at = u64::from(u32_in(&reader.array::<4>(0x3C)?, 0));
    let header: [u8; 24] = reader.array(at)?;
    if header[..4] != *b"PE\0\0" {
        return Err(Fault::Unsupported("a DOS program, not a PE file"));
    }
    let table = at + 24 + u64::from(u16_in(&header, 20));
    (0..u64::from(u16_in(&header, 6)))
        .map(|index| {
            let header: [u8; SECTION_HEADER as usize] =
                reader.array(table + index * SECTION_HEADER)?;
            let (size, start) = (u64::from(u32_in(&header, 16)), u64::from(u32_in(&header, 20)));
            let mut name = [0; 8];
            name.copy_from_slice(&header[..8]);
            Ok(Section { name, range: start..start + size, data: u32_in(&header, 36) & CODE == 0 })
        })
        .collect()
}
