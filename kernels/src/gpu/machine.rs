use serde::{Deserialize, Serialize};

use super::variant::TunedConfigs;
use crate::Sm;

/// What kernels need to know of a device. From the driver, never from a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Name as the driver gives it.
    pub name: String,
    /// Compute capability.
    pub sm: Sm,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Shared memory a block may have without asking, bytes.
    pub shared_per_block: u32,
    /// Shared memory a block may have after asking, bytes.
    pub shared_per_block_optin: u32,
    /// Second-level cache, bytes.
    pub l2_bytes: u64,
    /// Device memory, bytes.
    pub memory_bytes: u64,
    /// CUDA version the driver supports, `12080` for 12.8.
    pub driver_cuda: u32,
    /// Whether a stand-in computes: its times mean nothing and are never shown as speeds.
    pub simulated: bool,
    /// Variants of kernels chosen for it.
    #[serde(default, skip_serializing_if = "TunedConfigs::is_empty")]
    pub tuned: TunedConfigs,
}

impl DeviceFacts {
    /// The same device, on which a kernel is computed in one way at every size.
    #[must_use]
    pub fn with_variant(&self, kernel: &str, variant: &str) -> Self {
        Self { tuned: self.tuned.forced(kernel, variant), ..self.clone() }
    }
}

/// A piece of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct BufferId(pub u32);

/// A place in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// The buffer.
    pub buffer: BufferId,
    /// Bytes from its start.
    pub offset: u64,
}

impl Slot {
    /// So many bytes further on.
    pub fn plus(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

impl From<BufferId> for Slot {
    fn from(buffer: BufferId) -> Self {
        Self { buffer, offset: 0 }
    }
}

/// Numbers of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorElement {
    /// Bytes: fp8 and 8-bit integers.
    U8,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// binary32 that is rounded to tf32 on its way to shared memory.
    Tf32,
    /// Signed 32-bit integer.
    I32,
}

/// A matrix as the copy engine of sm_90 and later sees it (`CUtensorMap`, tiled, two dimensions). What lies outside is read as zero and not
/// written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TensorMap {
    /// Where it begins, a multiple of 16 bytes.
    pub slot: Slot,
    /// Its numbers.
    pub element: TensorElement,
    /// Elements of a row, and rows.
    pub size: [u64; 2],
    /// Bytes from a row to the next, a multiple of 16.
    pub row_bytes: u64,
    /// Elements of a row, and rows, of the box one copy moves: up to 256 each.
    pub tile: [u32; 2],
    /// Whether chunks of 16 bytes are permuted within 128 bytes by the row modulo 8 (`CU_TENSOR_MAP_SWIZZLE_128B`): then a row of the box has at
    /// most 128 bytes.
    pub swizzled: bool,
}

/// One parameter of a kernel, in the order of its declaration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// A pointer into device memory.
    Slot(Slot),
    /// 32-bit integer.
    U32(u32),
    /// 64-bit integer.
    U64(u64),
    /// binary32.
    F32(f32),
    /// `const __grid_constant__ CUtensorMap`, 128 bytes.
    TensorMap(TensorMap),
}

impl From<TensorMap> for Arg {
    fn from(map: TensorMap) -> Self {
        Self::TensorMap(map)
    }
}

impl From<Slot> for Arg {
    fn from(slot: Slot) -> Self {
        Self::Slot(slot)
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<f32> for Arg {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

/// One kernel to run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Launch {
    /// Image it is in: the name of the source without `.cu`.
    pub family: &'static str,
    /// Entry point.
    pub entry: &'static str,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared_bytes: u32,
    /// Parameters.
    pub args: Vec<Arg>,
    /// Whether it may start before the launch in front of it has ended (programmatic dependent launch, sm_90 and later). The kernel itself
    /// waits, by `griddepcontrol.wait`, before it touches what that one writes; where the driver cannot, it starts late as others do.
    pub early: bool,
}

impl Launch {
    /// So many blocks in x and y of so many threads in x, without dynamic shared memory, behind what is launched in front.
    pub fn new(
        (family, entry): (&'static str, &'static str),
        [x, y]: [u32; 2],
        threads: u32,
        args: impl IntoIterator<Item = Arg>,
    ) -> Self {
        let (grid, block, args) = ([x, y, 1], [threads, 1, 1], args.into_iter().collect());
        Self { family, entry, grid, block, shared_bytes: 0, args, early: false }
    }

    /// The same with so many bytes of dynamic shared memory.
    #[must_use]
    pub fn with_shared(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }
}

/// Launches of a kernel given the places of its buffers.
pub type Plan = Box<dyn Fn(&[Slot]) -> Vec<Launch>>;

/// Launches that were recorded to be replayed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphId(pub u32);

/// Time by the device's own events.
pub type Nanoseconds = f64;

/// One timed replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// How long it took.
    pub ns: Nanoseconds,
    /// Mean clock of the multiprocessors around it, MHz; `None` where the device does not tell.
    pub mhz: Option<f64>,
}

impl Sampled {
    /// Parts of one work as one. Its clock is the cycles of all parts by their time, and unknown where that of a part is.
    pub fn joined(parts: &[Self]) -> Self {
        let ns = parts.iter().map(|part| part.ns).sum();
        let cycles: Option<f64> = parts.iter().map(|part| Some(part.mhz? * part.ns)).sum();
        Self { ns, mhz: cycles.filter(|_| ns > 0.0).map(|cycles| cycles / ns) }
    }
}

/// Why a machine did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "error")]
pub enum MachineError {
    /// No image of the family can run here.
    #[error("no image of {family} runs here: {why}")]
    NoImage {
        /// Image asked for.
        family: String,
        /// Why none fits, in a sentence.
        why: String,
    },
    /// The device has too little memory.
    #[error("the device has no {asked} bytes left")]
    OutOfMemory {
        /// Bytes asked for.
        asked: u64,
    },
    /// The cap of what may be taken would be passed.
    #[error("{asked} bytes would pass the cap of {cap} bytes")]
    OverCap {
        /// Bytes that would be held.
        asked: u64,
        /// Bytes that may be.
        cap: u64,
    },
    /// The driver returned an error.
    #[error("{call} returned {code} ({name})")]
    Driver {
        /// Function of the driver: `cuLaunchKernel`.
        call: String,
        /// Number it returned.
        code: u32,
        /// Its name; the number again where nobody knows it.
        name: String,
    },
    /// The driver lacks a function or is absent.
    #[error("{what} is missing")]
    Missing {
        /// What is missing: `libcuda.so.1`, `cuGraphLaunch`.
        what: String,
    },
    /// The launch makes no sense: sizes, parameters, an entry that does not exist.
    #[error("the launch was refused: {why}")]
    Refused {
        /// What is wrong, in a sentence.
        why: String,
    },
    /// An interpreter found the kernel at fault: a race, a stray access, a barrier not all threads reach.
    #[error("the kernel is at fault: {what}")]
    Fault {
        /// What it found, where.
        what: String,
    },
    /// Told to stop.
    #[error("told to stop")]
    Stopped,
}

impl MachineError {
    /// [`Self::Refused`] for a reason.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into() }
    }
}

/// Something that runs kernels: a device, or an interpreter of their PTX.
///
/// Memory is accounted: what was allocated is given back by [`Machine::free`] or with the machine. Launches are in order.
pub trait Machine {
    /// What it is.
    fn facts(&self) -> &DeviceFacts;

    /// Takes memory, aligned to 256 bytes.
    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError>;

    /// Gives memory back. Freeing twice is refused.
    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError>;

    /// Copies to the device, after everything launched before.
    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError>;

    /// Copies from the device, after everything launched before.
    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError>;

    /// Runs kernels in order and waits for the last.
    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError>;

    /// Records kernels to be replayed as one graph.
    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError>;

    /// Forgets a graph.
    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError>;

    /// Replays a graph so many times, waits, and says how long all of it took; `None` where time means nothing.
    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError>;

    /// Replays a graph once and says how long that took and at which clock, with nothing of the host's time in it: the device may run the graph a few times
    /// more, untimed, to be busy while the timed replay is submitted. For graphs whose every replay is the same work.
    fn sample(&mut self, graph: GraphId) -> Result<Option<Sampled>, MachineError> {
        Ok(self.replay(graph, 1)?.map(|ns| Sampled { ns, mhz: None }))
    }

    /// The same of the parts of one work, in their order. None of them is replayed more than once: it may change in place what the next one reads.
    fn sample_parts(&mut self, graphs: &[GraphId]) -> Result<Option<Sampled>, MachineError> {
        let parts = graphs.iter().map(|graph| self.sample(*graph));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let parts: Option<Vec<_>> = parts.into_iter().collect();
        Ok(parts.map(|parts| Sampled::joined(&parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 µs at 1980 MHz and 300 µs at 1410 MHz are 621 000 cycles in 400 µs.
    #[test]
    fn parts_have_the_clock_of_all_their_cycles() {
        let part = |ns, mhz| Sampled { ns, mhz };
        let parts = [part(100e3, Some(1980.0)), part(300e3, Some(1410.0))];
        assert_eq!(Sampled::joined(&parts), part(400e3, Some(1552.5)));
        let unknown = [parts[0], part(300e3, None)];
        assert_eq!(Sampled::joined(&unknown), part(400e3, None));
        assert_eq!(Sampled::joined(&[]), part(0.0, None));
    }
}
