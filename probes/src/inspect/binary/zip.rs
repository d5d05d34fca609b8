//! Wheels and other zip archives: where each member lies, as the directory at the end lists them.

use std::io;

use rawzip::{CompressionMethod, ErrorKind, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipLocator};

use super::source::{Fault, Section, Source};

/// First bytes of an archive.
pub(super) const MAGIC: &[u8; 4] = b"PK\x03\x04";

/// Most members read.
const MOST_MEMBERS: u64 = 1 << 18;

/// How a member is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// As it is.
    Stored,
    /// Deflated.
    Deflated,
    /// In a way that is not read, or encrypted.
    Other,
}

/// One member.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// How it is stored.
    pub(super) method: Method,
    /// Bytes it has.
    pub(super) len: u64,
}

/// Takes a member with its bytes as they are stored.
pub(super) type Give<'a> = dyn FnMut(&Member, Result<Section<'_>, Fault>) + 'a;

/// Gives the members of an archive that have at least so many bytes.
pub(super) fn members(source: &dyn Source, smallest: u64, give: &mut Give) -> Result<(), Fault> {
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let located = ZipLocator::new().locate_in_reader(Whole(source), &mut buffer, source.len());
    let archive = located.map_err(|(_, error)| fault(error, source.len()))?;
    let mut at = archive.directory_offset();
    let mut packed = 0_u64;
    let mut entries = archive.entries(&mut buffer);
    for _ in 0..MOST_MEMBERS {
        let Some(entry) = entries.next_entry().map_err(|error| fault(error, at))? else { break };
        at = entry.central_directory_offset();
        // Members that share their bytes unpack to far more than the archive could hold.
        packed = packed.saturating_add(entry.compressed_size_hint());
        if packed > source.len() {
            return Err(Fault::Malformed { what: "an archive whose members overlap", at });
        }
        let method = match entry.compression_method() {
            _ if entry.flags().is_encrypted() => Method::Other,
            CompressionMethod::STORE => Method::Stored,
            CompressionMethod::DEFLATE => Method::Deflated,
            _ => Method::Other,
        };
        let len = entry.uncompressed_size_hint();
        if len >= smallest {
            let name = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            let stored = archive.get_entry(entry.wayfinder()).map(|entry| {
                let (start, end) = entry.compressed_data_range();
                Section::new(source, start, end - start)
            });
            let header = entry.local_header_offset();
            give(&Member { name, method, len }, stored.map_err(|error| fault(error, header)));
        }
    }
    Ok(())
}

struct Whole<'a>(&'a dyn Source);

impl ReaderAt for Whole<'_> {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        self.0.read_at(at, into)
    }
}

fn fault(error: rawzip::Error, at: u64) -> Fault {
    match error.kind() {
        ErrorKind::IO(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            Fault::Read(io::Error::new(error.kind(), error.to_string()))
        }
        ErrorKind::IO(_) | ErrorKind::Eof => Fault::Short { at },
        ErrorKind::MissingEndOfCentralDirectory => {
            Fault::Malformed { what: "a zip archive without a directory", at }
        }
        _ => Fault::Malformed { what: "a malformed zip archive", at },
    }
}
