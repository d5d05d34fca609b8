use super::path::Streamed;
use super::{trial, works};
use crate::Dtype;
use crate::gpu::GpuKernel;

/// A kernel that is its paths: all of them are proven, the first is timed.
pub(in crate::gpu::family) const fn kernel<S: Streamed>(
    title: &'static str,
    family: &'static str,
    dtype: Dtype,
) -> GpuKernel {
    let (cases, works, work) = (trial::cases::<S>, works::works::<S>, works::work::<S>);
    GpuKernel {
        id: S::KERNEL,
        title,
        family,
        dtype,
        route: S::route,
        cases,
        works,
        work,
        variants: S::variants,
    }
}
