//! Clocks of samples, on a fake device whose clock rises as it computes and falls when it is hot.

use warpscope_kernels::gpu::{Launch, MachineError, Nanoseconds};

use super::fake::{FakeMachine, Manner, Memory};
use super::job::On;
use super::timing;
use crate::worker::protocol::{Globs, KernelReport, Timing, WorkerEvent};

/// Clocks of an H200 at rest, at work and held down, MHz.
const REST: f64 = 345.0;
const WORK: f64 = 1980.0;
const HELD: f64 = 1410.0;
/// Time of work after which the clock has risen.
const RISES_NS: f64 = 40e6;
/// Cycles of a launch: 20 µs at work.
const CYCLES: f64 = 20.0 * WORK;

struct Device {
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
        let time = CYCLES * graph.len() as f64 / self.mhz * 1e3;
        self.busy_ns += time;
        time
    }

    fn mhz(&self) -> Option<f64> {
        Some(self.mhz)
    }
}

type Fake = FakeMachine<Device>;

fn device() -> Fake {
    FakeMachine::new(false, 64 << 20, Device { busy_ns: 0.0, most: WORK, mhz: 0.0 })
}

/// The largest work of a kernel, timed in a burst.
fn burst(machine: &mut Fake, best_mhz: &mut Option<f64>, ramped: bool) -> KernelReport {
    let mut reports = Vec::new();
    let mut emit = |event| {
        if let WorkerEvent::Kernel(report) = event {
            reports.push(*report);
        }
        Ok(())
    };
    let (clock, warm) = (&|| None, &mut false);
    let mut on = On { uuid: "GPU-fake", machine, clock, warm, best_mhz, ramped };
    let timing = Timing { kernels: Globs::from("mem.read"), ..Timing::default() };
    timing::run(&mut on, &timing, &mut emit).expect("a fake breaks nothing");
    reports.pop().expect("it is timed")
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
    assert_eq!(words, "9 of 9 samples below 95 % of the best clock, 1980 MHz");
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
