//! `kernels/image/manifest.toml`: what was built from what, and what lies in the packs beside it. `build-kernels` writes both, the build script
//! makes a table of them. Both read the manifest through this file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Sm;

/// All images.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// What turned sources into PTX: `NVRTC 12.9.86`.
    pub compiler: String,
    /// What turned PTX into cubins: `ptxas 12.9.86`.
    pub assembler: String,
    /// By name.
    #[serde(default)]
    pub family: Vec<Family>,
}

/// The images of one source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Family {
    /// The source without `.cu`.
    pub name: String,
    /// SHA-256 of the source and of every header it includes.
    pub sources: BTreeMap<String, String>,
    /// PTX by class, then cubins by target.
    pub image: Vec<Image>,
}

impl Family {
    /// The file in `kernels/image` with all its images, one behind the other, as an LZMA2 stream.
    pub(crate) fn pack(&self) -> String {
        format!("{}.lzma2", self.name)
    }

    /// How far that stream refers back, bytes.
    pub(crate) fn dictionary(&self) -> u32 {
        let all: usize = self.image.iter().map(|image| image.bytes).sum();
        u32::try_from(all.next_multiple_of(1 << 16)).unwrap_or(u32::MAX)
    }
}

/// One image.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Image {
    /// Its name when unpacked.
    pub file: String,
    /// Whether it is PTX.
    pub kind: Kind,
    /// What it runs on.
    pub target: Sm,
    /// Class of the PTX it is, or was assembled from.
    pub class: Sm,
    /// `.version` of that PTX.
    pub isa: String,
    /// What assembles the PTX besides the assembler named above; absent for cubins.
    #[serde(default)]
    pub also_assembled_by: Vec<String>,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Its length.
    pub bytes: usize,
    /// CUDA version a driver must support to load it: `12.0`.
    pub oldest_cuda: String,
    /// Oldest Linux driver that does.
    pub oldest_driver: String,
    /// Its kernels by name.
    pub entry: BTreeMap<String, Entry>,
}

/// Kind of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Machine code.
    Cubin,
    /// PTX text.
    Ptx,
}

/// What is known of a kernel; PTX says only how many threads it may have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Most threads of a block, where the source limits them.
    pub threads: Option<u32>,
    /// What the assembler reports.
    pub usage: Option<Usage>,
}

/// What the assembler reports of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "[u32; 5]")]
pub(crate) struct Usage {
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory, bytes.
    pub shared: u32,
    /// Stack per thread, bytes.
    pub stack: u32,
    /// Bytes spilled and reloaded.
    pub spills: u32,
    /// Named barriers.
    pub barriers: u32,
}

impl From<[u32; 5]> for Usage {
    fn from([registers, shared, stack, spills, barriers]: [u32; 5]) -> Self {
        Self { registers, shared, stack, spills, barriers }
    }
}
