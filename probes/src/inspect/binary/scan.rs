//! What a scan of one file gives, and how it is counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::contents::Format;
use super::cpu::Cpu;
use super::image::{Form, Image, Target};

/// The images of one container, each with how often it occurs there; sorted. Equal containers have equal shapes, and a library of
/// thousands of them has few.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shape(pub Vec<(Image, u32)>);

impl Shape {
    /// Whether there is no kernel in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(image, _)| image.empty)
    }
}

/// Bytes of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// As they lie in the file.
    pub stored: u64,
    /// Before they were compressed.
    pub unpacked: u64,
}

/// The device code of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// The file; inside an archive `wheel.whl!member`.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What kind of file it is.
    pub format: Format,
    /// The CPU that loads it, where its header names one that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Containers the CUDA runtime finds, by shape.
    pub executable: Vec<(Shape, u32)>,
    /// Containers left over from before linking, by shape. Nothing loads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relocatable: Vec<(Shape, u32)>,
    /// Containers kept as plain data, by shape. The library loads them itself, or does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<(Shape, u32)>,
    /// Bytes of its device code, by target.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<Target, Size>,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why it cannot be whole: its own tables lead beyond its end, or it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Of a zip archive: its members that are binaries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Scan>,
}

/// Images by target.
pub type Count = BTreeMap<Target, u32>;

/// The device code of one file in numbers: images by target, not containers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Machine code the runtime finds.
    pub cubin: Count,
    /// PTX the runtime finds.
    pub ptx: Count,
    /// Everything else the runtime finds: link-time code and unknown kinds.
    #[serde(default, skip_serializing_if = "Count::is_empty")]
    pub other: Count,
    /// What is left over from before linking.
    #[serde(default, skip_serializing_if = "Count::is_empty")]
    pub relocatable: Count,
    /// What is kept as plain data.
    #[serde(default, skip_serializing_if = "Count::is_empty")]
    pub data: Count,
    /// Containers the runtime finds.
    pub containers: u32,
    /// Those of them without a kernel, which decide nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub empty: u32,
}

impl Scan {
    /// Nothing found yet in a file.
    pub(super) fn empty(path: &Path, bytes: u64, format: Format) -> Self {
        Self {
            path: path.to_owned(),
            bytes,
            format,
            cpu: None,
            executable: Vec::new(),
            relocatable: Vec::new(),
            data: Vec::new(),
            sizes: BTreeMap::new(),
            warnings: Vec::new(),
            damage: None,
            members: Vec::new(),
        }
    }

    /// This file, or the binaries in it if it is a zip archive.
    pub fn binaries(&self) -> &[Self] {
        if self.format == Format::Zip { &self.members } else { std::slice::from_ref(self) }
    }

    /// Whether there is any device code in it, loadable or not.
    pub fn has_device_code(&self) -> bool {
        !(self.executable.is_empty() && self.relocatable.is_empty() && self.data.is_empty())
    }

    /// The images in numbers.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            relocatable: count(&self.relocatable),
            data: count(&self.data),
            containers: containers(&self.executable, |_| true),
            empty: containers(&self.executable, Shape::is_empty),
            ..Summary::default()
        };
        for (target, number) in count(&self.executable) {
            let column = match target.form {
                Form::Sm => &mut summary.cubin,
                Form::Compute => &mut summary.ptx,
                Form::Lto | Form::Other => &mut summary.other,
            };
            column.insert(target, number);
        }
        summary
    }

    /// The same scan under another path: one file can have several.
    pub(super) fn renamed(mut self, path: &Path) -> Self {
        for member in &mut self.members {
            let text = member.path.to_string_lossy().into_owned();
            let name = text
                .strip_prefix(&*self.path.to_string_lossy())
                .and_then(|rest| rest.strip_prefix('!'));
            member.path = inside(path, name.unwrap_or(&text));
        }
        path.clone_into(&mut self.path);
        self
    }
}

/// The path of a member of an archive.
pub(super) fn inside(archive: &Path, member: &str) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push("!");
    path.push(member);
    path.into()
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn containers(list: &[(Shape, u32)], wanted: fn(&Shape) -> bool) -> u32 {
    list.iter()
        .filter(|(shape, _)| wanted(shape))
        .fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

fn count(list: &[(Shape, u32)]) -> Count {
    let mut sum = Count::new();
    for (shape, containers) in list {
        for (image, each) in &shape.0 {
            let number = sum.entry(image.target()).or_default();
            *number = number.saturating_add(containers.saturating_mul(*each));
        }
    }
    sum
}
