//! A machine for tests: it keeps bytes and graphs. What a launch does, and how long it takes, a test says.

use std::collections::BTreeMap;

use warpscope_kernels::Sm;
use warpscope_kernels::cuda::{CudaMachine, ImageUse};
use warpscope_kernels::gpu::{
    BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Sampled, Slot,
    TunedConfigs,
};

use super::session::DeviceSession;

/// What a fake does with what it is given.
pub(super) trait Manner {
    /// Does what a launch does.
    fn run(&mut self, memory: &mut Memory, launch: &Launch) -> Result<(), MachineError>;

    /// How long one replay of a graph takes.
    fn time(&mut self, graph: &[Launch]) -> Nanoseconds;

    /// The clock of what was timed last, MHz.
    fn mhz(&self) -> Option<f64> {
        None
    }

    /// Hears how much is held now.
    fn hold(&mut self, _bytes: u64) {}

    /// What ended the context, if something did.
    fn ended(&self) -> Option<&MachineError> {
        None
    }
}

/// The buffers of a fake.
#[derive(Default)]
pub(super) struct Memory(BTreeMap<u32, Vec<u8>>);

impl Memory {
    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes into a buffer that is there.
    pub(super) fn write(&mut self, to: Slot, bytes: &[u8]) {
        let buffer = self.0.get_mut(&to.buffer.0).expect("is there");
        buffer[to.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn held(&self) -> u64 {
        self.0.values().map(|bytes| bytes.len() as u64).sum()
    }
}

/// A device as large as an A100, and what was done with it.
pub(super) struct FakeMachine<M> {
    pub(super) facts: DeviceFacts,
    pub(super) manner: M,
    pub(super) memory: Memory,
    pub(super) graphs: BTreeMap<u32, Vec<Launch>>,
    cap: u64,
    next: u32,
}

/// What a fake says it is.
pub(super) fn facts(simulated: bool) -> DeviceFacts {
    DeviceFacts {
        name: "FakeMachine".to_owned(),
        sm: Sm::new(8, 0),
        sms: 108,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 163 << 10,
        l2_bytes: 1 << 20,
        memory_bytes: 1 << 30,
        driver_cuda: 12_080,
        simulated,
        tuned: TunedConfigs::default(),
    }
}

impl<M> FakeMachine<M> {
    /// One that may hold so many bytes.
    pub(super) fn new(simulated: bool, cap: u64, manner: M) -> Self {
        let (memory, graphs) = (Memory::default(), BTreeMap::new());
        Self { facts: facts(simulated), manner, memory, graphs, cap, next: 0 }
    }
}

impl<M: Manner> Machine for FakeMachine<M> {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        let asked = bytes + self.memory.held();
        if asked > self.cap {
            return Err(MachineError::OverCap { asked, cap: self.cap });
        }
        self.next += 1;
        self.memory.0.insert(self.next, vec![0; bytes as usize]);
        self.manner.hold(asked);
        Ok(BufferId(self.next))
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        self.memory.0.remove(&buffer.0).map(drop).expect("freed once");
        self.manner.hold(self.memory.held());
        Ok(())
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        self.memory.write(to, bytes);
        Ok(())
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        let buffer = &self.memory.0[&from.buffer.0];
        bytes.copy_from_slice(&buffer[from.offset as usize..][..bytes.len()]);
        Ok(())
    }

    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        launches.iter().try_for_each(|launch| self.manner.run(&mut self.memory, launch))
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        self.next += 1;
        self.graphs.insert(self.next, launches.to_vec());
        Ok(GraphId(self.next))
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        self.graphs.remove(&graph.0).map(drop).expect("forgotten once");
        Ok(())
    }

    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError> {
        let launches = self.graphs[&graph.0].clone();
        self.run(&launches)?;
        let once = self.manner.time(&launches);
        Ok((!self.facts.simulated).then_some(once * f64::from(times)))
    }

    fn sample(&mut self, graph: GraphId) -> Result<Option<Sampled>, MachineError> {
        let time = self.replay(graph, 1)?;
        Ok(time.map(|ns| Sampled { ns, mhz: self.manner.mhz() }))
    }
}

impl<M: Manner> DeviceSession for FakeMachine<M> {
    fn pool(&self) -> (u64, u64) {
        (self.memory.held(), self.cap)
    }

    fn set_cap(&mut self, arena_bytes: u64) {
        self.cap = arena_bytes;
    }

    fn images(&self) -> Vec<ImageUse> {
        Vec::new()
    }

    fn ended(&self) -> Option<&MachineError> {
        self.manner.ended()
    }

    fn cuda(&mut self) -> Option<&mut CudaMachine> {
        None
    }
}
