use std::fmt;
use std::io::{self, Read};

use lzma_rust2::Lzma2Reader;

use super::class::class_of;
use super::driver::Isa;
use crate::{Sm, Suffix};

/// What an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Machine code.
    Cubin,
    /// PTX text, which the driver compiles.
    Ptx,
}

/// A kernel inside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name to ask the driver for.
    pub name: &'static str,
    /// What it takes as machine code; `None` in PTX, where the driver decides.
    pub usage: Option<Usage>,
}

impl Entry {
    /// A line: its name, and the numbers of [`Usage`] where there are any.
    fn read(line: &'static str) -> Self {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let numbers: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
        let usage = match numbers[..] {
            [registers, shared_bytes, stack_bytes, barriers] => {
                Some(Usage { registers, shared_bytes, stack_bytes, barriers })
            }
            _ => None,
        };
        Self { name, usage }
    }
}

/// What a kernel takes of a multiprocessor, as the assembler reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory per block, bytes.
    pub shared_bytes: u32,
    /// Stack per thread, bytes.
    pub stack_bytes: u32,
    /// Named barriers per block.
    pub barriers: u32,
}

/// An image built into the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// Its source without `.cu`.
    pub family: &'static str,
    /// Machine code or PTX.
    pub kind: ImageKind,
    /// What it runs on: `sm_86` machine code; `sm_80` for PTX of compute_80.
    pub target: Sm,
    /// The class of PTX it is, or was assembled from.
    pub class: Sm,
    /// `.version` of that PTX.
    pub isa: Isa,
    /// SHA-256 of the bytes.
    pub sha256: &'static str,
    /// Oldest CUDA version a driver must support to load it: `12000`.
    pub oldest_cuda: u32,
    /// Oldest Linux driver that does.
    pub oldest_driver: &'static str,
    /// Its kernels, by name, as lines for [`Image::entries`]. A table of them would be pointers, which the loader of a
    /// program writes anew at every start.
    pub kernels: &'static str,
    /// Bytes unpacked.
    pub size: usize,
    /// What it is packed in.
    pub pack: &'static Pack,
    /// Bytes of the images in front of it there.
    pub start: usize,
}

/// The images of a family one behind the other, as LZMA2.
#[derive(Debug, PartialEq, Eq)]
pub struct Pack {
    /// The stream.
    pub packed: &'static [u8],
    /// How far it refers back, bytes.
    pub dictionary: u32,
}

impl Pack {
    /// So many bytes behind so many others.
    fn unpack(&self, start: usize, size: usize) -> io::Result<Vec<u8>> {
        let mut reader = Lzma2Reader::new(self.packed, self.dictionary, None);
        io::copy(&mut (&mut reader).take(start as u64), &mut io::sink())?;
        let mut bytes = vec![0; size];
        reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

impl Image {
    /// The image itself.
    ///
    /// # Panics
    /// Never: a test unpacks every image, and they do not change after the build.
    pub fn bytes(&self) -> Vec<u8> {
        self.pack.unpack(self.start, self.size).expect("build-kernels packed it")
    }

    /// The text of PTX; `None` of machine code.
    pub fn text(&self) -> Option<String> {
        let is_text = self.kind == ImageKind::Ptx;
        is_text.then(|| String::from_utf8_lossy(&self.bytes()).into_owned())
    }

    /// Its kernels, by name.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + use<> {
        self.kernels.lines().map(Entry::read)
    }

    /// A kernel by its name.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        self.entries().find(|entry| entry.name == name)
    }

    /// The PTX it is, or was assembled from.
    pub fn source(&self) -> Option<&'static Image> {
        ptx(self.family, self.class)
    }
}

/// `cubin sm_86`, `PTX compute_80`.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target.to_string();
        match self.kind {
            ImageKind::Cubin => write!(f, "cubin {target}"),
            ImageKind::Ptx => write!(f, "PTX {}", target.replace("sm_", "compute_")),
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self} ({} bytes)", self.family, self.size)
    }
}

include!(concat!(env!("OUT_DIR"), "/images.rs"));

/// Every image, family by family.
pub fn images() -> &'static [Image] {
    IMAGES
}

/// The PTX of a family for a class.
pub fn ptx(family: &str, class: Sm) -> Option<&'static Image> {
    let is_it = |image: &&Image| (image.family, image.target) == (family, class);
    IMAGES.iter().filter(|image| image.kind == ImageKind::Ptx).find(is_it)
}

/// The newest generic PTX of a family that a device can run, whatever its driver; of a family that has none, that of the device's architecture alone.
pub fn ptx_for(family: &str, device: Sm) -> Option<&'static Image> {
    let generic = |image: &&Image| image.kind == ImageKind::Ptx && image.family == family;
    let classes = IMAGES.iter().filter(generic).map(|image| image.target);
    let (classes, own): (Vec<Sm>, Vec<Sm>) =
        classes.partition(|class| class.suffix == Suffix::None);
    let same = |class: &&Sm| (class.major, class.minor) == (device.major, device.minor);
    match classes.is_empty() {
        true => ptx(family, *own.iter().find(same)?),
        false => ptx(family, class_of(device, &classes)?),
    }
}

/// The image of a digest, in lower-case hexadecimal.
pub fn by_sha256(sha256: &str) -> Option<&'static Image> {
    IMAGES.iter().find(|image| image.sha256 == sha256)
}

/// The image these bytes are. A driver that was handed PTX may have been given a zero byte behind it.
pub fn by_bytes(bytes: &[u8]) -> Option<&'static Image> {
    let bytes =
        bytes.strip_suffix(&[0]).filter(|_| !bytes.starts_with(b"\x7fELF")).unwrap_or(bytes);
    IMAGES.iter().filter(|image| image.size == bytes.len()).find(|image| image.bytes() == bytes)
}
