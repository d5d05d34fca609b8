//! What runs on real GPUs.

use std::path::PathBuf;
use std::time::Duration;

use warpscope_kernels::gpu::Shape;

use super::typed::Typed;
use crate::commands::exit::CliError;
use crate::config::Id;
use crate::worker::Globs;

/// What runs on real GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Numbers and UUIDs, or [`ALL`](crate::config::ALL); empty where nothing was said.
    pub which: Vec<String>,
    /// Kernels by name.
    pub kernels: Globs,
    /// Probes by name.
    pub probes: Globs,
    /// The copy of cuBLAS to ask; those found here where none is named.
    pub cublas: Option<PathBuf>,
    /// Size at which they are timed.
    pub shape: Option<Shape>,
    /// The one way to compute them.
    pub variant: Option<String>,
    /// Whether their ways are tried to find the best.
    pub tune: bool,
    /// Whether warm and long.
    pub full: bool,
    /// Whether what kernels are to reach is measured, each beside what it is held against.
    pub goals: bool,
    /// Whether also beside others.
    pub anyway: bool,
    /// Longest silence of the process on the GPU.
    pub patience: Duration,
}

impl GpuOptions {
    pub(super) fn of(get: &Typed<'_>) -> Result<Self, CliError> {
        let shape = get.word(Id::Shape).map(|text| {
            let sizes: Option<Vec<u32>> =
                text.split(',').map(|size| size.trim().parse().ok()).collect();
            match sizes.as_deref() {
                Some(&[m, n, k]) => Ok(Shape { m, n, k, ..Shape::default() }),
                _ => Err(CliError::Usage(format!(
                    "--shape is three whole numbers, such as 16,4096,4096, and not {text:?}"
                ))),
            }
        });
        Ok(Self {
            which: get.list(Id::OnGpu),
            kernels: Globs::from(get.list(Id::Kernels).join(",").as_str()),
            probes: Globs::from(get.list(Id::OnlyProbes).join(",").as_str()),
            cublas: get.path(Id::Cublas),
            shape: shape.transpose()?,
            variant: get.word(Id::Variant),
            tune: get.switch(Id::TuneVariants),
            full: get.switch(Id::Full),
            goals: get.switch(Id::Goals),
            anyway: get.switch(Id::Anyway),
            patience: get.span(Id::Patience).unwrap_or(Duration::from_secs(60)),
        })
    }
}
