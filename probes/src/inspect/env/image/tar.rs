//! tar as a stream: what its members are and where their contents lie.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tar::{Archive, Entry, EntryType};

use super::super::links::lexical;
use super::part::Stream;

/// Longest headers of one member, which the library takes into memory: a path and some attributes.
const HEADER_BYTES: u64 = 1 << 20;

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

/// Takes a member with its contents, and says whether to go on.
pub(super) type Give<'a> = dyn FnMut(Member, &mut dyn Read) -> io::Result<bool> + 'a;

/// Gives members one after the other.
pub(super) fn members(stream: impl Stream, give: &mut Give) -> io::Result<()> {
    let allowance = Cell::new(HEADER_BYTES);
    let mut archive = Archive::new(Metered { stream, position: 0, allowance: &allowance });
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        allowance.set(u64::MAX);
        if !give(Member::of(&entry), &mut entry)? {
            break;
        }
        allowance.set(HEADER_BYTES);
    }
    Ok(())
}

impl Member {
    fn of<R: Read>(entry: &Entry<'_, R>) -> Self {
        let path = entry.path_bytes();
        let link = || entry.link_name_bytes().map(|name| text(&name)).unwrap_or_default();
        let kind = match entry.header().entry_type() {
            // An old archive marks a folder by its name alone.
            EntryType::Regular | EntryType::Continuous if path.ends_with(b"/") => Kind::Folder,
            EntryType::Regular | EntryType::Continuous => Kind::File,
            EntryType::Link => Kind::Again(inside(&link())),
            EntryType::Symlink => Kind::Link(link().into()),
            EntryType::Directory => Kind::Folder,
            _ => Kind::Other,
        };
        let (bytes, offset) = (entry.size(), entry.raw_file_position());
        Self { path: inside(&text(&path)), kind, bytes, offset }
    }
}

/// A path below the top of the archive.
fn inside(path: &str) -> PathBuf {
    lexical(&Path::new("/").join(path.trim_start_matches('/')))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A stream that skips by seeking ahead, and of which only so much may be read.
struct Metered<'a, S> {
    stream: S,
    position: u64,
    allowance: &'a Cell<u64>,
}

impl<S: Stream> Read for Metered<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let left = self.allowance.get().checked_sub(read as u64);
        self.allowance
            .set(left.ok_or_else(|| io::Error::other("a tar header of over a megabyte"))?);
        self.position += read as u64;
        Ok(read)
    }
}

impl<S: Stream> Seek for Metered<'_, S> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Current(by) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let by = u64::try_from(by).map_err(io::Error::other)?;
        self.stream.skip(by)?;
        self.position += by;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    impl Stream for &[u8] {}

    fn all(bytes: &[u8]) -> io::Result<Vec<(Member, Vec<u8>)>> {
        let mut found = Vec::new();
        members(bytes, &mut |member, contents| {
            let mut body = Vec::new();
            contents.read_to_end(&mut body)?;
            let there = bytes.get(member.offset as usize..).and_then(|rest| rest.get(..body.len()));
            assert_eq!(there, Some(body.as_slice()));
            found.push((member, body));
            Ok(true)
        })?;
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

    /// GNU's name for the next member, as long as told and then some.
    #[test]
    fn a_header_without_end_is_not_taken_into_memory() {
        let mut block = [0_u8; 512];
        block[..13].copy_from_slice(b"././@LongLink");
        block[124..136].copy_from_slice(b"77777777777\0");
        block[156] = b'L';
        block[257..265].copy_from_slice(b"ustar  \0");
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let endless = block.chain(io::repeat(b'a'));
        let mut given = 0;
        let told = members(Endless(endless), &mut |_, _| {
            given += 1;
            Ok(true)
        });
        assert!(told.is_err_and(|error| error.to_string().contains("megabyte")));
        assert_eq!(given, 0);
    }

    struct Endless<R>(R);

    impl<R: Read> Read for Endless<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl<R: Read> Stream for Endless<R> {}

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
        }
    }
}
