//! The toolkits as NVIDIA publishes them, which tables in code are held against.

use std::sync::OnceLock;

use serde::Deserialize;
use warpscope_kernels::Sm;
use warpscope_kernels::image::{RELEASES, cuda_text};

/// CUDA toolkits, oldest first.
pub(crate) fn toolkits() -> &'static [Toolkit] {
    #[derive(Deserialize)]
    struct File {
        toolkit: Vec<Toolkit>,
    }
    static READ: OnceLock<File> = OnceLock::new();
    let text = include_str!("../../tests/toolkits.toml");
    &READ.get_or_init(|| toml::from_str(text).expect("toolkits")).toolkit
}

/// One CUDA toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toolkit {
    /// Version: `12.4`.
    pub(crate) cuda: String,
    /// Oldest Linux driver that came with it, where known.
    pub(crate) min_driver: Option<String>,
    /// Oldest Linux driver that runs its programs under minor-version compatibility, without newer PTX.
    pub(crate) compatible_driver: String,
    /// PTX version it writes.
    pub(crate) ptx_isa: String,
    /// Targets it compiles for.
    pub(crate) targets: Vec<Sm>,
    /// What changed with it.
    #[serde(default)]
    pub(crate) note: String,
    /// Where this comes from.
    pub(crate) source: String,
    /// Month it was compiled.
    pub(crate) retrieved: String,
}

#[test]
fn releases_of_the_kernels_are_these() {
    let known = RELEASES.iter().map(|one| (cuda_text(one.cuda), one.isa.to_string(), one.driver));
    let all = toolkits().iter();
    let published =
        all.map(|one| (one.cuda.clone(), one.ptx_isa.clone(), one.min_driver.as_deref()));
    assert!(known.eq(published));
}
