//! Whether a kernel that streams weights is right at the size that is timed: all of its result against the same product in fp64.

use warpscope_kernels::gpu::{Element, MachineError, Recomputed, Shape, Slot, recomputed};

use super::super::job::On;
use super::super::operands::refused;
use super::arm::Taken;
use super::difference::{difference, judged};

/// How far a result lies from the product in fp64; nothing where the kernel is no stream, or there is no memory for that. A wrong one is an error.
pub(super) fn check(
    on: &mut On<'_>,
    kernel: &str,
    shape: Shape,
    slots: &[Slot],
) -> Result<Option<f64>, MachineError> {
    let Some(product) = recomputed(kernel) else { return Ok(None) };
    judged(on, product.limit(), "the product in fp64", |on, taken| {
        distance(on, taken, product, (shape, slots))
    })
}

fn distance(
    on: &mut On<'_>,
    taken: &mut Taken,
    product: Recomputed,
    (shape, slots): (Shape, &[Slot]),
) -> Result<f64, MachineError> {
    let count = u64::from(shape.m) * u64::from(shape.n);
    let dense = taken.allocate(on.machine, product.dense_bytes(shape))?;
    let exact = taken.allocate(on.machine, count * Element::F64.bytes() as u64)?;
    let launches = product.launches(on.machine.facts(), shape, slots, [dense, exact]);
    on.machine.run(&launches.map_err(refused)?)?;
    // Of a stream the second buffer is the result.
    difference(on.machine, [(slots[1], product.output()), (exact, Element::F64)], count)
}
