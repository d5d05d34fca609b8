//! Scanning a file: a binary, or a wheel with binaries in it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::collect::Collector;
use super::contents::{self, Format};
use super::cpu::Cpu;
use super::inflate::Inflated;
use super::scan::{Scan, inside};
use super::source::{Fault, OnDisk, Reader, Section, Source};
use super::zip::{self, Member, Method};
use crate::bounded;
use crate::text::printable;

/// Why a file could not be scanned.
#[derive(Debug)]
pub struct ScanError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: Why,
}

/// What stood in the way of a scan.
#[derive(Debug)]
pub enum Why {
    /// The file could not be opened or read.
    Read(io::Error),
    /// It is nothing that could hold device code.
    Unrecognised,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", printable(&self.path.to_string_lossy()), self.reason())
    }
}

impl ScanError {
    /// Why, without the file.
    pub fn reason(&self) -> String {
        match &self.why {
            Why::Read(error) => error.to_string(),
            Why::Unrecognised => {
                "not a binary that can hold GPU code; give a library, a program, a wheel, .cubin, .fatbin, .ptx or .a".to_owned()
            }
        }
    }
}

impl std::error::Error for ScanError {}

/// Reads which device code a file holds. Nothing is unpacked, mapped or run.
pub fn scan_file(path: &Path) -> Result<Scan, ScanError> {
    scan_source(path, &open(path)?)
}

/// See [`scan_file`]; for bytes that are no file of their own. The path only names them.
pub fn scan_source(path: &Path, source: &dyn Source) -> Result<Scan, ScanError> {
    let format = recognised(path, source)?;
    let mut scan = Scan { cpu: Cpu::of(format, source), ..Scan::empty(path, source.len(), format) };
    let mut collector = Collector::default();
    if format == Format::Zip {
        let done = each_member(source, &mut |member, bytes| match bytes {
            Ok(bytes) => {
                let name = inside(path, &member.name);
                // What is no binary is no fault: most of a wheel is text. An archive in an archive is not opened.
                if Format::of(bytes).is_some_and(|format| format != Format::Zip) {
                    scan.members.extend(scan_source(&name, bytes));
                }
            }
            Err(fault) => {
                collector.fault_of(Some(&printable(&member.name)), &fault);
            }
        });
        if let Err(fault) = done {
            collector.fault_of(None, &fault);
        }
    } else {
        contents::visit(format, source, &mut collector);
    }
    collector.finish(&mut scan);
    Ok(scan)
}

pub(super) fn open(path: &Path) -> Result<OnDisk, ScanError> {
    let failed = |error| ScanError { path: path.to_owned(), why: Why::Read(error) };
    OnDisk::new(bounded::open(path).map_err(failed)?).map_err(failed)
}

pub(super) fn recognised(path: &Path, source: &dyn Source) -> Result<Format, ScanError> {
    Format::of(source).ok_or_else(|| ScanError { path: path.to_owned(), why: Why::Unrecognised })
}

/// Largest deflated member that is unpacked into memory; a larger one is read as a stream.
const LARGEST_COPY: u64 = 16 << 20;

/// Smallest member that could be a binary.
const SMALLEST: u64 = 32;

/// Takes a member with its bytes.
type Give<'a> = dyn FnMut(&Member, Result<&dyn Source, Fault>) + 'a;

/// Gives every member of an archive that is long enough to be a binary.
fn each_member(source: &dyn Source, give: &mut Give) -> Result<(), Fault> {
    zip::members(source, SMALLEST, &mut |member, stored| match stored {
        Ok(stored) => give_member(member, &stored, give),
        Err(fault) => give(member, Err(fault)),
    })
}

fn give_member(member: &Member, stored: &Section, give: &mut Give) {
    let inflated = Inflated::new(stored, member.len);
    match member.method {
        Method::Stored => give(member, Ok(stored)),
        Method::Deflated if member.len > LARGEST_COPY || Format::of(&inflated).is_none() => {
            give(member, Ok(&inflated))
        }
        Method::Deflated => match Reader::new(&inflated).copy(0, member.len as usize) {
            Ok(bytes) => give(member, Ok(&bytes.as_slice())),
            Err(fault) => give(member, Err(fault)),
        },
        Method::Other => {
            let what = "a member that is encrypted or compressed in an unusual way";
            give(member, Err(Fault::Unsupported(what)));
        }
    }
}
