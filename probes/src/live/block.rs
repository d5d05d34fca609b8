//! One block on buffers of its own.

use warpscope_kernels::gpu::{BufferId, Launch, Machine, MachineError, Slot};

/// A launch of one block, whose buffers come when it runs.
pub(super) fn block(family: &'static str, entry: &'static str, threads: u32) -> Launch {
    let (grid, block) = ([1; 3], [threads, 1, 1]);
    Launch { family, entry, grid, block, shared_bytes: 0, args: Vec::new(), early: false }
}

/// Runs a launch on buffers that hold this at first, its first arguments; what the last of them holds then.
pub(super) fn run(
    machine: &mut dyn Machine,
    launch: Launch,
    content: &[&[u8]],
) -> Result<Vec<u8>, MachineError> {
    let mut held: Vec<BufferId> = Vec::new();
    let result = (|| {
        for bytes in content {
            held.push(machine.allocate(bytes.len() as u64)?);
        }
        let slots: Vec<Slot> = held.iter().map(|buffer| (*buffer).into()).collect();
        for (slot, bytes) in slots.iter().zip(content) {
            machine.write(*slot, bytes)?;
        }
        let args = slots.iter().map(|slot| (*slot).into()).chain(launch.args).collect();
        machine.run(&[Launch { args, ..launch }])?;
        let mut back = content.last().map_or_else(Vec::new, |bytes| bytes.to_vec());
        slots.last().map_or(Ok(()), |last| machine.read(*last, &mut back))?;
        Ok(back)
    })();
    let given = held.into_iter().try_for_each(|buffer| machine.free(buffer));
    result.and_then(|back| given.map(|()| back))
}
