use serde::Deserialize;
use warpscope_kernels::Sm;

/// One CUDA toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Toolkit {
    /// Version: `12.4`.
    pub cuda: String,
    /// Oldest Linux driver that came with it, where known.
    pub min_driver: Option<String>,
    /// Oldest Linux driver that runs its programs under minor-version compatibility, without newer PTX.
    pub compatible_driver: String,
    /// PTX version it writes.
    pub ptx_isa: String,
    /// Targets it compiles for.
    pub targets: Vec<Sm>,
    /// What changed with it.
    #[serde(default)]
    pub note: String,
    /// Where this comes from.
    pub source: String,
    /// Month it was compiled.
    pub retrieved: String,
}

/// A driver branch that ends support for something.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverBranch {
    /// Branch: `R580`.
    pub branch: String,
    /// What it ends.
    pub note: String,
    /// Where this comes from.
    pub source: String,
    /// Month it was compiled.
    pub retrieved: String,
}
