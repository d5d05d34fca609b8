//! Clocks of samples, on a fake device whose clock rises as it computes and falls when it is hot.

use warpscope_kernels::gpu::{Launch, MachineError, Nanoseconds};

use super::fake::{FakeMachine, Manner, Memory};
use super::job::On;
use super::timing;
use crate::worker::protocol::{Globs, KernelReport, Timing, WorkerEvent};
use warpscope_kernels::gpu::Shape;

/// Clocks of an H200 at rest, at work and held down, MHz.
const REST: f64 = 345.0;
const WORK: f64 = 1980.0;
const HELD: f64 = 1410.0;
/// Time of work after which the clock has risen.
const RISES_NS: f64 = 40e6;
/// Cycles of a launch: 20 µs at work.
const CYCLES: f64 = 20.0 * WORK;

struct Device {
    /// Of a launch.
    cycles: f64,
    busy_ns: f64,
    most: f64,
    mhz: f64,
}

impl Manner for Device {
    fn run(&mut self, _: &mut Memory, _: &Launch) -> Result<(), MachineError> {
        Ok(())
    }

    fn time(&mut self, graph: &[Launch]) -> Nanoseconds {
        self.mhz = (REST + (WORK - REST) * (self.busy_ns / RISES_NS).min(1.0)).min(self.most);
        let time = self.cycles * graph.len() as f64 / self.mhz * 1e3;
        self.busy_ns += time;
        time
    }

    fn mhz(&self) -> Option<f64> {
        Some(self.mhz)
    }
}

type Fake = FakeMachine<Device>;

fn device() -> Fake {
    slow_device(CYCLES)
}

fn slow_device(cycles: f64) -> Fake {
    FakeMachine::new(false, 64 << 20, Device { cycles, busy_ns: 0.0, most: WORK, mhz: 0.0 })
}

/// What is said of a kernel timed in a burst.
fn told(
    machine: &mut Fake,
    best_mhz: &mut Option<f64>,
    ramped: bool,
    shape: Option<Shape>,
) -> Vec<WorkerEvent> {
    let mut events = Vec::new();
    let mut emit = |event| {
        events.push(event);
        Ok(())
    };
    let (clock, warm) = (&|| None, &mut false);
    let mut on = On { uuid: "GPU-fake", machine, clock, warm, best_mhz, ramped };
    let timing = Timing { kernels: Globs::from("mem.read"), shape, ..Timing::default() };
    timing::run(&mut on, &timing, &mut emit).expect("a fake breaks nothing");
    events
}

/// The largest work of a kernel, timed in a burst.
fn burst(machine: &mut Fake, best_mhz: &mut Option<f64>, ramped: bool) -> KernelReport {
    match told(machine, best_mhz, ramped, None).pop() {
        Some(WorkerEvent::Kernel(report)) => *report,
        other => panic!("not timed: {other:?}"),
    }
}

/// 1 ms at work is 5.7 ms at rest, and 3 ms is more than a burst may take at any clock.
#[test]
fn what_is_too_long_for_a_burst_is_said_once_the_clock_has_risen() {
    let report = burst(&mut slow_device(50.0 * CYCLES), &mut None, false);
    assert!(report.samples_ns.iter().all(|ns| (ns - 1e6).abs() < 1.0), "{report:?}");
    let why = "one run takes longer than a burst may; --full times it";
    let said = told(&mut slow_device(150.0 * CYCLES), &mut None, false, None);
    let skipped = |n| {
        matches!(&said[..], all if all.iter().any(|event| matches!(event,
        WorkerEvent::Skipped(one) if (one.shape.n, one.why.as_str()) == (n, why))))
    };
    assert!(said.len() == 1 && skipped(16 << 10), "{said:?}");
    let shape = Some(Shape { n: 1024, ..Shape::default() });
    let said = told(&mut slow_device(150.0 * CYCLES), &mut None, false, shape);
    let [WorkerEvent::Failed(failure)] = &said[..] else { panic!("{said:?}") };
    assert_eq!(failure.error, MachineError::Refused { why: why.to_owned() });
}

/// A cache is no memory; what computes in registers has no need of one.
#[test]
fn a_ceiling_that_a_cache_explains_is_none() {
    let rate = |id: &str, l2_bytes| {
        let mut machine = device();
        machine.facts.l2_bytes = l2_bytes;
        timing::median_rate(&mut machine, id, 64 << 20).expect("a fake breaks nothing")
    };
    assert!(rate("mem.read", 1 << 20).is_some_and(|rate| rate.bytes_per_s > 0.0));
    assert!(rate("mem.read", 126 << 20).is_none());
    assert!(rate("alu.ffma", 126 << 20).is_some_and(|rate| rate.flop_per_s > 0.0));
}

#[test]
fn a_burst_waits_until_the_clock_has_risen() {
    let report = burst(&mut device(), &mut None, false);
    assert_eq!(report.clocks.mhz, [Some(WORK); 9]);
    assert_eq!((report.sm_mhz, &report.clocks.low[..]), (Some(WORK), &[][..]));
    let ns = |clock: f64| CYCLES / clock * 1e3;
    assert!(report.samples_ns.iter().all(|sample| (sample - ns(WORK)).abs() < 1e-6));
}

/// The same samples where nobody waited: each is slower than the kernel is, and told to be.
#[test]
fn samples_on_the_way_up_are_marked() {
    let report = burst(&mut device(), &mut Some(WORK), true);
    assert_eq!(report.clocks.low, (0..9).collect::<Vec<_>>(), "{report:?}");
    let words = report.clocks.words().expect("all are marked");
    assert_eq!(words, "9 of 9 samples below 95% of the best clock, 1980 MHz");
}

/// Later samples are measured against the best clock of the run.
#[test]
fn a_device_that_is_held_down_is_seen_by_what_it_did_before() {
    let (mut machine, mut best) = (device(), None);
    burst(&mut machine, &mut best, false);
    machine.manner.most = HELD;
    let report = burst(&mut machine, &mut best, false);
    assert_eq!((best, report.clocks.best_mhz), (Some(WORK), Some(WORK)));
    assert_eq!((report.sm_mhz, report.clocks.low.len()), (Some(HELD), 9));
}
