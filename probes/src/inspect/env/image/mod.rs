//! Container images lying as files: a tar of `docker save`, or the OCI layout as a folder or tar. Their layers are read in place.
//!
//! Nothing is unpacked to disk. A first pass keeps what tells of environments in a [`Tree`], whiteouts applied, which the same finders
//! then walk as they walk a disk; a second pass streams chosen files, for the scanner of binaries.

mod gzip;
mod keep;
mod manifest;
mod part;
mod store;
mod tar;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

pub use store::Packing;

use self::tar::{Kind, Member};
use super::disk::Disk;
use super::inventory::{Inventory, Unreadable};
use super::metadata::is_library;
use super::places::Places;
use super::progress::Progress;
use super::sweep;
use super::tree::{Node, Tree};
use crate::text::printable;
use manifest::Described;
use store::Store;

/// Entries kept of one image, and bytes of their contents.
const MOST_ENTRIES: usize = 1 << 19;
const MOST_BYTES: usize = 128 << 20;

/// An image and what is installed in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// Its name and tag, where recorded.
    pub name: Option<String>,
    /// Processor it is for: `amd64`.
    pub architecture: Option<String>,
    /// Environment variables a container of it starts with.
    pub vars: BTreeMap<String, String>,
    /// Its layers from the lowest up, by their path in the archive.
    pub layers: Vec<String>,
    /// What is installed in it; the paths are those inside.
    pub inventory: Inventory,
    /// Binaries in it that no later layer hides.
    pub files: Vec<ImageFile>,
}

/// One binary in an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ImageFile {
    /// Position in [`Image::layers`].
    pub layer: usize,
    /// Path inside.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Where its contents begin in the unpacked layer. A path may stand there several times; the last one counts.
    pub offset: u64,
}

/// Why an image cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file of it cannot be read.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// The whole archive is packed, so that nothing in it can be found without unpacking all of it.
    #[error("{0} is packed with {1} as a whole; unpack it first (its layers may stay packed)")]
    Packed(PathBuf, Packing),
    /// Neither `manifest.json` nor `index.json` describe it.
    #[error(
        "{0} is no container image: it has neither manifest.json nor index.json; write one with: docker save -o image.tar NAME"
    )]
    NoImage(PathBuf),
}

/// Reads what is installed in an image.
///
/// # Errors
/// When the file is no image or is damaged; a layer that cannot be read is only named in the inventory.
pub fn read_image(path: &Path, progress: &mut Progress<'_>) -> Result<Image, ImageError> {
    progress.at(path);
    let store = Store::open(path, progress)?;
    let described =
        manifest::describe(&store).ok_or_else(|| ImageError::NoImage(path.to_owned()))?;
    if described.others > 0 {
        let reason =
            format!("holds {} more images; only the first that fits is read", described.others);
        progress.unreadable(path, &reason);
    }
    let mut layers = Layers::default();
    for (number, name) in described.layers.iter().enumerate() {
        progress.at(&path.join(name));
        if let Err(error) = layers.add(&store, number, name, progress) {
            progress.unreadable(&path.join(name), &error.to_string());
        }
    }
    Ok(image(described, layers.tree, progress))
}

fn image(described: Described, tree: Tree, progress: &mut Progress<'_>) -> Image {
    let binary = |(path, node): (&PathBuf, &Node)| match node {
        Node::File { bytes, layer, offset, .. } if path.to_str().is_some_and(is_library) => {
            Some(ImageFile { layer: *layer, path: path.clone(), bytes: *bytes, offset: *offset })
        }
        _ => None,
    };
    let files = tree.iter().filter_map(binary).collect();
    let places = Places {
        home: Some("/root".into()),
        working: described.working.map(PathBuf::from),
        vars: described.vars.clone(),
        ..Places::at("/".into())
    };
    let inventory = sweep::on(&Disk::Image(Rc::new(tree)), &places, &[], false, progress);
    let Described { name, architecture, vars, layers, .. } = described;
    Image { name, architecture, vars, layers, inventory, files }
}

/// Streams files of an image to `each`, in the order they lie in it; of several names of one file, one. Gives the layers that could not be
/// read to their end.
///
/// # Errors
/// When the image cannot be read.
pub fn stream_image(
    path: &Path,
    image: &Image,
    wanted: &[ImageFile],
    each: &mut dyn FnMut(&ImageFile, &mut dyn Read),
    progress: &mut Progress<'_>,
) -> Result<Vec<Unreadable>, ImageError> {
    let store = Store::open(path, progress)?;
    let mut unreadable = Vec::new();
    for (number, name) in image.layers.iter().enumerate() {
        let wanted: HashMap<u64, &ImageFile> = wanted
            .iter()
            .filter(|file| file.layer == number)
            .map(|file| (file.offset, file))
            .collect();
        if wanted.is_empty() || progress.cancelled() {
            continue;
        }
        progress.at(&path.join(name));
        let read = store.layer(name).and_then(|layer| {
            tar::members(layer, &mut |member, contents| {
                if progress.cancelled() {
                    return Ok(false);
                }
                let file = wanted.get(&member.offset).filter(|_| member.kind == Kind::File);
                if let Some(file) = file {
                    progress.read(member.bytes);
                    each(file, contents);
                }
                Ok(true)
            })
        });
        if let Err(error) = read {
            let (path, reason) = (path.join(name), printable(&error.to_string()));
            unreadable.push(Unreadable { path, reason });
        }
    }
    Ok(unreadable)
}

/// Layers laid one over the other.
#[derive(Default)]
struct Layers {
    tree: Tree,
    bytes: usize,
}

/// What one layer changes; applied when all of it is read, since a layer hides only what lies below it.
#[derive(Default)]
struct Changes {
    /// Paths that are gone, and folders whose contents are.
    gone: Vec<PathBuf>,
    emptied: Vec<PathBuf>,
    put: BTreeMap<PathBuf, Node>,
}

impl Layers {
    fn add(
        &mut self,
        store: &Store,
        number: usize,
        name: &str,
        progress: &mut Progress<'_>,
    ) -> io::Result<()> {
        let layer = store.layer(name)?;
        let mut changes = Changes::default();
        let read = tar::members(layer, &mut |member, contents| {
            self.read(member, contents, number, &mut changes, progress)
        });
        // A layer that breaks off has still said something.
        changes.emptied.iter().for_each(|path| self.tree.remove_below(path));
        changes.gone.iter().for_each(|path| self.tree.remove(path));
        for (path, node) in changes.put {
            self.tree.put(&path, node);
        }
        read
    }

    /// Takes one member of a layer; `false` when nothing more is wanted.
    fn read(
        &mut self,
        member: Member,
        contents: &mut dyn Read,
        layer: usize,
        changes: &mut Changes,
        progress: &mut Progress<'_>,
    ) -> io::Result<bool> {
        if progress.cancelled() {
            return Ok(false);
        }
        if self.tree.len() + changes.put.len() >= MOST_ENTRIES || self.bytes >= MOST_BYTES {
            return Err(io::Error::other(
                "the image has more files than are kept; the rest was not looked at",
            ));
        }
        if changes.whiteout(&member.path) {
            return Ok(true);
        }
        let Some(keep) = keep::of(&member.path) else {
            if let Kind::Link(target) = member.kind {
                changes.put.insert(member.path, Node::Link(target));
            }
            return Ok(true);
        };
        let node = match member.kind {
            Kind::File => {
                let contents = keep.read(contents)?;
                let kept = contents.as_ref().map_or(0, Vec::len);
                self.bytes += kept;
                progress.read(kept as u64);
                let contents = contents.map(Rc::from);
                Node::File { bytes: member.bytes, contents, layer, offset: member.offset }
            }
            Kind::Link(target) => Node::Link(target),
            Kind::Again(target) => {
                let known = changes.put.get(&target).or_else(|| self.tree.get(&target));
                let Some(node) = known else { return Ok(true) };
                node.clone()
            }
            Kind::Folder | Kind::Other => return Ok(true),
        };
        changes.put.insert(member.path, node);
        Ok(true)
    }
}

impl Changes {
    /// Notes a whiteout of the OCI layer format: `.wh.NAME` takes a name away, `.wh..wh..opq` all that a folder had.
    fn whiteout(&mut self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let (Some(hidden), Some(folder)) = (name.strip_prefix(".wh."), path.parent()) else {
            return false;
        };
        match hidden {
            ".wh..opq" => self.emptied.push(folder.to_owned()),
            hidden => self.gone.push(folder.join(hidden)),
        }
        true
    }
}
