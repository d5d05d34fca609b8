//! Static libraries: the members of an `ar` archive. Their names are not read: what a member is stands in its bytes.

use std::ops::Range;

use super::source::{Fault, Reader, Source};

/// First bytes of an archive, and of one that only names files elsewhere.
pub(super) const MAGIC: &[u8; 8] = b"!<arch>\n";
pub(super) const THIN: &[u8; 8] = b"!<thin>\n";

const HEADER: usize = 60;

/// Walks an archive from member to member.
pub(super) struct Members<'a> {
    reader: Reader<'a>,
    at: u64,
}

impl<'a> Members<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Self {
        Self { reader: Reader::new(source), at: MAGIC.len() as u64 }
    }

    /// The bytes of the next member, tables of symbols and names among them.
    pub(super) fn next(&mut self) -> Result<Option<Range<u64>>, Fault> {
        if self.at >= self.reader.len() {
            return Ok(None);
        }
        let member = self.member()?;
        self.at = member.end.saturating_add(member.end & 1);
        Ok(Some(member))
    }

    /// The member whose header is here.
    fn member(&mut self) -> Result<Range<u64>, Fault> {
        let at = self.at;
        let malformed = || Fault::Malformed { what: "a malformed archive member", at };
        let header: [u8; HEADER] = self.reader.array(at)?;
        let text = |range: Range<usize>| std::str::from_utf8(&header[range]).map(str::trim).ok();
        let start = at + HEADER as u64;
        let size = text(48..58).and_then(|size| size.parse().ok());
        let end = size.and_then(|size| start.checked_add(size)).filter(|_| header[58..] == *b"`\n");
        let end = end.ok_or_else(malformed)?;
        if end > self.reader.len() {
            return Err(Fault::Short { at: end });
        }
        // BSD writes a long name before the bytes of the member.
        let name = text(0..16).and_then(|name| name.strip_prefix("#1/")?.parse().ok());
        Ok(start + name.unwrap_or(0).min(end - start)..end)
    }
}
