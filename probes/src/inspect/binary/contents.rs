//! What kind of file it is, and where its device code lies.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::data::{self, Finds};
use super::elf::{self, Elf};
use super::fatbin::{self, Container};
use super::image::Image;
use super::source::{Fault, Reader, Section, Source, u16_in};
use super::{ar, cubin, pe, ptx, zip};

/// What kind of file was scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// A library, program or object file of Linux.
    Elf,
    /// A library or program of Windows.
    Pe,
    /// Machine code of a GPU by itself.
    Cubin,
    /// A fat binary by itself.
    Fatbin,
    /// PTX text.
    Ptx,
    /// A static library.
    Archive,
    /// A wheel or another zip archive; what it holds stands in its members.
    Zip,
}

impl Format {
    /// The kind of file, from its first bytes; nothing for any other kind.
    pub fn of(source: &dyn Source) -> Option<Self> {
        let mut head = [0; 24];
        let filled = source.read_at(0, &mut head).ok()?;
        let head = &head[..filled];
        match () {
            () if head.starts_with(b"\x7fELF") && u16_in(head, 18) == elf::CUDA => {
                Some(Self::Cubin)
            }
            () if head.starts_with(b"\x7fELF") => Some(Self::Elf),
            () if head.starts_with(b"MZ") => Some(Self::Pe),
            () if head.starts_with(&fatbin::MAGIC.to_le_bytes()) => Some(Self::Fatbin),
            () if head.starts_with(ar::MAGIC) || head.starts_with(ar::THIN) => Some(Self::Archive),
            () if head.starts_with(zip::MAGIC) => Some(Self::Zip),
            () if text_like(head) => {
                ptx::head(source).ok().and_then(|text| ptx::image(&text)).map(|_| Self::Ptx)
            }
            () => None,
        }
    }
}

/// PTX begins with a directive or a comment.
fn text_like(head: &[u8]) -> bool {
    let mut bytes = head.iter().skip_while(|byte| byte.is_ascii_whitespace());
    matches!(bytes.next(), Some(b'.' | b'/'))
}

/// What device code is for where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// The CUDA runtime finds it when the library is loaded.
    Executable,
    /// Left over from before linking; nothing loads it.
    Relocatable,
    /// Plain data; the library loads it itself, or does not.
    Data,
}

/// Sections that hold containers, by the names ELF and PE files give them.
const SECTIONS: [(&[u8], Place); 4] = [
    (b".nv_fatbin", Place::Executable),
    (b"__nv_relfatbin", Place::Relocatable),
    (b".nv_fatb", Place::Executable),
    (b"__nv_rel", Place::Relocatable),
];

fn place(is_called: impl Fn(&[u8]) -> bool) -> Option<Place> {
    SECTIONS.iter().find(|(known, _)| is_called(known)).map(|(_, place)| *place)
}

/// Takes the device code of a file.
pub(super) trait Visit {
    /// A container. A cubin or a text by itself comes as a container of one image.
    fn container(&mut self, place: Place, source: &dyn Source, container: &Container);

    /// Something that could not be read.
    fn fault(&mut self, fault: &Fault);
}

/// Passes on what is found in one region.
struct At<'a> {
    place: Place,
    source: &'a dyn Source,
    visit: &'a mut dyn Visit,
}

impl Finds for At<'_> {
    fn container(&mut self, container: Container) {
        if let Some(fault) = &container.fault {
            self.visit.fault(fault);
        }
        self.visit.container(self.place, self.source, &container);
    }

    fn fault(&mut self, fault: Fault) {
        self.visit.fault(&fault);
    }
}

/// Visits the device code of anything but a zip archive.
pub(super) fn visit(format: Format, source: &dyn Source, visit: &mut dyn Visit) {
    let done = match format {
        Format::Elf => elf_file(source, visit),
        Format::Pe => pe_file(source, visit),
        Format::Cubin => cubin_file(source, visit),
        Format::Ptx => ptx_file(source, visit),
        Format::Archive => archive(source, visit),
        Format::Fatbin => {
            region(Place::Executable, 0..source.len(), source, visit);
            Ok(())
        }
        Format::Zip => Ok(()),
    };
    if let Err(fault) = done {
        visit.fault(&fault);
    }
}

fn region(place: Place, range: Range<u64>, source: &dyn Source, visit: &mut dyn Visit) {
    let finds = &mut At { place, source, visit };
    match place {
        Place::Data => data::search(source, range, finds),
        Place::Executable | Place::Relocatable => data::run(source, range, finds),
    }
}

/// Says where the sections of a library lead beyond its end: it was cut short.
fn check_ends(ends: impl Iterator<Item = u64>, source: &dyn Source, visit: &mut dyn Visit) {
    if let Some(at) = ends.max().filter(|end| *end > source.len()) {
        visit.fault(&Fault::Short { at });
    }
}

/// Visits regions in the order they lie, none twice: a file can claim that its sections overlap.
fn regions(mut list: Vec<(Place, Range<u64>)>, source: &dyn Source, visit: &mut dyn Visit) {
    list.sort_by_key(|(place, range)| (range.start, *place == Place::Data));
    let mut passed = 0;
    for (place, range) in list {
        let (start, end) = (range.start.max(passed), range.end.min(source.len()));
        if start < end {
            region(place, start..end, source, visit);
            passed = end;
        }
    }
}

/// A file whose section table is missing or broken is searched as a whole.
fn elf_file(source: &dyn Source, visit: &mut dyn Visit) -> Result<(), Fault> {
    let elf = match Elf::read(source) {
        Err(Fault::Read(error)) => return Err(Fault::Read(error)),
        Err(fault) => {
            visit.fault(&fault);
            None
        }
        Ok(elf) => {
            check_ends(elf.sections().map(|section| section.range.end), source, visit);
            Some(elf)
        }
    };
    let listed = |elf: Elf| -> Vec<_> {
        let known = elf.sections().filter_map(|section| {
            let place = place(|name| section.is_called(name));
            Some((place.or(section.data.then_some(Place::Data))?, section.range))
        });
        known.collect()
    };
    match elf.map(listed) {
        Some(list) if !list.is_empty() => regions(list, source, visit),
        _ => region(Place::Data, 0..source.len(), source, visit),
    }
    Ok(())
}

fn pe_file(source: &dyn Source, visit: &mut dyn Visit) -> Result<(), Fault> {
    let sections = pe::sections(source)?;
    check_ends(sections.iter().map(|section| section.range.end), source, visit);
    let known = sections.into_iter().filter_map(|section| {
        let place = place(|name| elf::is_called(&section.name, name));
        Some((place.or(section.data.then_some(Place::Data))?, section.range))
    });
    regions(known.collect(), source, visit);
    Ok(())
}

/// A file that is one image.
fn single(place: Place, image: Image, source: &dyn Source, visit: &mut dyn Visit) {
    let len = source.len();
    let container = Container {
        end: len,
        images: vec![(image, 1)],
        sizes: vec![(len, len)],
        entries: 1,
        ..Container::default()
    };
    visit.container(place, source, &container);
}

fn cubin_file(source: &dyn Source, visit: &mut dyn Visit) -> Result<(), Fault> {
    let elf = Elf::read(source)?;
    check_ends(elf.sections().map(|section| section.range.end), source, visit);
    let place = if elf.kind == elf::RELOCATABLE { Place::Relocatable } else { Place::Executable };
    single(place, cubin::image(&elf, source)?, source, visit);
    Ok(())
}

fn ptx_file(source: &dyn Source, visit: &mut dyn Visit) -> Result<(), Fault> {
    if let Some(image) = ptx::image(&ptx::head(source)?) {
        single(Place::Executable, image, source, visit);
    }
    Ok(())
}

/// Largest member of an archive that is taken into memory where seeking back is expensive.
const LARGEST_COPY: u64 = 16 << 20;

/// The members a linker would take.
fn archive(source: &dyn Source, visit_to: &mut dyn Visit) -> Result<(), Fault> {
    let mut head = Reader::new(source);
    if head.array::<8>(0)? == *ar::THIN {
        return Err(Fault::Unsupported("an archive that only names files lying elsewhere"));
    }
    let mut members = ar::Members::new(source);
    while let Some(member) = members.next()? {
        let len = member.end - member.start;
        let section = Section::new(source, member.start, len);
        if source.forward_only() && len <= LARGEST_COPY {
            let copy = head.copy(member.start, len as usize)?;
            member_of(&copy.as_slice(), visit_to);
        } else {
            member_of(&section, visit_to);
        }
    }
    Ok(())
}

fn member_of(source: &dyn Source, to: &mut dyn Visit) {
    if let Some(format @ (Format::Elf | Format::Cubin)) = Format::of(source) {
        visit(format, source, to);
    }
}

/// Names of the kernels in a container, as far as an image in it is not compressed; nothing where all are.
pub(super) fn kernels(source: &dyn Source, container: &Container) -> Option<Vec<String>> {
    let mut reader = Reader::new(source);
    let mut payloads = fatbin::payloads(&mut reader, container, MOST_ENTRIES);
    if payloads.is_empty() {
        payloads.push(container.at..container.end);
    }
    payloads.into_iter().find_map(|payload| {
        let section = Section::new(source, payload.start, payload.end - payload.start);
        match Format::of(&section)? {
            Format::Cubin => {
                let elf = Elf::read(&section).ok()?;
                Some(cubin::kernels(&elf).take(MOST_KERNELS).map(str::to_owned).collect())
            }
            Format::Ptx => Some(ptx::kernels(&ptx::head(&section).ok()?)),
            _ => None,
        }
    })
}

/// Entries looked at for one whose names can be read.
const MOST_ENTRIES: usize = 64;

/// Kernels named of one container.
const MOST_KERNELS: usize = 4096;
