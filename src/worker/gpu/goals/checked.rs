//! Whether a kernel is right at the size that is timed: all of its result against that of a kernel that computes more exactly.

use warpscope_kernels::gpu::family::attn::attended;
use warpscope_kernels::gpu::{Element, MachineError, Shape, Slot, recomputed};

use super::super::job::On;
use super::difference::{difference, judged};

/// How far a result lies from the exact one; nothing where no kernel computes that, or there is no memory for it. A wrong one is an error.
pub(super) fn check(
    on: &mut On<'_>,
    kernel: &str,
    shape: Shape,
    slots: &[Slot],
) -> Result<Option<f64>, MachineError> {
    match attention(on, kernel, shape, slots)? {
        None => stream(on, kernel, shape, slots),
        apart => Ok(apart),
    }
}

/// Attention of many queries against fp32 arithmetic whatever the storage.
fn attention(
    on: &mut On<'_>,
    kernel: &str,
    shape: Shape,
    slots: &[Slot],
) -> Result<Option<f64>, MachineError> {
    let Some(attended) = attended(kernel) else { return Ok(None) };
    judged(on, attended.limit(), "attention in fp32 arithmetic", |on, taken| {
        let (count, element) = (attended.count(shape), attended.element);
        let plain = taken.allocate(on.machine, count * element.bytes() as u64)?;
        let launch = attended.launch(on.machine.facts(), shape, slots, plain);
        on.machine.run(&[launch.map_err(MachineError::refused)?])?;
        difference(on.machine, [(attended.result(slots), element), (plain, element)], count)
    })
}

/// A stream of weights against the same product in fp64.
fn stream(
    on: &mut On<'_>,
    kernel: &str,
    shape: Shape,
    slots: &[Slot],
) -> Result<Option<f64>, MachineError> {
    let Some(product) = recomputed(kernel) else { return Ok(None) };
    judged(on, product.limit(), "the product in fp64", |on, taken| {
        let count = u64::from(shape.m) * u64::from(shape.n);
        let dense = taken.allocate(on.machine, product.dense_bytes(shape))?;
        let exact = taken.allocate(on.machine, count * Element::F64.bytes() as u64)?;
        let launches = product.launches(on.machine.facts(), shape, slots, [dense, exact]);
        on.machine.run(&launches.map_err(MachineError::refused)?)?;
        // Of a stream the second buffer is the result.
        difference(on.machine, [(slots[1], product.output()), (exact, Element::F64)], count)
    })
}
