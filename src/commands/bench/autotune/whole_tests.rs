//! From the first proof to the run that uses the choice: the child, its kernels, the choosing, the file, and the next child.
//!
//! Kernels are computed by the interpreter. Times are this test's own: a script says how long each variant takes. They are of no device, and the file
//! they are kept in goes with the test.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use ptx_interpreter::Interpreter;
use warpscope_kernels::cuda::{CudaMachine, ImageUse};
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{
    BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Shape, Slot,
    TunedConfigs,
};
use warpscope_kernels::image::images;
use warpscope_probes::gpu::Gpu;
use warpscope_probes::units::{MegaHertz, Watts};
use warpscope_probes::{Frame, Reading};

use super::*;
use crate::commands::gpu::tuned;
use crate::commands::gpu::tuned::{Tuned, situation};
use crate::config::Environment;
use crate::worker::gpu::{ContentionProbe, DeviceSession, GpuDevice, Opened, Opener};
use crate::worker::{KernelReport, LINE_MAX, Lines, run_worker};

const UUID: &str = "GPU-5c1291ed-0000-4000-8000-000000000000";
const KERNEL: &str = "gemv.f32";
const SHAPE: Shape = Shape { m: 1, n: 256, k: 512, group: 0, context: 0 };

/// Nanoseconds by variant.
type Script = &'static [(&'static str, Nanoseconds)];
const S2_IS_FAST: Script = &[("s1", 400e3), ("s2", 200e3), ("s4", 300e3), ("s8", 500e3)];
const ALL_ALIKE: Script = &[("s1", 300e3), ("s2", 300e3), ("s4", 300e3), ("s8", 300e3)];

/// What tells the launches of one variant from those of another.
type Steps = Vec<(&'static str, [u32; 3], [u32; 3])>;

fn steps(launches: &[Launch]) -> Steps {
    launches.iter().map(|launch| (launch.entry, launch.grid, launch.block)).collect()
}

fn kernel() -> &'static GpuKernel {
    kernels().find(|kernel| kernel.id == KERNEL).expect("is one of ours")
}

/// A device that is none, and says of itself that it is a real one: else nothing would be timed.
fn facts() -> DeviceFacts {
    let facts = ptx_interpreter::device(8, 0).expect("is simulated");
    DeviceFacts { name: "Scripted".to_owned(), simulated: false, ..facts }
}

/// The times of a script by what is launched.
fn clock(script: Script) -> BTreeMap<Steps, Nanoseconds> {
    let time = |(variant, ns): &(&str, f64)| {
        let facts = facts().with_variant(KERNEL, variant);
        let work = (kernel().work)(&facts, SHAPE).expect("takes the size");
        assert_eq!(work.variant, *variant);
        let nowhere = vec![Slot { buffer: BufferId(0), offset: 0 }; work.buffers.len()];
        (steps(&(work.plan)(&nowhere)), *ns)
    };
    let clock: BTreeMap<_, _> = script.iter().map(time).collect();
    assert_eq!(clock.len(), script.len(), "variants are launched alike");
    clock
}

struct Scripted {
    interpreter: Interpreter,
    facts: DeviceFacts,
    clock: BTreeMap<Steps, Nanoseconds>,
    graphs: BTreeMap<u32, Steps>,
    held: BTreeMap<u32, u64>,
}

impl Machine for Scripted {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn allocate(&mut self, bytes: u64) -> Result<BufferId, MachineError> {
        let buffer = self.interpreter.allocate(bytes)?;
        self.held.insert(buffer.0, bytes);
        Ok(buffer)
    }

    fn free(&mut self, buffer: BufferId) -> Result<(), MachineError> {
        self.held.remove(&buffer.0);
        self.interpreter.free(buffer)
    }

    fn write(&mut self, to: Slot, bytes: &[u8]) -> Result<(), MachineError> {
        self.interpreter.write(to, bytes)
    }

    fn read(&mut self, from: Slot, bytes: &mut [u8]) -> Result<(), MachineError> {
        self.interpreter.read(from, bytes)
    }

    fn run(&mut self, launches: &[Launch]) -> Result<(), MachineError> {
        self.interpreter.run(launches)
    }

    fn record(&mut self, launches: &[Launch]) -> Result<GraphId, MachineError> {
        let graph = self.interpreter.record(launches)?;
        self.graphs.insert(graph.0, steps(launches));
        Ok(graph)
    }

    fn forget(&mut self, graph: GraphId) -> Result<(), MachineError> {
        self.graphs.remove(&graph.0);
        self.interpreter.forget(graph)
    }

    /// Only the script knows how long it took; what comes out is known from [`Machine::run`].
    fn replay(&mut self, graph: GraphId, times: u32) -> Result<Option<Nanoseconds>, MachineError> {
        let once = self.clock.get(&self.graphs[&graph.0]).expect("the script knows it");
        Ok(Some(once * f64::from(times)))
    }
}

impl DeviceSession for Scripted {
    fn pool(&self) -> (u64, u64) {
        (self.held.values().sum(), 64 << 20)
    }

    fn set_cap(&mut self, _: u64) {}

    fn images(&self) -> Vec<ImageUse> {
        Vec::new()
    }

    fn ended(&self) -> Option<&MachineError> {
        None
    }

    fn cuda(&mut self) -> Option<&mut CudaMachine> {
        None
    }
}

struct Stage(Script);

impl Opener for Stage {
    fn name(&self) -> String {
        UUID.to_owned()
    }

    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError> {
        Ok(vec![here()])
    }

    fn open(&self, _: &Acquire, _: &Arc<AtomicBool>) -> Result<Opened, MachineError> {
        let interpreter = Interpreter::new(DeviceFacts { simulated: true, ..facts() });
        let (graphs, held) = (BTreeMap::new(), BTreeMap::new());
        let machine = Scripted { interpreter, facts: facts(), clock: clock(self.0), graphs, held };
        Ok(Opened { uuid: self.name(), session: Box::new(machine) })
    }

    fn contention(&self) -> Option<Box<dyn ContentionProbe>> {
        None
    }
}

fn here() -> DeviceHere {
    DeviceHere { uuid: UUID.to_owned(), device: facts() }
}

/// What a child of its own says to these jobs, one after the other.
fn child(script: Script, jobs: &[Command]) -> Vec<WorkerEvent> {
    let (input, mut to) = io::pipe().expect("pipe");
    let (from, output) = io::pipe().expect("pipe");
    let child = thread::spawn(move || {
        let stage = Stage(script);
        run_worker(|stop| GpuDevice::new(&stage, stop), input, output)
    });
    let mut events = Lines::<_, WorkerEvent>::new(BufReader::new(from), LINE_MAX)
        .map(|event| event.expect("well-formed"));
    let mut said = Vec::new();
    for job in jobs {
        let line = serde_json::to_string(job).expect("serialises") + "\n";
        to.write_all(line.as_bytes()).expect("the child reads");
        let ends = |event: &WorkerEvent| matches!(event, WorkerEvent::Finished { .. });
        said.extend(events.by_ref().take_while(|event| !ends(event)));
    }
    drop(to);
    child.join().expect("no panic").expect("the pipe holds");
    said
}

/// NVML's part of the machine.
fn frame(driver: &str, watts: f64, clock_mhz: u32) -> Frame {
    let mut gpu = Gpu { key: UUID.to_owned(), ..Gpu::default() };
    gpu.vitals.power_limit_w = Reading::Value(Watts(watts));
    gpu.vitals.clock_graphics_app_mhz = Reading::Value(MegaHertz(clock_mhz));
    let mut frame = Frame { gpus: vec![gpu], ..Frame::default() };
    frame.driver.versions.driver = Reading::Value(driver.to_owned());
    frame
}

fn usual_frame() -> Frame {
    frame("580.65.06", 400.0, 1410)
}

fn timing() -> Timing {
    Timing { kernels: Globs::from(KERNEL), shape: Some(SHAPE), ..Timing::default() }
}

/// `bench --tune`, from the child to the file.
fn tune(script: Script, env: &Environment) -> DeviceResult {
    let mut result = DeviceResult {
        here: here(),
        regime: TimingMode::Burst,
        situation: situation(&here(), Some(&usual_frame())),
        kernels: 1,
        cases: 0,
        choices: Vec::new(),
        kept_in: None,
        not_kept: None,
        outcome: Outcome::default(),
    };
    for event in child(script, &[Command::Acquire(Acquire::default()), Command::Autotune(timing())])
    {
        result.handle(Update::Event(Box::new(event)));
    }
    result.keep(&tuned::file(env).expect("has a place")).expect("is kept");
    result
}

/// `bench` after it: what is run with these tuned configs.
fn bench(script: Script, tuned: TunedConfigs) -> KernelReport {
    let hold = Acquire { tuned, ..Acquire::default() };
    let said = child(script, &[Command::Acquire(hold), Command::Kernel(timing())]);
    let report = said.into_iter().find_map(|event| match event {
        WorkerEvent::Kernel(report) => Some(*report),
        _ => None,
    });
    report.expect("is timed")
}

fn environment() -> (tempfile::TempDir, Environment) {
    let folder = tempfile::tempdir().expect("a folder");
    let env = [("XDG_STATE_HOME", folder.path().as_os_str())].into_iter().collect();
    (folder, env)
}

/// Whether this build has the images; said where it has not.
fn has_images() -> bool {
    let has = ["gemv", "mem"].iter().all(|id| images().iter().any(|image| image.family == *id));
    if !has {
        println!("SKIPPED: this build has no images of gemv and mem");
    }
    has
}

#[test]
fn the_fastest_variant_is_chosen_kept_and_run_the_next_time_in_the_same_circumstances() {
    if !has_images() {
        return;
    }
    let (_folder, env) = environment();
    let usual = (kernel().work)(&facts(), SHAPE).expect("takes the size").variant;
    assert_ne!(usual, "s2", "the script is about another one");
    assert_eq!(bench(S2_IS_FAST, TunedConfigs::default()).variant.as_deref(), Some(usual));
    let result = tune(S2_IS_FAST, &env);
    let [choice] = &result.choices[..] else { panic!("{:?}", result.choices) };
    assert_eq!((&*choice.usual, choice.chosen.as_deref()), (usual, Some("s2")));
    assert!(result.cases > 0 && result.is_fine(), "every variant is proven: {result:?}");
    let tuned = Tuned::of(&env, &here(), Some(&usual_frame()));
    assert_eq!(
        tuned.line().as_deref(),
        Some("tuned: 1 size uses a variant other than the default")
    );
    let report = bench(S2_IS_FAST, tuned.tuned);
    assert_eq!((report.variant.as_deref(), report.samples_ns[0]), (Some("s2"), 200e3));
    is_refused_elsewhere(&env);
}

#[test]
fn a_tie_keeps_what_the_kernel_takes_by_itself() {
    if !has_images() {
        return;
    }
    let (_folder, env) = environment();
    let result = tune(ALL_ALIKE, &env);
    let [choice] = &result.choices[..] else { panic!("{:?}", result.choices) };
    assert!(!choice.overrules(), "{choice:?}");
    let tuned = Tuned::of(&env, &here(), Some(&usual_frame()));
    assert_eq!(tuned.line(), None);
    let report = bench(ALL_ALIKE, tuned.tuned);
    assert_eq!(report.variant.as_deref(), Some(&*choice.usual));
}

/// What was chosen in the usual circumstances is refused in others, and said.
fn is_refused_elsewhere(env: &Environment) {
    let refused = |frame: &Frame| {
        let tuned = Tuned::of(env, &here(), Some(frame));
        assert!(tuned.tuned.is_empty());
        tuned.line().expect("is said")
    };
    for (frame, words) in [
        (frame("580.82.07", 400.0, 1410), "driver 580.65.06 → 580.82.07"),
        (frame("580.65.06", 300.0, 1410), "power limit 400 W → 300 W"),
        (frame("580.65.06", 400.0, 1095), "application clock 1410 MHz → 1095 MHz"),
    ] {
        let line = refused(&frame);
        assert!(line.starts_with("tuned configs ignored: ") && line.contains(words), "{line}");
    }
    let path = tuned::file(env).expect("has a place");
    let text = std::fs::read_to_string(&path).expect("was written");
    let kernels = situation(&here(), None).kernels;
    assert!(!kernels.is_empty());
    let other = text.replace(&kernels, "0123456789abcdef");
    assert_ne!(text, other);
    std::fs::write(&path, other).expect("room");
    assert!(refused(&usual_frame()).contains("the kernels have changed"));
}
