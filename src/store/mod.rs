//! Histories of what was read. Pure.

mod series;
mod spans;
pub mod trends;

use std::collections::{BTreeMap, VecDeque};

use warpscope_probes::gpu::ClockReason;
use warpscope_probes::process::Process;
use warpscope_probes::units::Scalar;
use warpscope_probes::{Frame, Gpu, Timestamp};

pub use series::{CAPACITY, Series};
use spans::Spans;
pub use spans::{MEANS, SPANS, Span};

/// A value of a GPU that is kept over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// GPU utilization, percent.
    Utilization,
    /// Memory in use, bytes.
    Memory,
    /// Power, watts.
    Power,
    /// Core temperature, °C.
    Temperature,
    /// SM clock, MHz.
    Clock,
    /// Tensor pipe activity, percent (GPM).
    Tensor,
    /// PCIe receive and transmit together, bytes per second.
    Pcie,
    /// NVLink receive and transmit together, bytes per second.
    NvLink,
    /// What holds the clocks back: 1 for power, far more for heat, so that a mean over time above 1 tells of heat.
    Throttle,
}

/// What heat weighs in [`Track::Throttle`].
const HOT: f64 = 1000.0;

fn throttle(gpu: &Gpu) -> Option<f64> {
    let reasons = gpu.throttle.active.value()?;
    let weight = |reason: &ClockReason| match (
        reason.slows(),
        matches!(reason, ClockReason::SwThermal | ClockReason::HwThermal),
    ) {
        (false, _) => 0.0,
        (true, false) => 1.0,
        (true, true) => HOT,
    };
    Some(reasons.iter().map(weight).fold(0.0, f64::max))
}

/// One kept value: which, its label, and where it comes from.
pub struct TrackSpec {
    /// Which value.
    pub track: Track,
    /// Whether it is a value that no summary shows.
    pub is_detail: bool,
    /// Label with unit.
    pub label: &'static str,
    /// The value of one frame.
    pub read: fn(&Gpu) -> Option<f64>,
    /// The most it can be on this GPU, where that is known: the top of its graph.
    pub ceiling: fn(&Gpu) -> Option<f64>,
}

fn hundred(_: &Gpu) -> Option<f64> {
    Some(100.0)
}

/// Every value that is kept over time.
pub const TRACKS: &[TrackSpec] = &[
    TrackSpec {
        track: Track::Utilization,
        is_detail: false,
        label: "gpu %",
        read: |gpu| gpu.vitals.util_gpu_pct.value()?.number(),
        ceiling: hundred,
    },
    TrackSpec {
        track: Track::Memory,
        is_detail: false,
        label: "memory",
        read: |gpu| gpu.vitals.memory_used_bytes.value()?.number(),
        ceiling: |gpu| gpu.vitals.memory_total_bytes.last()?.number().filter(|total| *total > 0.0),
    },
    TrackSpec {
        track: Track::Power,
        is_detail: false,
        label: "power W",
        read: |gpu| gpu.vitals.power_w.value()?.number(),
        ceiling: |gpu| gpu.vitals.power_limit_w.last()?.number(),
    },
    TrackSpec {
        track: Track::Temperature,
        is_detail: false,
        label: "temperature °C",
        read: |gpu| gpu.vitals.temperature_c.value()?.number(),
        ceiling: |gpu| gpu.vitals.slowdown_celsius().map(f64::from),
    },
    TrackSpec {
        track: Track::Clock,
        is_detail: false,
        label: "SM clock MHz",
        read: |gpu| gpu.vitals.clock_sm_mhz.value()?.number(),
        ceiling: |gpu| gpu.vitals.clock_sm_max_mhz.last()?.number(),
    },
    TrackSpec {
        track: Track::Tensor,
        is_detail: true,
        label: "tensor %",
        read: |gpu| gpu.vitals.gpm_tensor_pct.value()?.number(),
        ceiling: hundred,
    },
    TrackSpec {
        track: Track::Pcie,
        is_detail: true,
        label: "PCIe",
        read: |gpu| {
            let rx = gpu.vitals.pcie_rx_bps.value()?.number()?;
            Some(rx + gpu.vitals.pcie_tx_bps.value()?.number()?)
        },
        ceiling: |_| None,
    },
    TrackSpec {
        track: Track::NvLink,
        is_detail: true,
        label: "NVLink",
        read: |gpu| {
            let rx = gpu.vitals.nvlink_rx_bps.value()?.number()?;
            Some(rx + gpu.vitals.nvlink_tx_bps.value()?.number()?)
        },
        ceiling: |_| None,
    },
    TrackSpec {
        track: Track::Throttle,
        is_detail: false,
        label: "",
        read: throttle,
        ceiling: |_| None,
    },
];

/// A process on a GPU, or on an instance of it.
type Holder = (u32, String, Option<u32>);

fn holder(process: &Process) -> Holder {
    (process.pid, process.gpu.clone(), process.mig)
}

/// Processes whose memory is kept over time: 5 kB each.
const MOST_PROCESSES: usize = 128;

/// The histories of one GPU.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// Utilization, frame by frame.
    utilization: Series,
    /// Every track over time, in the order of [`TRACKS`].
    tracks: [Spans; TRACKS.len()],
}

/// Histories of every GPU that was ever seen, and of the host's CPU.
#[derive(Clone, Debug, Default)]
pub struct Store {
    gpus: BTreeMap<String, Kept>,
    cpu: Series,
    /// Memory held by processes that are there.
    processes: BTreeMap<Holder, Series>,
    /// When the newest frames were taken, oldest first.
    times: VecDeque<Timestamp>,
}

impl Store {
    /// Takes one frame. A GPU that is missing or late leaves a gap, never a zero.
    pub fn push(&mut self, frame: &Frame) {
        self.rewind(frame.at);
        self.cpu.push(frame.host.machine.cpu_pct.value().map(|pct| pct.0));
        self.push_processes(frame);
        for gpu in &frame.gpus {
            if !self.gpus.contains_key(&gpu.key) {
                self.gpus.insert(gpu.key.clone(), Kept::default());
            }
        }
        for (key, kept) in &mut self.gpus {
            let gpu = frame.gpus.iter().find(|gpu| gpu.key == *key);
            for (spans, spec) in kept.tracks.iter_mut().zip(TRACKS) {
                let value = gpu.and_then(spec.read).map(|value| value as f32);
                spans.push(frame.at, value);
                if spec.track == Track::Utilization {
                    kept.utilization.push(value);
                }
            }
        }
    }

    /// One that ended is forgotten.
    fn push_processes(&mut self, frame: &Frame) {
        let mut before = std::mem::take(&mut self.processes);
        for process in frame.processes.iter().take(MOST_PROCESSES) {
            let id = holder(process);
            let mut series = before.remove(&id).unwrap_or_default();
            series.push(process.usage.gpu_memory_bytes.value().map(|bytes| bytes.0 as f32));
            self.processes.insert(id, series);
        }
    }

    /// Forgets what came after a time: a recording may go back.
    fn rewind(&mut self, at: Timestamp) {
        let later = self.times.iter().rev().take_while(|time| **time > at).count();
        if later > 0 {
            let series = self.gpus.values_mut().map(|kept| &mut kept.utilization);
            let processes = self.processes.values_mut();
            series.chain([&mut self.cpu]).chain(processes).for_each(|series| series.forget(later));
            self.times.truncate(self.times.len() - later);
        }
        if self.times.len() == CAPACITY {
            self.times.pop_front();
        }
        self.times.push_back(at);
    }

    /// Utilization in the newest frames, oldest first; empty for a GPU that was never seen.
    pub fn utilization(&self, gpu: &str) -> &[Option<f32>] {
        self.gpus.get(gpu).map_or(&[], |kept| kept.utilization.values())
    }

    /// A track over the span with this place in [`SPANS`], in so many steps up to now, oldest first.
    pub fn span(&self, gpu: &str, track: Track, span: usize, steps: usize) -> Vec<Option<f32>> {
        self.spans(gpu, track).map(|spans| spans.steps(span, (steps, 1))).unwrap_or_default()
    }

    /// The same in pairs of steps, of which each keeps its values while it goes left; the newest may be half empty.
    pub fn span_in_pairs(
        &self,
        gpu: &str,
        track: Track,
        span: usize,
        pairs: usize,
    ) -> Vec<Option<f32>> {
        let spans = self.spans(gpu, track);
        spans.map(|spans| spans.steps(span, (2 * pairs, 2))).unwrap_or_default()
    }

    /// How many pairs of [`Self::span_in_pairs`] lie behind the one with the value, of [`MEANS`], so many before the newest.
    pub fn pairs_behind(
        &self,
        (gpu, track): (&str, Track),
        span: usize,
        pairs: usize,
        back: usize,
    ) -> usize {
        let spans = self.spans(gpu, track);
        spans.map_or(0, |spans| spans.steps_behind(span, (2 * pairs, 2), back) / 2)
    }

    /// Whether a track has a value within the span with this place in [`SPANS`].
    pub fn has_span(&self, gpu: &str, track: Track, span: usize) -> bool {
        self.spans(gpu, track).is_some_and(|spans| spans.has_values(span))
    }

    fn spans(&self, gpu: &str, track: Track) -> Option<&Spans> {
        let position = TRACKS.iter().position(|spec| spec.track == track)?;
        self.gpus.get(gpu)?.tracks.get(position)
    }

    /// Memory a process held, oldest first.
    pub fn process_memory(&self, process: &Process) -> &[Option<f32>] {
        self.processes.get(&holder(process)).map_or(&[], Series::values)
    }

    /// Seconds from the first to the last of so many newest frames.
    pub fn seconds(&self, frames: usize) -> f64 {
        let first = self.times.len().saturating_sub(frames.max(1));
        let ends = self.times.get(first).zip(self.times.back());
        ends.map_or(0.0, |(first, last)| last.seconds_since(*first))
    }

    /// Host CPU use in percent, oldest first.
    pub fn cpu(&self) -> &[Option<f32>] {
        self.cpu.values()
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::{Bytes, Percent};

    use super::*;

    fn frame(keys: &[(&str, f32)]) -> Frame {
        let gpu = |&(key, pct): &(&str, f32)| {
            let mut gpu = Gpu { key: key.into(), ..Gpu::default() };
            gpu.vitals.util_gpu_pct = Percent(pct).into();
            gpu
        };
        Frame { gpus: keys.iter().map(gpu).collect(), ..Frame::default() }
    }

    #[test]
    fn a_gpu_that_goes_away_leaves_gaps_and_one_that_is_late_too() {
        let mut store = Store::default();
        store.push(&frame(&[("a", 10.0), ("b", 20.0)]));
        store.push(&frame(&[("b", 30.0)]));
        let mut late = frame(&[("a", 40.0), ("b", 50.0)]);
        late.gpus[1].make_late();
        store.push(&late);
        assert_eq!(store.utilization("a"), [Some(10.0), None, Some(40.0)]);
        assert_eq!(store.utilization("b"), [Some(20.0), Some(30.0), None]);
        assert_eq!(store.utilization("c"), []);
    }

    #[test]
    fn memory_of_processes_is_kept_while_they_are_there() {
        let held = |pid, bytes| {
            let mut process = Process { pid, ..Process::default() };
            process.usage.gpu_memory_bytes = Bytes(bytes).into();
            process
        };
        let mut store = Store::default();
        for processes in
            [vec![held(1, 5), held(2, 7)], vec![held(1, 6)], vec![held(1, 4), held(2, 9)]]
        {
            store.push(&Frame { processes, ..Frame::default() });
        }
        assert_eq!(store.process_memory(&held(1, 0)), [Some(5.0), Some(6.0), Some(4.0)]);
        assert_eq!(store.process_memory(&held(2, 0)), [Some(9.0)], "one that ended is forgotten");
    }

    #[test]
    fn time_is_that_of_the_frames() {
        let mut store = Store::default();
        assert_eq!(store.seconds(5), 0.0);
        for second in [1, 2, 12] {
            store.push(&Frame { at: Timestamp(second * 1000), ..Frame::default() });
        }
        let times = [0, 1, 2, 3, 9].map(|frames| store.seconds(frames));
        assert_eq!(times, [0.0, 0.0, 10.0, 11.0, 11.0]);
    }

    #[test]
    fn a_step_back_forgets_what_came_later() {
        let mut store = Store::default();
        for second in [1, 2, 3, 2] {
            let mut frame = frame(&[("a", second as f32)]);
            frame.at = Timestamp(second * 1000);
            store.push(&frame);
        }
        assert_eq!(store.utilization("a"), [Some(1.0), Some(2.0), Some(2.0)]);
    }

    #[test]
    fn memory_of_unknown_size_has_no_known_top() {
        let mut gpu = Gpu::default();
        gpu.vitals.memory_used_bytes = Bytes(5).into();
        let memory = TRACKS.iter().find(|spec| spec.track == Track::Memory).expect("listed");
        assert_eq!(((memory.read)(&gpu), (memory.ceiling)(&gpu)), (Some(5.0), None));
        gpu.vitals.memory_total_bytes = Bytes(0).into();
        assert_eq!((memory.ceiling)(&gpu), None);
        gpu.vitals.memory_total_bytes = Bytes(20).into();
        assert_eq!((memory.ceiling)(&gpu), Some(20.0));
    }
}
