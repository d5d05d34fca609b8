//! Where an image lies: a folder in OCI's layout, or a tar file of `docker save` or of that layout.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::links::lexical;
use super::super::progress::Progress;
use super::ImageError;
use super::gzip::Gunzip;
use super::part::{Part, Stream};
use super::tar::{self, Kind};
use crate::bounded;

/// Members of the outer archive: three for each layer and some more.
const MOST_MEMBERS: usize = 1 << 16;

/// Opens the files an image is made of, by the path they have in it.
pub(super) enum Store {
    Folder(PathBuf),
    Archive { file: PathBuf, members: HashMap<PathBuf, Place> },
}

/// Where a member is.
pub(super) enum Place {
    At { offset: u64, bytes: u64 },
    Link(PathBuf),
}

impl Store {
    /// Looks at what is there; an archive is listed, which reads its headers only.
    pub(super) fn open(path: &Path, progress: &mut Progress<'_>) -> Result<Self, ImageError> {
        let io = |error| ImageError::Io(path.to_owned(), error);
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        let mut magic = Vec::new();
        bounded::open(path).map_err(io)?.take(4).read_to_end(&mut magic).map_err(io)?;
        if let Some(packed) = Packing::of(&magic) {
            return Err(ImageError::Packed(path.to_owned(), packed));
        }
        let file = bounded::open(path).map_err(io)?;
        let mut members = HashMap::new();
        let listed = tar::members(Part::whole(file).map_err(io)?, &mut |member, _| {
            let place = match member.kind {
                Kind::File => Place::At { offset: member.offset, bytes: member.bytes },
                Kind::Link(target) => Place::Link(lexical(
                    &member.path.parent().unwrap_or(Path::new("/")).join(target),
                )),
                _ => return Ok(true),
            };
            members.insert(member.path, place);
            Ok(members.len() < MOST_MEMBERS && !progress.cancelled())
        });
        listed.map_err(io)?;
        Ok(Self::Archive { file: path.to_owned(), members })
    }

    /// One file of the image as a stream.
    pub(super) fn part(&self, name: &str) -> io::Result<Part> {
        let inside = lexical(&Path::new("/").join(name.trim_start_matches('/')));
        match self {
            Self::Folder(root) => {
                let path = root.join(inside.strip_prefix("/").unwrap_or(&inside));
                Part::whole(bounded::open(&path)?)
            }
            Self::Archive { file, members } => {
                let found = match members.get(&inside) {
                    Some(Place::Link(target)) => members.get(target),
                    found => found,
                };
                let Some(Place::At { offset, bytes }) = found else {
                    return Err(io::ErrorKind::NotFound.into());
                };
                Part::new(bounded::open(file)?, *offset, *bytes)
            }
        }
    }

    /// A small file of the image; `None` where there is none, or it is longer than `most`.
    pub(super) fn bytes(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.part(name).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
        (read as u64 <= most).then_some(bytes)
    }

    /// A layer, unpacked as it is read.
    pub(super) fn layer(&self, name: &str) -> io::Result<Box<dyn Stream>> {
        let mut magic = Vec::new();
        self.part(name)?.take(4).read_to_end(&mut magic)?;
        let part = self.part(name)?;
        match Packing::of(&magic) {
            None => Ok(Box::new(part)),
            Some(Packing::Gzip) => Ok(Box::new(Gunzip::new(part))),
            Some(packed) => {
                let why = format!(
                    "the layer is packed with {packed}, which is not read; save the image with gzip or unpacked"
                );
                Err(io::Error::new(io::ErrorKind::Unsupported, why))
            }
        }
    }
}

/// How a stream is packed, told by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
    /// bzip2.
    Bzip2,
}

impl Packing {
    fn of(magic: &[u8]) -> Option<Self> {
        const MAGICS: &[(&[u8], Packing)] = &[
            (&[0x1f, 0x8b], Packing::Gzip),
            (&[0x28, 0xb5, 0x2f, 0xfd], Packing::Zstd),
            (&[0xfd, b'7', b'z', b'X'], Packing::Xz),
            (b"BZh", Packing::Bzip2),
        ];
        MAGICS.iter().find(|row| magic.starts_with(row.0)).map(|row| row.1)
    }
}

impl std::fmt::Display for Packing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        })
    }
}
