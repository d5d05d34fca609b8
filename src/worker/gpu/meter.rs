//! How long a device was kept busy: the time kernels are waited for, which is what others would have waited, too.

use std::time::{Duration, Instant};

use warpscope_kernels::cuda::{CudaMachine, ImageUse};
use warpscope_kernels::gpu::{
    BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Sampled, Slot,
};

use super::session::DeviceSession;

/// A machine whose work is timed on the wall: a little more than the device's own time, never less.
pub(super) struct Metered<'a> {
    pub(super) machine: &'a mut dyn DeviceSession,
    /// What it says of itself: the device, with the variants chosen for it.
    pub(super) facts: &'a DeviceFacts,
    pub(super) busy: &'a mut Duration,
}

impl Metered<'_> {
    fn timed<T>(&mut self, work: impl FnOnce(&mut dyn DeviceSession) -> T) -> T {
        let begin = Instant::now();
        let done = work(self.machine);
        *self.busy += begin.elapsed();
        done
    }
}

impl Machine for Metered<'_> {
    fn facts(&self) -> &DeviceFacts {
        self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        self.machine.allocate(bytes)
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        self.machine.free(buffer)
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        self.machine.write(to, bytes)
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        self.machine.read(from, bytes)
    }

    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        self.timed(|machine| machine.run(launches))
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        self.machine.record(launches)
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        self.machine.forget(graph)
    }

    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError> {
        self.timed(|machine| machine.replay(graph, times))
    }

    fn sample(&mut self, graph: GraphId) -> Result<Option<Sampled>, MachineError> {
        self.timed(|machine| machine.sample(graph))
    }

    fn sample_parts(&mut self, graphs: &[GraphId]) -> Result<Option<Sampled>, MachineError> {
        self.timed(|machine| machine.sample_parts(graphs))
    }
}

impl DeviceSession for Metered<'_> {
    fn pool(&self) -> (u64, u64) {
        self.machine.pool()
    }

    fn set_cap(&mut self, arena_bytes: u64) {
        self.machine.set_cap(arena_bytes);
    }

    fn images(&self) -> Vec<ImageUse> {
        self.machine.images()
    }

    fn ended(&self) -> Option<&MachineError> {
        self.machine.ended()
    }

    fn cuda(&mut self) -> Option<&mut CudaMachine> {
        self.machine.cuda()
    }
}
