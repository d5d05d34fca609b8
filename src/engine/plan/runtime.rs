//! What lies on a GPU beside weights, cache and work space: graphs, the CUDA context, libraries.

use super::batch::{Batch, is_v0};
use super::demand::Demand;
use super::device::Device;
use super::estimate::{Estimate, Range};
use super::framework::{Family, Release};

/// Releases of vLLM that capture all 67 sizes, however few sequences there may be (`config.py@v0.8.5:_set_cudagraph_sizes`; up to twice
/// their number since).
const ALL_SIZES: std::ops::Range<Release> = (0, 8, 0)..(0, 10, 0);

/// CUDA graphs. vLLM 0.19 logged 0.5 to 1.9 GiB for 35 to 67 batch sizes.
pub(super) fn graphs(demand: &Demand, family: Family, device: &Device, batch: Batch) -> Estimate {
    let all = !is_v0(demand, device)
        && demand.release.is_some_and(|release| ALL_SIZES.contains(&release));
    let few = match batch.sequences {
        _ if all => Range::gib(0.5, 1.0, 1.9),
        257.0.. => Range::gib(0.5, 1.0, 1.9),
        16.5.. => Range::gib(0.1, 0.5, 1.2),
        _ => Range::gib(0.05, 0.15, 0.5),
    };
    match family {
        _ if demand.tuning.eager => Estimate::rule(Range::default()),
        Family::Vllm => Estimate::rule(few),
        Family::TensorRtLlm => Estimate::guess(Range::gib(0.1, 0.4, 1.0)),
        Family::Tgi => Estimate::guess(Range::gib(0.2, 0.6, 1.2)),
        // Within what SGLang reserves; the others use none, or few.
        _ => Estimate::rule(Range::default()),
    }
}

/// What PyTorch's allocator does not count: collectives and work space of libraries, as vLLM logs it ("non-torch").
pub(super) fn libraries(demand: &Demand, family: Family, device: &Device) -> Estimate {
    let range = match (demand.parallel.tp, family) {
        (1, Family::Vllm) if demand.parallel.pp > 1 => Range::gib(0.02, 0.07, 0.4),
        (1, Family::Vllm) => Range::gib(0.05, 0.25, 0.5),
        (1, _) => Range::gib(0.0, 0.1, 0.3),
        // NVLink switches and symmetric memory: 2.07 to 2.13 GiB on H100. Boards over PCIe hold NCCL's channels only.
        _ if device.nvlink && device.at_least(9, 0) => Range::gib(0.6, 2.1, 2.25),
        _ => Range::gib(0.2, 0.6, 1.3),
    };
    Estimate::rule(range)
}

/// The CUDA context with loaded kernels. 0.51 GiB on an H100 before weights, 1.53 once NCCL is up; 256 MiB on a 3090 with lazy loading.
pub(super) fn context(demand: &Demand, device: &Device) -> Estimate {
    let range = match (demand.parallel.gpus(), device.at_least(9, 0)) {
        (1, true) => Range::gib(0.4, 0.51, 0.8),
        (1, false) => Range::gib(0.2, 0.35, 0.7),
        (_, true) => Range::gib(0.6, 1.53, 2.0),
        (_, false) => Range::gib(0.3, 0.6, 1.2),
    };
    Estimate::rule(range)
}
