//! tar (POSIX ustar and pax, GNU's long names) as a stream.
//!
//! Own code instead of a crate: reading is all that is needed, with bounds on every length, and the position of each member.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::links::lexical;
use super::part::Stream;

const BLOCK: u64 = 512;
/// Longest extended header; a path and some attributes.
const EXTENDED_BYTES: u64 = 1 << 20;

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A link and where it leads, as written.
    Link(PathBuf),
    /// Another name of a file that came before.
    Again(PathBuf),
    Other,
}

/// One member. Its path is absolute and clean: `..` does not lead out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    /// Where its contents begin.
    pub(super) offset: u64,
}

/// Reads members one after the other.
pub(super) struct Tar<S> {
    inner: S,
    position: u64,
    /// End of the contents of the current member, and of the blocks they fill.
    end: u64,
    padded: u64,
}

/// What extended headers say of the next member.
#[derive(Default)]
struct Extended {
    path: Option<String>,
    link: Option<String>,
    bytes: Option<u64>,
}

impl<S: Stream> Tar<S> {
    pub(super) fn new(inner: S) -> Self {
        Self { inner, position: 0, end: 0, padded: 0 }
    }

    /// The next member; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Member>> {
        let mut extended = Extended::default();
        loop {
            let rest = self.padded - self.position;
            self.inner.skip(rest)?;
            self.position = self.padded;
            let Some(header) = self.header()? else { return Ok(None) };
            let bytes = number(&header[124..136]).ok_or_else(|| damaged("size"))?;
            let plain = !matches!(header[156], b'x' | b'g' | b'L' | b'K');
            self.open(extended.bytes.filter(|_| plain).unwrap_or(bytes))?;
            match header[156] {
                b'x' => extended.pax(&self.contents()?),
                b'L' => extended.path = Some(c_string(&self.contents()?)),
                b'K' => extended.link = Some(c_string(&self.contents()?)),
                b'g' => {}
                _ => return Ok(Some(self.member(&header, extended))),
            }
        }
    }

    /// Contents of the member that was returned last.
    pub(super) fn body(&mut self) -> Body<'_, S> {
        Body(self)
    }

    fn header(&mut self) -> io::Result<Option<[u8; 512]>> {
        let mut header = [0; BLOCK as usize];
        let mut filled = 0;
        while filled < header.len() {
            match self.inner.read(&mut header[filled..])? {
                0 if filled == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => filled += count,
            }
        }
        self.position += BLOCK;
        (self.end, self.padded) = (self.position, self.position);
        if header.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let blank = |at: usize| (148..156).contains(&at);
        let sum = header
            .iter()
            .enumerate()
            .map(|(at, byte)| if blank(at) { 32 } else { u64::from(*byte) });
        if number(&header[148..156]) != Some(sum.sum()) {
            return Err(damaged("checksum"));
        }
        Ok(Some(header))
    }

    fn open(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.position.checked_add(bytes);
        let padded = end.and_then(|end| end.checked_next_multiple_of(BLOCK));
        self.end = end.ok_or_else(|| damaged("size"))?;
        self.padded = padded.ok_or_else(|| damaged("size"))?;
        Ok(())
    }

    fn contents(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Body(self).take(EXTENDED_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn member(&mut self, header: &[u8; 512], extended: Extended) -> Member {
        let path = extended.path.unwrap_or_else(|| {
            let name = c_string(&header[..100]);
            let prefix = c_string(&header[345..500]);
            let posix = &header[257..263] == b"ustar\0" && !prefix.is_empty();
            if posix { format!("{prefix}/{name}") } else { name }
        });
        let link = || extended.link.clone().unwrap_or_else(|| c_string(&header[157..257]));
        let kind = match header[156] {
            // An old archive marks a folder by its name alone.
            0 | b'0' | b'7' if path.ends_with('/') => Kind::Folder,
            0 | b'0' | b'7' => Kind::File,
            b'1' => Kind::Again(inside(&link())),
            b'2' => Kind::Link(link().into()),
            b'5' => Kind::Folder,
            _ => Kind::Other,
        };
        // Only files have contents; GNU's listing of a folder is skipped like any other.
        let bytes = self.end - self.position;
        Member { path: inside(&path), kind, bytes, offset: self.position }
    }
}

/// A path below the top of the archive.
fn inside(path: &str) -> PathBuf {
    lexical(&Path::new("/").join(path.trim_start_matches('/')))
}

impl Extended {
    /// Records of a pax header: `30 path=some/where\n`, the number being the length of the record.
    fn pax(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(space) = rest.iter().position(|byte| *byte == b' ') {
            let length =
                std::str::from_utf8(&rest[..space]).ok().and_then(|text| text.parse().ok());
            let Some(record) = length.and_then(|length: usize| rest.get(space + 1..length)) else {
                return;
            };
            rest = &rest[space + 1 + record.len()..];
            let text = String::from_utf8_lossy(record);
            match text.trim_end_matches('\n').split_once('=') {
                Some(("path", value)) => self.path = Some(value.to_owned()),
                Some(("linkpath", value)) => self.link = Some(value.to_owned()),
                Some(("size", value)) => self.bytes = value.parse().ok(),
                _ => {}
            }
        }
    }
}

/// Contents of one member.
pub(super) struct Body<'a, S>(&'a mut Tar<S>);

impl<S: Stream> Read for Body<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.0.end.saturating_sub(self.0.position);
        let read = self.0.inner.by_ref().take(left).read(buffer)?;
        if read == 0 && left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.0.position += read as u64;
        Ok(read)
    }
}

/// A number in octal, or in binary where the first bit is set, as GNU writes large ones.
fn number(field: &[u8]) -> Option<u64> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let negative = first & 0x40 != 0;
        let start = u64::from(first & 0x3f);
        let add = |sum: u64, byte: &u8| sum.checked_mul(256)?.checked_add((*byte).into());
        return rest.iter().try_fold(start, add).filter(|_| !negative);
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

fn c_string(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged tar header: {what}"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    impl Stream for &[u8] {}

    fn all(bytes: &[u8]) -> io::Result<Vec<(Member, Vec<u8>)>> {
        let mut tar = Tar::new(bytes);
        let mut found = Vec::new();
        while let Some(member) = tar.next()? {
            let mut body = Vec::new();
            tar.body().read_to_end(&mut body)?;
            assert_eq!(
                bytes.get(member.offset as usize..).and_then(|rest| rest.get(..body.len())),
                Some(body.as_slice())
            );
            found.push((member, body));
        }
        Ok(found)
    }

    /// The three formats of the tar program, with a name too long for the header.
    #[test]
    fn reads_what_tar_writes_in_every_format() {
        let dir = tempfile::tempdir().expect("a folder");
        let long = "long/".repeat(40);
        std::fs::create_dir_all(dir.path().join(&long)).expect("a folder");
        std::fs::write(dir.path().join(&long).join("file"), "contents").expect("a file");
        std::fs::hard_link(dir.path().join(&long).join("file"), dir.path().join("zagain"))
            .expect("a link");
        std::os::unix::fs::symlink("../away", dir.path().join("zlink")).expect("a link");
        for format in ["gnu", "pax", "ustar"] {
            let out = Command::new("tar")
                .arg("-C")
                .arg(dir.path())
                .args(["--format", format, "--sort=name", "-cf", "-", "."])
                .output();
            let Some(out) = out.ok().filter(|out| out.status.success()) else {
                println!("SKIPPED: no GNU tar here for {format}");
                continue;
            };
            let found = all(&out.stdout).expect("is whole");
            let file = PathBuf::from(format!("/{long}file"));
            let of = |path: &Path| {
                found
                    .iter()
                    .find(|one| one.0.path == path)
                    .map(|one| (one.0.kind.clone(), one.1.clone()))
            };
            assert_eq!(of(&file), Some((Kind::File, b"contents".to_vec())), "{format}");
            assert_eq!(
                of(Path::new("/zlink")).map(|one| one.0),
                Some(Kind::Link("../away".into())),
                "{format}"
            );
            assert_eq!(
                of(Path::new("/zagain")).map(|one| one.0),
                Some(Kind::Again(file)),
                "{format}"
            );
            assert_eq!(of(Path::new("/long")).map(|one| one.0), Some(Kind::Folder), "{format}");
        }
    }

    #[test]
    fn numbers_are_read_in_both_notations() {
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\x02\0\0\0\0"), Some(8 << 30));
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(b"9"), None);
        assert_eq!(number(b"        "), Some(0));
    }

    #[test]
    fn names_do_not_lead_out_of_the_archive() {
        for (name, path) in [
            ("../../etc/passwd", "/etc/passwd"),
            ("/etc/passwd", "/etc/passwd"),
            ("./a/../b", "/b"),
            ("..", "/"),
        ] {
            assert_eq!(inside(name), Path::new(path));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(noise in proptest::collection::vec(any::<u8>(), 0..1200), kind in any::<u8>(), size in any::<u64>()) {
            let _ = all(&noise);
            let mut block = [0_u8; 512];
            for (to, from) in block.iter_mut().zip(&noise) {
                *to = *from;
            }
            block[156] = kind;
            let size = format!("{:011o}\0", size % (1 << 33));
            block[124..136].copy_from_slice(size.as_bytes());
            block[148..156].fill(b' ');
            let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            let _ = all(&[&block, noise.as_slice()].concat());
            let mut extended = Extended::default();
            extended.pax(&noise);
        }
    }
}
