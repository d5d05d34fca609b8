//! Rules × facts → verdicts. Pure: names no file, process, socket or clock.

mod verdict;

pub use verdict::{Evidence, Level, OUTCOMES, Outcome, Verdict};

// TEMP until the engine is merged
use warpscope_probes::{Gpu, driver::Driver};
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub sm: Option<warpscope_kernels::Sm>,
    pub pci_device_id: Option<u32>,
    pub key: String,
}
impl Target {
    pub fn from_gpu(gpu: &Gpu, _: &Driver) -> Self {
        Self {
            sm: gpu.identity.sm.last().copied(),
            pci_device_id: gpu.identity.pci_device_id.last().copied(),
            key: gpu.key.clone(),
        }
    }
}
#[derive(Debug, Default)]
pub struct Row {
    pub framework: String,
    pub label: String,
}
#[derive(Debug, Default)]
pub struct Matrix {
    pub rows: Vec<Row>,
    pub cells: Vec<Vec<Verdict>>,
}
pub fn matrix(_: &(), _: &[Target]) -> Matrix {
    Matrix::default()
}
