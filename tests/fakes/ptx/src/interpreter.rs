//! The interpreter as a machine that runs kernels.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{
    Arg, BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Slot,
    TensorElement, TensorMap,
};
use warpscope_kernels::image;

use crate::fault::{Fault, FaultKind};
use crate::machine::{Limits, Order, Ready, Start, launch_all};
use crate::memory::Memory;
use crate::module::{Entry, Module};
use crate::tensor::Tensor;

/// Where modules come from: the PTX of a family for a device, or why there is none.
pub type Images = Box<dyn Fn(&str, Sm) -> Result<Module, String>>;

/// A machine that interprets the PTX of kernels. Time means nothing on it.
pub struct Interpreter {
    facts: DeviceFacts,
    images: Images,
    modules: HashMap<String, Module>,
    memory: Memory,
    buffers: BTreeMap<BufferId, Buffer>,
    graphs: HashMap<GraphId, Vec<Launch>>,
    next: u32,
    held: u64,
    instructions: u64,
    most: u64,
    order: Order,
    seed: u64,
}

struct Buffer {
    address: u64,
    bytes: u64,
}

impl Interpreter {
    /// A device that runs the PTX built into the program.
    pub fn new(facts: DeviceFacts) -> Self {
        Self::with_images(facts, Box::new(built_in))
    }

    /// A device that runs the PTX it is given.
    pub fn with_images(facts: DeviceFacts, images: Images) -> Self {
        Self {
            facts,
            images,
            modules: HashMap::new(),
            memory: Memory::default(),
            buffers: BTreeMap::new(),
            graphs: HashMap::new(),
            next: 0,
            held: 0,
            instructions: 0,
            most: Limits::default().instructions,
            order: Order::default(),
            seed: 0,
        }
    }

    /// Allows a launch so many instructions of warps.
    pub fn limit(mut self, instructions: u64) -> Self {
        self.most = instructions;
        self
    }

    /// Runs the blocks of launches in this order.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Which blocks of launches that may start early do, and when, follows from this.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Instructions of warps executed since the start.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The modules kernels were launched from, by family.
    pub fn modules(&self) -> impl Iterator<Item = (&str, &Module)> {
        self.modules.iter().map(|(family, module)| (family.as_str(), module))
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn address(&self, slot: Slot, size: u64) -> Result<u64, MachineError> {
        let refused = |why: String| MachineError::Refused { why };
        let buffer = self.buffers.get(&slot.buffer);
        let buffer = buffer.ok_or_else(|| refused(format!("there is no {:?}", slot.buffer)))?;
        match slot.offset.checked_add(size) {
            Some(end) if end <= buffer.bytes => Ok(buffer.address + slot.offset),
            _ => Err(refused(format!(
                "{size} bytes at {} of a buffer of {}",
                slot.offset, buffer.bytes
            ))),
        }
    }

    fn module(&mut self, family: &str) -> Result<Module, MachineError> {
        if let Some(module) = self.modules.get(family) {
            return Ok(module.clone());
        }
        let none = |why| MachineError::NoImage { family: family.to_owned(), why };
        let module = (self.images)(family, self.facts.sm).map_err(none)?;
        self.modules.insert(family.to_owned(), module.clone());
        Ok(module)
    }

    /// Launches with their modules and parameters. The first that is refused is the answer, and nothing runs.
    fn prepared(&mut self, launches: &[Launch]) -> Result<Vec<(Module, Vec<u8>)>, MachineError> {
        let refused = |why: String| MachineError::Refused { why };
        let prepare = |asked: &Launch| {
            let module = self.module(asked.family)?;
            let missing = || refused(format!("{} has no {}", asked.family, asked.entry));
            let entry = module.entry(asked.entry).ok_or_else(missing)?;
            let params = self.params(entry, &asked.args).map_err(refused)?;
            Ok((module, params))
        };
        launches.iter().map(prepare).collect()
    }

    fn limits(&self) -> Limits {
        Limits {
            instructions: self.most,
            shared_bytes: self.facts.shared_per_block_optin,
            sms: self.facts.sms,
            order: self.order,
        }
    }

    fn place(&self, slot: Slot, size: u64) -> Result<u64, String> {
        self.address(slot, size).map_err(|error| error.to_string())
    }

    /// A tensor map as the driver would take it.
    fn tensor(&self, map: &TensorMap) -> Result<Tensor, String> {
        let element = match map.element {
            TensorElement::U8 => 1,
            TensorElement::F16 | TensorElement::Bf16 => 2,
            TensorElement::F32 | TensorElement::Tf32 | TensorElement::I32 => 4,
        };
        let tensor = Tensor {
            address: self.place(map.slot, 0)?,
            element,
            size: map.size,
            row_bytes: map.row_bytes,
            tile: map.tile,
            swizzle: if map.swizzled { 128 } else { 0 },
            tf32: map.element == TensorElement::Tf32,
        };
        tensor.check().map_err(|why| format!("a tensor map of {why}"))?;
        Ok(tensor)
    }

    /// The parameters as the kernel declares them; sizes must agree.
    fn params(&self, entry: &Entry, args: &[Arg]) -> Result<Vec<u8>, String> {
        let (offsets, end) = entry.param_offsets();
        if offsets.len() != args.len() {
            let (name, takes) = (&entry.name, offsets.len());
            return Err(format!("{name} takes {takes} parameters, not {}", args.len()));
        }
        let mut bytes = vec![0; end as usize];
        for (index, (arg, (at, param))) in
            args.iter().zip(offsets.iter().zip(&entry.params)).enumerate()
        {
            let value: &[u8] = match arg {
                Arg::Slot(slot) => &self.place(*slot, 0)?.to_le_bytes(),
                Arg::U32(value) => &value.to_le_bytes(),
                Arg::U64(value) => &value.to_le_bytes(),
                Arg::F32(value) => &value.to_le_bytes(),
                Arg::TensorMap(map) => &self.tensor(map)?.encode(),
            };
            if value.len() != param.bytes as usize {
                let (name, wants, size) = (&entry.name, param.bytes, value.len());
                return Err(format!("parameter {index} of {name} has {wants} bytes, not {size}"));
            }
            bytes[*at as usize..][..value.len()].copy_from_slice(value);
        }
        Ok(bytes)
    }
}

impl Machine for Interpreter {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        let size =
            usize::try_from(bytes).ok().filter(|_| self.held + bytes <= self.facts.memory_bytes);
        let size = size.ok_or(MachineError::OutOfMemory { asked: bytes })?;
        let id = BufferId(self.number());
        let address = self.memory.allocate(size);
        self.held += bytes;
        self.buffers.insert(id, Buffer { address, bytes });
        Ok(id)
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        let why = || format!("{buffer:?} is not allocated");
        let gone = self.buffers.remove(&buffer);
        let gone = gone.ok_or_else(|| MachineError::Refused { why: why() })?;
        self.held -= gone.bytes;
        self.memory.free(gone.address);
        Ok(())
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        let address = self.address(to, bytes.len() as u64)?;
        if let Some(place) = self.memory.bytes_mut(address, bytes.len()) {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        let address = self.address(from, bytes.len() as u64)?;
        if let Some(place) = self.memory.bytes(address, bytes.len()) {
            bytes.copy_from_slice(place);
        }
        Ok(())
    }

    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        let (prepared, limits) = (self.prepared(launches)?, self.limits());
        let memory = &mut self.memory;
        let mut ready = Vec::with_capacity(launches.len());
        for (asked, (module, params)) in launches.iter().zip(&prepared) {
            let Launch { entry, grid, block, shared_bytes, .. } = *asked;
            let made = Ready::new(module, entry, grid, block, shared_bytes, params, memory, limits);
            ready.push(made.map_err(|fault| told(asked, module, &fault))?);
        }
        let starts: Vec<_> = ready
            .iter()
            .zip(launches.iter().zip(&prepared))
            .map(|(launch, (asked, (module, _)))| Start {
                launch,
                early: asked.early && waits(module),
            })
            .collect();
        let outcome = launch_all(&starts, &mut self.memory, self.seed)
            .map_err(|(at, fault)| told(&launches[at], &prepared[at].0, &fault))?;
        self.instructions += outcome.instructions;
        Ok(())
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        let id = GraphId(self.number());
        self.graphs.insert(id, launches.to_vec());
        Ok(id)
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        let why = || format!("{graph:?} is not recorded");
        self.graphs.remove(&graph).map(|_| ()).ok_or_else(|| MachineError::Refused { why: why() })
    }

    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError> {
        let why = || format!("{graph:?} is not recorded");
        let launches = self.graphs.get(&graph).cloned();
        let launches = launches.ok_or_else(|| MachineError::Refused { why: why() })?;
        (0..times).try_for_each(|_| self.run(&launches))?;
        Ok(None)
    }
}

/// Whether kernels of a module can wait for the launch in front of them: from the class sm_90 on.
fn waits(module: &Module) -> bool {
    let class = module.target().trim_start_matches("sm_").trim_end_matches(['a', 'f']);
    class.parse().is_ok_and(|class: u32| class >= 90)
}

/// A fault as the machine's error.
fn told(asked: &Launch, module: &Module, fault: &Fault) -> MachineError {
    if fault.kind == FaultKind::Launch {
        return MachineError::Refused { why: fault.to_string() };
    }
    MachineError::Fault { what: format!("{} {}: {fault}", asked.family, module.target()) }
}

/// The PTX built into the program, parsed once a process.
fn built_in(family: &str, device: Sm) -> Result<Module, String> {
    static PARSED: OnceLock<Mutex<HashMap<&'static str, Module>>> = OnceLock::new();
    let none = || format!("no PTX of {family} is built in for {device}");
    let image = image::ptx_for(family, device).ok_or_else(none)?;
    let parsed = PARSED.get_or_init(Mutex::default);
    if let Some(module) = parsed.lock().unwrap_or_else(PoisonError::into_inner).get(image.sha256) {
        return Ok(module.clone());
    }
    let text = image.text().ok_or_else(none)?;
    let module = Module::parse(&text).map_err(|error| format!("{family} {image}: {error}"))?;
    parsed.lock().unwrap_or_else(PoisonError::into_inner).insert(image.sha256, module.clone());
    Ok(module)
}
