use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::accounts::Accounts;
use super::clocks::Clocks;
use super::context::{Block, Context, Event, Stream};
use super::device::Device;
use super::driver::Driver;
use super::images::{Bytes, ImageUse, Images, Loadable, Source};
use super::limits;
use super::module::{Function, Graph};
use super::pack::Packed;
use super::status::{Effect, effect};
use super::tensor::Encoded;
use crate::gpu::{
    BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Sampled, Slot,
    TensorMap,
};

/// Bytes copied between two looks at the stop flag: under 2 ms over PCIe 3.0.
const COPY_STEP: usize = 8 << 20;

/// What a machine may take, and what stops it.
#[derive(Clone, Debug)]
pub struct Cap {
    /// Bytes of device memory it may allocate.
    pub arena_bytes: u64,
    /// Looked at before every launch; when it is set, nothing more is launched.
    pub stop: Arc<AtomicBool>,
}

/// A device that runs kernels. Everything it holds goes with it.
pub struct CudaMachine {
    images: Images,
    graphs: BTreeMap<u32, Recorded>,
    next_graph: u32,
    accounts: Accounts<Block>,
    clock: (Event, Event),
    /// What reads the multiprocessors' clocks: not asked for yet, or not to be had.
    clocks: Option<Option<Clocks>>,
    stream: Rc<Stream>,
    context: Rc<Context>,
    device: Device,
    facts: DeviceFacts,
    free_at_start: u64,
    /// Whether the driver takes launches that start early.
    early: bool,
    stop: Arc<AtomicBool>,
    ended: Option<MachineError>,
}

/// Launches that can be replayed.
struct Recorded {
    replay: Replay,
    /// What it runs, kept loaded.
    _functions: Vec<Function>,
    /// How long one replay took, once that is known.
    cost: Option<Nanoseconds>,
}

enum Replay {
    /// As one.
    Graph(Graph),
    /// One by one, on drivers from before graphs.
    Launches(Vec<Launch>),
}

impl CudaMachine {
    pub(super) fn new(
        driver: &Rc<Driver>,
        device: Device,
        cap: Cap,
        images: Source,
    ) -> Result<Self, MachineError> {
        let facts = device.facts(driver)?;
        let context = Context::new(driver, device)?;
        let (free_at_start, _) = context.memory()?;
        let stream = Rc::new(Stream::new(&context)?);
        let early = driver.has_attributes();
        Ok(Self {
            images: Images::new(images),
            graphs: BTreeMap::new(),
            next_graph: 0,
            accounts: Accounts::new(cap.arena_bytes),
            clock: (Event::new(&context)?, Event::new(&context)?),
            clocks: None,
            stream,
            context,
            device,
            facts,
            free_at_start,
            early,
            stop: cap.stop,
            ended: None,
        })
    }

    /// Free memory of the device when there was a context and nothing else of ours, bytes. Against what was free before the
    /// process began, this is what the context costs; the driver tells nothing before there is one.
    pub fn free_at_start(&self) -> u64 {
        self.free_at_start
    }

    /// Free and total memory of the device now, bytes.
    pub fn memory(&self) -> Result<(u64, u64), MachineError> {
        self.context.memory()
    }

    /// Bytes allocated now, and bytes that may be.
    pub fn arena(&self) -> (u64, u64) {
        (self.accounts.held(), self.accounts.cap())
    }

    /// Sets what may be allocated; what is held already stays.
    pub fn set_cap(&mut self, arena_bytes: u64) {
        self.accounts.set_cap(arena_bytes);
    }

    /// How each family runs that was used so far.
    pub fn images(&self) -> Vec<ImageUse> {
        self.images.uses().cloned().collect()
    }

    /// What ended the context, if something did. Nothing works after it; only a new process helps.
    pub fn ended(&self) -> Option<&MachineError> {
        self.ended.as_ref()
    }

    /// One attribute of the device by its number in the driver's header.
    pub fn attribute(&self, number: i32) -> Result<i32, MachineError> {
        self.device.attribute(&self.context.driver, number)
    }

    /// One attribute of a kernel by its number in the driver's header: registers (4), bytes of local memory (3).
    pub fn function_attribute(
        &mut self,
        (family, entry): (&str, &str),
        number: i32,
    ) -> Result<i32, MachineError> {
        self.guard(|this| {
            this.images.entry(&this.context, &this.facts, (family, entry))?.attribute(number)
        })
    }

    /// Where a buffer lies, for libraries that take addresses.
    pub fn address(&self, buffer: BufferId) -> Result<u64, MachineError> {
        self.accounts.find(buffer.into(), 0).map(Block::address)
    }

    /// Where a place lies that has at least so many bytes behind it in its buffer.
    pub fn place(&self, slot: Slot, bytes: u64) -> Result<u64, MachineError> {
        Ok(self.accounts.find(slot, bytes)?.address() + slot.offset)
    }

    /// Whether a stand-in computes.
    pub(super) fn simulated(&self) -> bool {
        self.facts.simulated
    }

    /// What everything here stands on.
    pub(super) fn context(&self) -> &Rc<Context> {
        &self.context
    }

    /// The driver's handle of the stream everything runs in, for libraries that take one.
    pub fn stream_pointer(&self) -> *mut std::ffi::c_void {
        self.stream.raw().cast()
    }

    /// Waits for everything in the stream, also for what a library put there.
    pub fn wait(&mut self) -> Result<(), MachineError> {
        self.guard(|this| this.stream.wait())
    }

    /// Loads an image of the caller's, and from then on launches of this family take their entries from it. The text is what the
    /// driver's compiler said, whether it took the image or not.
    pub fn load_image(&mut self, family: &str, image: &[u8]) -> (Result<(), MachineError>, String) {
        let candidate = Loadable { how: "given".to_owned(), bytes: Bytes::Given(image.to_vec()) };
        let mut log = String::new();
        let loaded = self.guard(|this| {
            let (loaded, said) = this.images.put(&this.context, family, &candidate);
            log = said;
            loaded
        });
        (loaded, log)
    }

    /// Records what calls of a library put into the stream, to be replayed as kernels are.
    pub fn record_calls(
        &mut self,
        calls: impl FnOnce(&Self) -> Result<(), MachineError>,
    ) -> Result<GraphId, MachineError> {
        self.guard(|this| {
            if !this.context.driver.has_graphs() {
                let what =
                    "cuGraphLaunch, without which calls of a library are not timed".to_owned();
                return Err(MachineError::Missing { what });
            }
            let (context, stream) = (Rc::clone(&this.context), Rc::clone(&this.stream));
            let graph = Graph::record(&context, &stream, || calls(this))?;
            Ok(this.keep(Replay::Graph(graph), Vec::new()))
        })
    }

    fn keep(&mut self, replay: Replay, functions: Vec<Function>) -> GraphId {
        let id = self.next_graph;
        self.next_graph += 1;
        self.graphs.insert(id, Recorded { replay, _functions: functions, cost: None });
        GraphId(id)
    }

    /// Unloads a family, whoever loaded it.
    pub fn unload_image(&mut self, family: &str) {
        self.images.forget(family);
    }

    /// Does something unless the context has ended, and notes when it ends by this.
    fn guard<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, MachineError>,
    ) -> Result<T, MachineError> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        let result = act(self);
        if let Err(error) = &result
            && effect(error) == Effect::Ends
        {
            self.ended = Some(error.clone());
        }
        result
    }

    /// Does something with a recording that takes time; none where time means nothing.
    fn timed<T>(
        &mut self,
        graph: GraphId,
        act: impl FnOnce(&mut Self, &mut Recorded) -> Result<T, MachineError>,
    ) -> Result<Option<T>, MachineError> {
        let mut recorded = self.graphs.remove(&graph.0).ok_or_else(|| unknown(graph))?;
        let time = self.guard(|this| act(this, &mut recorded));
        self.graphs.insert(graph.0, recorded);
        time.map(|time| (!self.facts.simulated).then_some(time))
    }

    fn go_on(&self) -> Result<(), MachineError> {
        if self.stop.load(Ordering::Relaxed) { Err(MachineError::Stopped) } else { Ok(()) }
    }

    /// Puts kernels into the stream, all of them ready before the first goes.
    fn submit(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        launches.iter().try_for_each(|launch| self.prepare(launch).map(drop))?;
        launches.iter().try_for_each(|launch| self.launch(launch))
    }

    /// Loads what a launch needs and asks for its shared memory.
    fn prepare(&mut self, launch: &Launch) -> Result<&Function, MachineError> {
        let names = (launch.family, launch.entry);
        let function = self.images.entry(&self.context, &self.facts, names)?;
        let shared = limits::shared(launch, function.static_shared, &self.facts)?;
        if shared > function.dynamic_shared {
            function.ask_for_shared(shared)?;
        }
        // Where several blocks of such a kernel fit a multiprocessor, they are to be there; and launches of a chain are to want the same.
        if shared > 0 || launch.early {
            function.prefer_shared();
        }
        Ok(function)
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), MachineError> {
        limits::sizes(launch)?;
        let driver = &self.context.driver;
        let address = |slot: Slot| Ok(self.accounts.find(slot, 0)?.address() + slot.offset);
        let encode = |map: &TensorMap, address| Encoded::new(driver, map, address);
        let values = Packed::new(&launch.args, address, encode)?;
        let names = (launch.family, launch.entry);
        let function = self.images.entry(&self.context, &self.facts, names)?;
        function.launch(&self.stream, launch, &values, launch.early && self.early)
    }

    /// Records launches as one, without early ones where the driver takes none of these into a recording, as those before CUDA 12.3 do.
    fn record_graph(&mut self, launches: &[Launch]) -> Result<Graph, MachineError> {
        let (context, stream) = (Rc::clone(&self.context), Rc::clone(&self.stream));
        let early = self.early;
        let mut record = |early: bool| {
            self.early = early;
            let launch = || launches.iter().try_for_each(|launch| self.launch(launch));
            Graph::record(&context, &stream, launch)
        };
        let recorded = record(early);
        if recorded.is_ok() || !early || launches.iter().all(|launch| !launch.early) {
            return recorded;
        }
        let without = record(false);
        self.early = without.is_err();
        without
    }

    /// Replays a few times without a look at the stop flag, and says how long it took.
    fn replay_slice(&mut self, graph: &Replay, times: u32) -> Result<Nanoseconds, MachineError> {
        self.between_events(graph, times)?;
        self.time()
    }

    fn between_events(&mut self, graph: &Replay, times: u32) -> Result<(), MachineError> {
        self.clock.0.record(&self.stream)?;
        self.enqueue(graph, times)?;
        self.clock.1.record(&self.stream)
    }

    /// Waits for everything, and says what lay between the two events.
    fn time(&self) -> Result<Nanoseconds, MachineError> {
        let time = self.clock.1.since(&self.clock.0);
        self.stream.wait()?;
        time
    }

    /// What reads the clocks, ready to be launched. Where there is no image for it or no memory, samples have no clock.
    fn clock_reads(&mut self) -> Result<Option<[Launch; 2]>, MachineError> {
        if self.clocks.is_none() {
            let clocks = Clocks::new(&self.context, &self.facts).and_then(|clocks| {
                let [read, _] = clocks.launches(&self.facts);
                [read, clocks.hold()].iter().try_for_each(|it| self.prepare(it).map(drop))?;
                Ok(clocks)
            });
            self.clocks = Some(match clocks {
                Err(error) if effect(&error) == Effect::Ends => return Err(error),
                other => other.ok(),
            });
        }
        let clocks = self.clocks.as_ref().and_then(Option::as_ref);
        Ok(clocks.map(|clocks| clocks.launches(&self.facts)))
    }

    fn enqueue(&mut self, graph: &Replay, times: u32) -> Result<(), MachineError> {
        (0..times).try_for_each(|_| match graph {
            Replay::Graph(graph) => graph.launch(&self.stream),
            Replay::Launches(launches) => self.submit(launches),
        })
    }

    /// One timed replay, behind a few that are not.
    fn sample_slice(&mut self, recorded: &mut Recorded) -> Result<Sampled, MachineError> {
        let lead_in = if self.facts.simulated { 0 } else { limits::lead_in(recorded.cost) };
        self.sample_behind(recorded, |this, replay| this.enqueue(replay, lead_in))
    }

    /// One timed replay of a part, which may not be replayed in front of itself.
    fn sample_part(&mut self, recorded: &mut Recorded) -> Result<Sampled, MachineError> {
        self.sample_behind(recorded, |this, _| match this.clocks.as_ref() {
            Some(Some(clocks)) if !this.facts.simulated => this.launch(&clocks.hold()),
            _ => Ok(()),
        })
    }

    /// One timed replay with the clocks around it. What is in front keeps the device busy until the host has enqueued all of it; else the first event
    /// would complete on an idle stream, and what the host takes to submit would count as the device's time.
    fn sample_behind(
        &mut self,
        recorded: &mut Recorded,
        front: impl FnOnce(&mut Self, &Replay) -> Result<(), MachineError>,
    ) -> Result<Sampled, MachineError> {
        self.go_on()?;
        let reads = self.clock_reads()?;
        front(self, &recorded.replay)?;
        reads.iter().try_for_each(|[before, _]| self.launch(before))?;
        self.between_events(&recorded.replay, 1)?;
        reads.iter().try_for_each(|[_, behind]| self.launch(behind))?;
        let ns = self.time()?;
        recorded.cost = Some(ns);
        let clocks = self.clocks.as_ref().and_then(Option::as_ref);
        let mhz = clocks.map_or(Ok(None), |clocks| clocks.between(&self.stream, ns))?;
        Ok(Sampled { ns, mhz })
    }

    fn replay_all(
        &mut self,
        recorded: &mut Recorded,
        times: u32,
    ) -> Result<Nanoseconds, MachineError> {
        let mut total = 0.0;
        let mut left = times;
        while left > 0 {
            self.go_on()?;
            let now = if self.facts.simulated { 1 } else { limits::slice(recorded.cost, left) };
            let time = self.replay_slice(&recorded.replay, now)?;
            recorded.cost = Some(time / f64::from(now));
            total += time;
            left -= now;
        }
        Ok(total)
    }
}

impl Machine for CudaMachine {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        const OUT_OF_MEMORY: u32 = 2;
        self.guard(|this| {
            this.go_on()?;
            let size = this.accounts.admit(bytes)?;
            let room = usize::try_from(size).unwrap_or(usize::MAX);
            let block = Block::new(&this.context, room).map_err(|error| match error {
                MachineError::Driver { code: OUT_OF_MEMORY, .. } => {
                    MachineError::OutOfMemory { asked: size }
                }
                other => other,
            })?;
            Ok(this.accounts.enter(block, size))
        })
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        self.accounts.strike(buffer).map(drop)
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        self.guard(|this| {
            let start = this.accounts.find(to, bytes.len() as u64)?.address() + to.offset;
            for (at, part) in bytes.chunks(COPY_STEP).enumerate() {
                this.go_on()?;
                this.stream.copy_in(start + (at * COPY_STEP) as u64, part)?;
            }
            Ok(())
        })
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        self.guard(|this| {
            let start = this.accounts.find(from, bytes.len() as u64)?.address() + from.offset;
            for (at, part) in bytes.chunks_mut(COPY_STEP).enumerate() {
                this.go_on()?;
                this.stream.copy_out(start + (at * COPY_STEP) as u64, part)?;
            }
            Ok(())
        })
    }

    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        self.guard(|this| {
            launches.iter().try_for_each(|launch| this.prepare(launch).map(drop))?;
            for launch in launches {
                this.go_on()?;
                this.launch(launch)?;
                this.stream.wait()?;
            }
            Ok(())
        })
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        self.guard(|this| {
            let ready = launches.iter().map(|launch| this.prepare(launch).cloned());
            let functions = ready.collect::<Result<Vec<_>, _>>()?;
            let replay = if this.context.driver.has_graphs() {
                Replay::Graph(this.record_graph(launches)?)
            } else {
                Replay::Launches(launches.to_vec())
            };
            Ok(this.keep(replay, functions))
        })
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        self.graphs.remove(&graph.0).map(drop).ok_or_else(|| unknown(graph))
    }

    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError> {
        self.timed(graph, |this, recorded| this.replay_all(recorded, times))
    }

    fn sample(&mut self, graph: GraphId) -> Result<Option<Sampled>, MachineError> {
        self.timed(graph, Self::sample_slice)
    }

    fn sample_parts(&mut self, graphs: &[GraphId]) -> Result<Option<Sampled>, MachineError> {
        let parts = graphs.iter().map(|graph| self.timed(*graph, Self::sample_part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let parts: Option<Vec<_>> = parts.into_iter().collect();
        Ok(parts.map(|parts| Sampled::joined(&parts)))
    }
}

fn unknown(graph: GraphId) -> MachineError {
    MachineError::refused(format!("there is no recording {}", graph.0))
}
