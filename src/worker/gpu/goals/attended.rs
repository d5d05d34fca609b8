//! Whether attention is right at the size that is timed: all of its result against the kernel that computes in fp32 whatever the storage.

use warpscope_kernels::gpu::family::attn::attended;
use warpscope_kernels::gpu::{MachineError, Shape, Slot};

use super::super::job::On;
use super::super::operands::refused;
use super::difference::{difference, judged};

/// How far a result lies from that of the other kernel; nothing where this is no attention of many queries, or there is no memory for that. A wrong one
/// is an error.
pub(super) fn check(
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
        on.machine.run(&[launch.map_err(refused)?])?;
        difference(on.machine, [(attended.result(slots), element), (plain, element)], count)
    })
}
