//! What one launch of a kernel costs in energy, by the counter of the device.
//!
//! The counter moves in steps some tens of milliseconds apart. The kernel runs without pause from one step to another a second later, so that
//! what it read at both ends is true at that moment. All of the device is counted: what it draws at rest, and other processes.

use std::time::{Duration, Instant};

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{GraphId, Machine, MachineError};
use warpscope_probes::nvml::Watch;

/// Time between the steps that are looked at.
const SPAN: Duration = Duration::from_secs(1);
/// Replays between two looks at the counter: a few milliseconds.
const REPLAYS: u32 = 30;
/// How long a step is waited for: a device without the counter, or one that is asleep, has none.
const PATIENCE: Duration = Duration::from_secs(2);

/// Energy of one launch, joules, and the power drawn meanwhile, watts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Energy {
    pub(super) energy_j: f64,
    pub(super) power_w: f64,
}

/// A kernel that is launched again and again, and the counter.
pub(super) trait Meter {
    type Error;
    /// Launches the kernel for a few milliseconds; how often.
    fn work(&mut self) -> Result<u64, Self::Error>;
    /// Energy of the device, joules, since some moment; none where it is not told.
    fn read(&mut self) -> Option<f64>;
    /// Time since some moment.
    fn now(&mut self) -> Duration;
}

/// A step of the counter.
#[derive(Clone, Copy)]
struct Step {
    energy: f64,
    at: Duration,
    launches: u64,
}

/// Measures it; none where the counter does not move, or goes back.
pub(super) fn measure<M: Meter>(meter: &mut M) -> Result<Option<Energy>, M::Error> {
    let Some(energy) = meter.read() else { return Ok(None) };
    let start = Step { energy, at: meter.now(), launches: 0 };
    let Some(first) = next_step(meter, start, Duration::ZERO)? else { return Ok(None) };
    let Some(last) = next_step(meter, first, SPAN)? else { return Ok(None) };
    let (launches, energy) = (last.launches - first.launches, last.energy - first.energy);
    let power_w = energy / (last.at - first.at).as_secs_f64();
    let energy_j = energy / launches as f64;
    Ok((energy_j > 0.0 && power_w.is_finite()).then_some(Energy { energy_j, power_w }))
}

/// The first step that long after another.
fn next_step<M: Meter>(
    meter: &mut M,
    from: Step,
    span: Duration,
) -> Result<Option<Step>, M::Error> {
    let (mut launches, mut before) = (from.launches, from.energy);
    loop {
        launches += meter.work()?;
        let (Some(energy), at) = (meter.read(), meter.now()) else { return Ok(None) };
        if energy != before && at - from.at >= span {
            return Ok(Some(Step { energy, at, launches }));
        }
        if at - from.at > span + PATIENCE {
            return Ok(None);
        }
        before = energy;
    }
}

/// A recording that runs again and again on a device that counts its energy.
pub(super) struct Running<'a> {
    machine: &'a mut CudaMachine,
    graph: GraphId,
    launches: u64,
    watch: Watch,
    begun: Instant,
}

impl<'a> Running<'a> {
    /// A recording of so many launches.
    pub(super) fn new(
        machine: &'a mut CudaMachine,
        (graph, launches): (GraphId, u64),
        watch: Watch,
    ) -> Self {
        Self { machine, graph, launches, watch, begun: Instant::now() }
    }
}

impl Meter for Running<'_> {
    type Error = MachineError;

    fn work(&mut self) -> Result<u64, MachineError> {
        self.machine.replay(self.graph, REPLAYS)?;
        Ok(self.launches * u64::from(REPLAYS))
    }

    fn read(&mut self) -> Option<f64> {
        self.watch.energy_j()
    }

    fn now(&mut self) -> Duration {
        self.begun.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that draws so many watts; a launch takes 50 µs, and the counter moves every so many milliseconds.
    struct Fake {
        watts: f64,
        step_ms: u64,
        now: Duration,
    }

    impl Meter for Fake {
        type Error = ();

        fn work(&mut self) -> Result<u64, ()> {
            self.now += Duration::from_micros(50 * 60);
            Ok(60)
        }

        fn read(&mut self) -> Option<f64> {
            let step = self.now.as_millis() as u64 / self.step_ms * self.step_ms;
            (self.watts > 0.0).then(|| 1e6 + self.watts * step as f64 / 1e3)
        }

        fn now(&mut self) -> Duration {
            self.now
        }
    }

    fn measured(watts: f64, step_ms: u64) -> Option<Energy> {
        measure(&mut Fake { watts, step_ms, now: Duration::from_millis(7) }).expect("does not fail")
    }

    #[test]
    fn a_counter_in_steps_gives_the_energy_of_a_launch() {
        for step in [1, 20, 100, 333] {
            let found = measured(400.0, step).expect("it moves");
            // 400 W for 50 µs are 20 mJ; a step is seen up to a piece of work of 3 ms late.
            assert!((found.energy_j / 0.02 - 1.0).abs() < 0.004, "{step} ms: {found:?}");
            assert!((found.power_w / 400.0 - 1.0).abs() < 0.004, "{step} ms: {found:?}");
        }
    }

    #[test]
    fn a_counter_that_is_missing_or_stands_still_gives_nothing() {
        assert_eq!(measured(0.0, 20), None);
        assert_eq!(measured(400.0, 60_000), None);
    }
}
