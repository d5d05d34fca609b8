//! Static libraries: the members of an `ar` archive.

use std::ops::Range;

use super::source::{Fault, Reader, Source};

/// First bytes of an archive, and of one that only names files elsewhere.
pub(super) const MAGIC: &[u8; 8] = b"!<arch>\n";
pub(super) const THIN: &[u8; 8] = b"!<thin>\n";

const HEADER: usize = 60;

/// Longest table of long names read.
const LONGEST_NAMES: u64 = 16 << 20;

/// Longest name given.
const LONGEST_NAME: usize = 255;

/// One member.
#[derive(Debug)]
pub(super) struct Member {
    /// Its name.
    pub(super) name: String,
    /// Its bytes.
    pub(super) range: Range<u64>,
}

/// Walks an archive from member to member.
pub(super) struct Members<'a> {
    reader: Reader<'a>,
    at: u64,
    names: Vec<u8>,
}

impl<'a> Members<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self { reader: Reader::new(source), at: MAGIC.len() as u64, names: Vec::new() }
    }

    /// The next member; tables of symbols and names are passed over.
    pub(super) fn next(&mut self) -> Result<Option<Member>, Fault> {
        while self.at.saturating_add(HEADER as u64) <= self.reader.len() {
            let member = self.member()?;
            self.at = member.range.end.saturating_add(member.range.end & 1);
            match member.name.as_str() {
                "/" | "/SYM64/" | "__.SYMDEF" => {}
                "//" => {
                    let length = (member.range.end - member.range.start).min(LONGEST_NAMES);
                    self.names = self.reader.copy(member.range.start, length as usize)?;
                }
                _ => return Ok(Some(member)),
            }
        }
        Ok(None)
    }

    /// The member whose header is here.
    fn member(&mut self) -> Result<Member, Fault> {
        let at = self.at;
        let malformed = Fault::Malformed { what: "a malformed archive member", at };
        let header: [u8; HEADER] = self.reader.array(at)?;
        let size = std::str::from_utf8(&header[48..58])
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok());
        let start = at + HEADER as u64;
        let end =
            size.and_then(|size| start.checked_add(size)).filter(|end| *end <= self.reader.len());
        let Some(end) = end.filter(|_| header[58..] == *b"`\n") else { return Err(malformed) };
        let name = String::from_utf8_lossy(&header[..16]).trim_end().to_owned();
        // BSD writes a long name before the bytes of the member.
        if let Some(length) = name.strip_prefix("#1/").and_then(|n| n.parse::<u64>().ok()) {
            let bytes =
                self.reader.bytes(start, (length.min(end - start) as usize).min(LONGEST_NAME))?;
            let name = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
            return Ok(Member { name, range: start + length.min(end - start)..end });
        }
        Ok(Member { name: self.named(name), range: start..end })
    }

    /// GNU keeps long names in a table, `/123` is a place in it; a short one ends with a slash.
    fn named(&self, name: String) -> String {
        let long = name.strip_prefix('/').and_then(|at| at.parse::<usize>().ok());
        let Some(rest) = long.and_then(|at| self.names.get(at..)) else {
            let table = name.starts_with('/');
            return if table { name } else { name.trim_end_matches('/').to_owned() };
        };
        let end =
            rest.iter().position(|byte| matches!(byte, b'/' | b'\n' | 0)).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end.min(LONGEST_NAME)]).into_owned()
    }
}
