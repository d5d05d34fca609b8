//! Wheels and other zip archives: where each member lies, read from the directory at the end.

use super::source::{Fault, Reader, Section, Source, u16_in, u32_in, u64_in};

/// First bytes of an archive.
pub(super) const MAGIC: &[u8; 4] = b"PK\x03\x04";

const END: &[u8; 4] = b"PK\x05\x06";
const END_LENGTH: u64 = 22;
const LOCATOR_LENGTH: u64 = 20;
const LONGEST_COMMENT: u64 = 0xFFFF;

/// Marks a number that stands in the 64-bit field instead.
const ELSEWHERE: u64 = 0xFFFF_FFFF;

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
    /// Bytes it takes in the archive.
    pub(super) packed: u64,
    /// Bytes it has.
    pub(super) len: u64,
    header: u64,
}

impl Member {
    /// Its bytes as they are stored.
    pub(super) fn stored<'a>(&self, source: &'a dyn Source) -> Result<Section<'a>, Fault> {
        let header: [u8; 30] = Reader::new(source).array(self.header)?;
        if header[..4] != *MAGIC {
            return Err(Fault::Malformed {
                what: "no member where the archive's directory names one",
                at: self.header,
            });
        }
        let names = u64::from(u16_in(&header, 26)) + u64::from(u16_in(&header, 28));
        Ok(Section::new(source, self.header + 30 + names, self.packed))
    }
}

/// Walks an archive from member to member, as its directory lists them.
pub(super) struct Members<'a> {
    reader: Reader<'a>,
    at: u64,
    left: u64,
    packed: u64,
}

impl<'a> Members<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Result<Self, Fault> {
        let (at, count) = directory(source)?;
        Ok(Self { reader: Reader::new(source), at, left: count.min(MOST_MEMBERS), packed: 0 })
    }

    /// The next member.
    pub(super) fn next(&mut self) -> Result<Option<Member>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (member, next) = member(&mut self.reader, self.at)?;
        // Members that share their bytes unpack to far more than the archive could hold.
        self.packed = self.packed.saturating_add(member.packed);
        if self.packed > self.reader.len() {
            return Err(Fault::Malformed { what: "an archive whose members overlap", at: self.at });
        }
        self.at = next;
        Ok(Some(member))
    }
}

/// The entry of the directory at `at`, and where the next one is.
fn member(reader: &mut Reader, at: u64) -> Result<(Member, u64), Fault> {
    let fixed: [u8; 46] = reader.array(at)?;
    if fixed[..4] != *b"PK\x01\x02" {
        return Err(Fault::Malformed { what: "a malformed archive directory", at });
    }
    let [name, extra, comment] = [28, 30, 32].map(|field| usize::from(u16_in(&fixed, field)));
    let variable = reader.bytes(at + 46, name + extra)?;
    let (name_bytes, extra_bytes) = variable.split_at(name);
    let wide = Wide::new(extra_bytes);
    let (len, wide) = wide.or(u32_in(&fixed, 24));
    let (packed, wide) = wide.or(u32_in(&fixed, 20));
    let (header, _) = wide.or(u32_in(&fixed, 42));
    let encrypted = u16_in(&fixed, 8) & 1 != 0;
    let method = match u16_in(&fixed, 10) {
        0 if !encrypted => Method::Stored,
        8 if !encrypted => Method::Deflated,
        _ => Method::Other,
    };
    let name_text = String::from_utf8_lossy(name_bytes).into_owned();
    Ok((
        Member { name: name_text, method, packed, len, header },
        at + 46 + (name + extra + comment) as u64,
    ))
}

/// The 64-bit field of an entry: one number for each that did not fit its own place, in a fixed order.
struct Wide<'a>(&'a [u8]);

impl<'a> Wide<'a> {
    fn new(mut extra: &'a [u8]) -> Self {
        while let [a, b, c, d, rest @ ..] = extra {
            let (id, length) = (u16_in(&[*a, *b], 0), usize::from(u16_in(&[*c, *d], 0)));
            let (field, next) = rest.split_at(length.min(rest.len()));
            if id == 1 {
                return Self(field);
            }
            extra = next;
        }
        Self(&[])
    }

    /// The number, taken from here if its own place says so.
    fn or(self, own: u32) -> (u64, Self) {
        match u64::from(own) {
            ELSEWHERE if self.0.len() >= 8 => (u64_in(self.0, 0), Self(&self.0[8..])),
            own => (own, self),
        }
    }
}

/// Where the directory begins and how many entries it has.
fn directory(source: &dyn Source) -> Result<(u64, u64), Fault> {
    let tail_length = source.len().min(END_LENGTH + LONGEST_COMMENT + LOCATOR_LENGTH);
    let tail_at = source.len() - tail_length;
    let mut reader = Reader::new(source);
    let tail = reader.copy(tail_at, tail_length as usize)?;
    let missing = Fault::Malformed { what: "a zip archive without a directory", at: tail_at };
    let at = tail.windows(END.len()).rposition(|window| window == END).ok_or(missing)?;
    let end = &tail[at..];
    let (count, start) = (u64::from(u16_in(end, 10)), u64::from(u32_in(end, 16)));
    if count != 0xFFFF && start != ELSEWHERE {
        return Ok((start, count));
    }
    let locator = at.checked_sub(LOCATOR_LENGTH as usize).map(|at| &tail[at..]);
    let Some(locator) = locator.filter(|locator| locator.starts_with(b"PK\x06\x07")) else {
        return Ok((start, count));
    };
    let end: [u8; 56] = reader.array(u64_in(locator, 8))?;
    if end[..4] != *b"PK\x06\x06" {
        return Err(Fault::Malformed {
            what: "a malformed 64-bit archive directory",
            at: u64_in(locator, 8),
        });
    }
    Ok((u64_in(&end, 48), u64_in(&end, 32)))
}
