//! What a run takes from a machine, so that all of it is given back whatever happens.

use crate::gpu::{BufferId, GraphId, Launch, Machine, MachineError, Slot};

/// Buffers and graphs that are held.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) buffers: Vec<BufferId>,
    graphs: Vec<GraphId>,
    /// Bytes of the buffers.
    pub(super) bytes: u64,
}

impl Memory {
    /// Takes memory.
    pub(super) fn take(
        &mut self,
        machine: &mut dyn Machine,
        bytes: u64,
    ) -> Result<Slot, MachineError> {
        let buffer = machine.allocate(bytes)?;
        self.buffers.push(buffer);
        self.bytes += bytes;
        Ok(buffer.into())
    }

    /// Records a graph.
    pub(super) fn record(
        &mut self,
        machine: &mut dyn Machine,
        launches: &[Launch],
    ) -> Result<GraphId, MachineError> {
        let graph = machine.record(launches)?;
        self.graphs.push(graph);
        Ok(graph)
    }

    /// Gives a recording back before the rest.
    pub(super) fn forget(
        &mut self,
        machine: &mut dyn Machine,
        graph: GraphId,
    ) -> Result<(), MachineError> {
        self.graphs.retain(|one| *one != graph);
        machine.forget(graph)
    }

    /// Gives everything back; the first error counts, and stops nothing.
    pub(super) fn release(self, machine: &mut dyn Machine) -> Result<(), MachineError> {
        let mut result = Ok(());
        for graph in self.graphs {
            result = result.and(machine.forget(graph));
        }
        for buffer in self.buffers {
            result = result.and(machine.free(buffer));
        }
        result
    }
}

/// Keeps what was done if all went well, else gives everything back and says what went wrong.
pub(super) fn keep<T>(
    machine: &mut dyn Machine,
    work: impl FnOnce(&mut dyn Machine, &mut Memory) -> Result<T, MachineError>,
) -> Result<(T, Memory), MachineError> {
    let mut memory = Memory::default();
    match work(machine, &mut memory) {
        Ok(done) => Ok((done, memory)),
        Err(error) => {
            // What went wrong first says more than what giving back then runs into.
            memory.release(machine).ok();
            Err(error)
        }
    }
}
