use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use warpscope_kernels::{DTYPES, Dtype, Sm};

use super::Catalogue;
use super::arch::{Arch, Variant, holds};

/// How a GPU computes in a number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// In the tensor core.
    TensorCore,
    /// In the CUDA cores, at a rate worth using.
    CudaCore,
    /// In hardware, far below the rate of its neighbours.
    Slow,
    /// By other instructions: converted or dequantised on the way, or taken apart.
    Emulated,
    /// It can be stored and converted; nothing computes in it.
    StorageOnly,
    /// Not at all.
    None,
    /// Nothing is known. Never read it as "yes".
    Unknown,
}

/// One row per way: the way, its id in JSON and fact files, the symbol, the ASCII symbol, the words.
pub const HOWS: &[(How, &str, &str, &str, &str)] = &[
    (How::TensorCore, "tensor_core", "●", "@", "tensor core"),
    (How::CudaCore, "cuda_core", "○", "o", "CUDA core"),
    (How::Slow, "slow", "▽", "v", "slow"),
    (How::Emulated, "emulated", "◐", "%", "emulated"),
    (How::StorageOnly, "storage_only", "◌", "_", "storage only"),
    (How::None, "none", "·", ".", "none"),
    (How::Unknown, "unknown", "?", "?", "unknown"),
];

impl How {
    fn row(self) -> &'static (How, &'static str, &'static str, &'static str, &'static str) {
        HOWS.iter().find(|row| row.0 == self).expect("every way has a row")
    }

    /// Id in JSON and fact files.
    pub fn id(self) -> &'static str {
        self.row().1
    }

    /// One-cell symbol.
    pub fn symbol(self, ascii: bool) -> &'static str {
        if ascii { self.row().3 } else { self.row().2 }
    }

    /// Words for the screen.
    pub fn words(self) -> &'static str {
        self.row().4
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// One cell of the table of number formats.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DtypeFact {
    /// How it is computed.
    pub how: How,
    /// Rate, instruction or detour, in a phrase; empty where `how` says it all.
    #[serde(default)]
    pub detail: String,
}

/// Where the column of one number format comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DtypeSource {
    /// The number format.
    pub dtype: Dtype,
    /// Documents and probes.
    pub source: String,
    /// Month they were compiled.
    pub retrieved: String,
}

/// How one GPU computes in one number format, and who says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Support {
    /// How it is computed.
    pub how: How,
    /// Rate, instruction or detour, in a phrase; empty where `how` says it all.
    pub detail: String,
    /// Where this comes from; empty when nothing is known.
    pub source: String,
    /// Month it was compiled; empty when nothing is known.
    pub retrieved: String,
}

impl Support {
    fn unknown(detail: &str) -> Self {
        let detail = detail.to_owned();
        Self { how: How::Unknown, detail, source: String::new(), retrieved: String::new() }
    }
}

const NO_ARCH: &str = "this compute capability is not in the catalogue";
const WHICH_CHIP: &str = "depends on the chip, and the PCI device id does not tell which it is";

impl Catalogue {
    /// How a device computes in every number format, in the order of [`DTYPES`].
    ///
    /// The compute capability alone does not always tell: GTX 16xx reports 7.5 without tensor
    /// cores. Where chips differ and the device id does not decide, the answer is unknown.
    pub fn dtype_support(&self, sm: Sm, pci_device_id: Option<u32>) -> Vec<(Dtype, Support)> {
        let Some(arch) = self.arch(sm) else {
            return DTYPES.iter().map(|row| (row.0, Support::unknown(NO_ARCH))).collect();
        };
        let variants: Vec<_> =
            self.variants().iter().filter(|variant| variant.of == arch.sm).collect();
        let columns = columns(arch, &variants, pci_device_id);
        DTYPES.iter().map(|row| (row.0, self.cell(row.0, &columns))).collect()
    }

    fn cell(&self, dtype: Dtype, columns: &[&BTreeMap<Dtype, DtypeFact>]) -> Support {
        let mut facts = columns.iter().map(|column| column.get(&dtype));
        let Some(Some(fact)) = facts.next() else {
            return Support::unknown("no probe and no publication covers it");
        };
        if facts.any(|other| other != Some(fact)) {
            return Support::unknown(WHICH_CHIP);
        }
        let (source, retrieved) = match self.dtype_source(dtype) {
            Some(from) => (from.source.clone(), from.retrieved.clone()),
            None => Default::default(),
        };
        Support { how: fact.how, detail: fact.detail.clone(), source, retrieved }
    }
}

/// The columns a device may stand in: one when the device id decides or there is no choice.
fn columns<'a>(
    arch: &'a Arch,
    variants: &[&'a Variant],
    pci_device_id: Option<u32>,
) -> Vec<&'a BTreeMap<Dtype, DtypeFact>> {
    let sure = pci_device_id.and_then(|id| {
        let variant = variants.iter().find(|variant| holds(&variant.pci, id));
        let usual = holds(&arch.pci, id).then_some(&arch.dtypes);
        variant.map(|variant| &variant.dtypes).or(usual)
    });
    match sure {
        Some(column) => vec![column],
        None => {
            let others = variants.iter().map(|variant| &variant.dtypes);
            std::iter::once(&arch.dtypes).chain(others).collect()
        }
    }
}
