use std::collections::BTreeMap;

use serde::Deserialize;
use warpscope_kernels::{Dtype, Sm};

use super::part::PciId;
use super::peaks::Peaks;
use super::support::DtypeFact;

/// What one SM offers to the blocks on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Shared memory of an SM, KiB.
    pub shared_memory_per_sm_kib: u32,
    /// Most shared memory one block may ask for, KiB.
    pub shared_memory_per_block_kib: u32,
    /// Most shared memory one block may declare without asking, KiB.
    pub shared_memory_static_kib: u32,
    /// 32-bit registers of an SM.
    pub registers_per_sm: u32,
    /// 32-bit registers one block may use.
    pub registers_per_block: u32,
    /// Warps resident on an SM.
    pub warps_per_sm: u32,
    /// Threads resident on an SM.
    pub threads_per_sm: u32,
    /// Blocks resident on an SM.
    pub blocks_per_sm: u32,
}

/// First and last of a range of device ids.
pub type PciRange = (PciId, PciId);

/// One compute capability.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arch {
    /// Compute capability.
    pub sm: Sm,
    /// Architecture in one word: `Blackwell`.
    pub family: String,
    /// Name that tells it from others of its family: `Blackwell (RTX)`.
    pub name: String,
    /// Year of the first product.
    pub year: Option<u32>,
    /// Chips that report it.
    pub chips: Vec<String>,
    /// Device ids of those chips; only where a [`Variant`] shares the compute capability.
    #[serde(default)]
    pub pci: Vec<PciRange>,
    /// Products, in a phrase.
    pub products: String,
    /// What an SM offers.
    pub limits: Limits,
    /// Throughput per clock and SM: results on CUDA cores, multiply-adds on tensor cores. Empty where unpublished.
    #[serde(default)]
    pub rates: Peaks,
    /// What replaces a rate on products of [`super::TensorRate::Half`].
    #[serde(default)]
    pub half_rate: Peaks,
    /// Generation of tensor cores; absent without any.
    pub tensor_generation: Option<u32>,
    /// Tensor cores of an SM.
    pub tensor_cores_per_sm: Option<u32>,
    /// Oldest PTX version that can name it.
    pub first_ptx_isa: String,
    /// First CUDA toolkit that compiles for it.
    pub first_toolkit: String,
    /// Last one; absent while it is still supported.
    pub last_toolkit: Option<String>,
    /// First driver branch, where known.
    pub first_driver: Option<String>,
    /// Last driver branch; absent while it is still supported.
    pub last_driver: Option<String>,
    /// Targets with features code for the plain one cannot use.
    #[serde(default)]
    pub specific_targets: Vec<Sm>,
    /// Where this comes from.
    pub source: String,
    /// Month it was compiled.
    pub retrieved: String,
    /// What else to know.
    #[serde(default)]
    pub note: String,
    /// How each number format is computed; empty where nothing is known.
    #[serde(default)]
    pub dtypes: BTreeMap<Dtype, DtypeFact>,
}

/// Chips that report the compute capability of others and can do less.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Compute capability it reports.
    pub of: Sm,
    /// What it is.
    pub name: String,
    /// Chips it is.
    pub chips: Vec<String>,
    /// Device ids it is known by.
    pub pci: Vec<PciRange>,
    /// Where this comes from.
    pub source: String,
    /// Month it was compiled.
    pub retrieved: String,
    /// What else to know.
    #[serde(default)]
    pub note: String,
    /// How each number format is computed.
    pub dtypes: BTreeMap<Dtype, DtypeFact>,
}

/// Whether any of `ranges` holds the id.
pub(super) fn holds(ranges: &[PciRange], id: u32) -> bool {
    ranges.iter().any(|(first, last)| (first.0..=last.0).contains(&id))
}
