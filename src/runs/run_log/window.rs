//! The machine around a sample, from the frames of that time.

use serde::{Deserialize, Serialize};
use warpscope_probes::gpu::{ClockReason, Gpu};
use warpscope_probes::{Frame, Reading, Scalar};

use crate::runs::statistics::median;

/// A clock that moved by more than this share of its median taints the samples.
const CLOCK_MOVED: f64 = 0.02;

/// Least, middle and most of a value over a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// Least.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Most.
    pub max: f64,
}

impl Span {
    /// Of values in any order; nothing where there are none.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let median = median(&mut values)?;
        Some(Self { min: *values.first()?, median, max: *values.last()? })
    }

    /// From least to most, as a share of the median.
    pub(super) fn moved(&self) -> f64 {
        (self.max - self.min) / self.median
    }
}

/// What a GPU did while samples were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Frames it was put together from.
    pub frames: u32,
    /// SM clock, MHz.
    pub sm_mhz: Option<Span>,
    /// Memory clock, MHz.
    pub memory_mhz: Option<Span>,
    /// Board power, W.
    pub power_w: Option<Span>,
    /// Core temperature, °C.
    pub temperature_c: Option<Span>,
    /// Why clocks were held, everything seen in the window.
    pub throttle: Vec<String>,
    /// Other processes on the GPU.
    pub others: Vec<u32>,
}

impl Window {
    /// The GPU of this key in the frames of a time; `own` are the processes whose work is measured.
    pub fn of<'a>(frames: impl Iterator<Item = &'a Frame> + Clone, gpu: &str, own: &[u32]) -> Self {
        let gpus =
            || frames.clone().filter_map(|frame| frame.gpus.iter().find(|one| one.key == gpu));
        let mut window = Self {
            frames: u32::try_from(gpus().count()).unwrap_or(u32::MAX),
            sm_mhz: span(gpus().map(|gpu| &gpu.vitals.clock_sm_mhz)),
            memory_mhz: span(gpus().map(|gpu| &gpu.vitals.clock_memory_mhz)),
            power_w: span(gpus().map(|gpu| &gpu.vitals.power_w)),
            temperature_c: span(gpus().map(|gpu| &gpu.vitals.temperature_c)),
            ..Self::default()
        };
        for reason in gpus().flat_map(held) {
            if !window.throttle.contains(&reason) {
                window.throttle.push(reason);
            }
        }
        for frame in frames {
            let others = frame.processes.iter().filter(|one| one.gpu == gpu).map(|one| one.pid);
            window.others.extend(others.filter(|pid| !own.contains(pid)));
        }
        window.others.sort_unstable();
        window.others.dedup();
        window
    }

    /// Why samples of this window are kept and not judged.
    pub fn taints(&self) -> Vec<String> {
        let mut taints = Vec::new();
        if !self.throttle.is_empty() {
            taints.push(format!("throttled: {}", self.throttle.join(", ")));
        }
        if !self.others.is_empty() {
            taints.push(format!(
                "shared with process {}",
                self.others.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
            ));
        }
        if self.sm_mhz.is_some_and(|clock| clock.moved() > CLOCK_MOVED) {
            taints.push("clock moved".to_owned());
        }
        taints
    }
}

/// Reasons that cost speed, in words.
fn held(gpu: &Gpu) -> Vec<String> {
    let reasons = gpu.throttle.active.value().into_iter().flatten();
    reasons
        .filter(|reason| reason.slows())
        .map(|reason: &ClockReason| reason.words().to_owned())
        .collect()
}

/// Least, middle and most of what was really read; nothing where nothing was.
fn span<'a, T: Scalar + 'a>(readings: impl Iterator<Item = &'a Reading<T>>) -> Option<Span> {
    Span::of(readings.filter_map(|one| one.value()?.number()))
}

#[cfg(test)]
mod tests {
    use warpscope_probes::process::Process;
    use warpscope_probes::units::MegaHertz;

    use super::*;

    fn frame(mhz: u32, reasons: Vec<ClockReason>, pids: &[u32]) -> Frame {
        let mut gpu = Gpu { key: "GPU-1".into(), ..Gpu::default() };
        gpu.vitals.clock_sm_mhz = MegaHertz(mhz).into();
        gpu.throttle.active = reasons.into();
        let process = |pid: &u32| Process { pid: *pid, gpu: "GPU-1".into(), ..Process::default() };
        Frame { gpus: vec![gpu], processes: pids.iter().map(process).collect(), ..Frame::default() }
    }

    #[test]
    fn a_calm_window_taints_nothing() {
        let frames = [frame(1980, vec![ClockReason::Idle], &[7]), frame(1975, vec![], &[7])];
        let window = Window::of(frames.iter(), "GPU-1", &[7]);
        assert_eq!(window.sm_mhz, Some(Span { min: 1975.0, median: 1977.5, max: 1980.0 }));
        assert_eq!((window.frames, window.taints()), (2, Vec::new()));
    }

    #[test]
    fn throttling_company_and_moving_clocks_taint() {
        let frames =
            [frame(1980, vec![], &[7, 9]), frame(1700, vec![ClockReason::SwThermal], &[7])];
        let taints = Window::of(frames.iter(), "GPU-1", &[7]).taints();
        assert_eq!(
            taints,
            ["throttled: thermal (software)", "shared with process 9", "clock moved"]
        );
    }

    #[test]
    fn what_nobody_read_is_not_known_and_not_zero() {
        let window = Window::of([Frame::default()].iter(), "GPU-1", &[]);
        assert_eq!((window.frames, window.power_w, window.sm_mhz), (0, None, None));
        assert!(window.taints().is_empty());
    }
}
