//! What the benchmark children have said so far: the CPU's, and those of the GPUs.

pub mod figures;
pub mod fleet;
pub mod gpu;
mod keys;
pub mod panel;
mod plan;
pub mod results;
mod tab;
mod update;

use std::collections::BTreeMap;

use warpscope_probes::{Frame, Gpu};

use self::fleet::Fleet;
use self::gpu::GpuBench;
pub use self::update::{Cmd, Msg};
use crate::features::Cursor;
use crate::store::Series;
use crate::worker::{BenchEvent, BenchState, Ceiling, Hello, PathDtype, PathReport};

/// Every path of the benchmark: weight profile and number format, in the order on screen.
pub const PATHS: &[(&str, PathDtype)] = &[
    ("clean", PathDtype::Fp32),
    ("clean", PathDtype::Fp16),
    ("clean", PathDtype::Bf16),
    ("clean", PathDtype::Int4),
    ("glm4", PathDtype::Fp32),
    ("glm4", PathDtype::Fp16),
    ("glm4", PathDtype::Bf16),
    ("glm4", PathDtype::Int4),
];

/// The path selected at first: fp16 on the clean profile, beside whose text the same format's overflow is seen.
pub const FIRST_SELECTED: usize = 1;

/// Where the benchmark stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not asked for.
    #[default]
    Off,
    /// Asked for; the child has not spoken yet.
    Starting,
    /// Computes.
    Running,
    /// Waits; the text says why.
    Paused(String),
    /// Ended by itself, all done.
    Finished,
    /// The child is gone; the text says how. The dashboard goes on.
    Died(String),
}

/// What the benchmark children have said so far, and what is selected of it.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Selected line of the selected device.
    pub cursor: Cursor,
    /// Selected GPU; behind the last one, the CPU.
    pub device: Cursor,
    /// The GPUs; everything else here is of the CPU.
    pub gpus: Fleet,
    /// Where it stands.
    pub phase: Phase,
    /// Who computes, within which budget.
    pub hello: Option<Hello>,
    /// What limits the paths.
    pub ceiling: Option<Ceiling>,
    /// Newest report per profile and path.
    pub reports: BTreeMap<(String, PathDtype), PathReport>,
    /// Decode rates over time, per path of the clean profile.
    pub rates: BTreeMap<PathDtype, Series>,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            cursor: Cursor { at: FIRST_SELECTED },
            device: Cursor::default(),
            gpus: Fleet::default(),
            phase: Phase::default(),
            hello: None,
            ceiling: None,
            reports: BTreeMap::new(),
            rates: BTreeMap::new(),
        }
    }
}

impl Bench {
    /// The GPUs of a frame there is a line for, in its order; the line behind the last is the CPU's.
    pub fn devices<'a>(&'a self, frame: &'a Frame) -> impl Iterator<Item = &'a Gpu> {
        frame.gpus.iter().filter(|gpu| self.gpus.get(&gpu.key).is_some())
    }

    /// The selected GPU, with what is known of its benchmark; none: the CPU is.
    pub fn selected_gpu<'a>(&'a self, frame: &'a Frame) -> Option<(&'a Gpu, &'a GpuBench)> {
        let gpu = self.devices(frame).nth(self.device.at)?;
        Some((gpu, self.gpus.get(&gpu.key)?))
    }

    /// How many lines there are below the selected device.
    pub fn lines(&self, frame: &Frame) -> usize {
        self.selected_gpu(frame).map_or(PATHS.len(), |(_, bench)| bench.lines().len())
    }

    /// Takes one line of the child.
    pub fn take(&mut self, event: BenchEvent) {
        match event {
            BenchEvent::Hello(hello) => {
                self.hello = Some(hello);
                self.phase = Phase::Running;
            }
            BenchEvent::Ceiling(ceiling) => self.ceiling = Some(ceiling),
            BenchEvent::State(BenchState::Running) => self.phase = Phase::Running,
            BenchEvent::State(BenchState::Paused { why }) => self.phase = Phase::Paused(why),
            BenchEvent::State(BenchState::Finished) => self.phase = Phase::Finished,
            BenchEvent::Report(report) => self.report(*report),
            BenchEvent::Samples(_)
            | BenchEvent::Device(_)
            | BenchEvent::Holding(_)
            | BenchEvent::Kernel(_)
            | BenchEvent::Skipped(_)
            | BenchEvent::Contest(_)
            | BenchEvent::Headroom(_)
            | BenchEvent::Case(_)
            | BenchEvent::Probe(_)
            | BenchEvent::Goal(_)
            | BenchEvent::Failed(_) => {}
        }
    }

    fn report(&mut self, report: PathReport) {
        if report.complete && report.profile == "clean" {
            let rate = report.decode_tokens_per_s.map(|rate| rate as f32);
            self.rates.entry(report.dtype).or_default().push(rate);
        }
        self.reports.insert((report.profile.clone(), report.dtype), report);
    }

    /// Newest report of a path.
    pub fn path(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        self.reports.get(&(profile.to_owned(), dtype))
    }

    /// The child has ended. What it measured stays, as what it is: measured before.
    pub fn ended(&mut self, how: String) {
        if self.phase != Phase::Finished && self.phase != Phase::Off {
            self.phase = Phase::Died(how);
        }
    }

    /// One line on where it stands.
    pub fn status(&self) -> String {
        match &self.phase {
            Phase::Off => "off; b starts it".into(),
            Phase::Starting => "starting".into(),
            Phase::Running => "running".into(),
            Phase::Paused(why) => format!("paused {why}; b continues"),
            Phase::Finished => "finished".into(),
            Phase::Died(how) => format!("the benchmark process {how}; b starts it again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_dies_is_told_apart_from_one_that_finishes() {
        let mut bench = Bench { phase: Phase::Running, ..Bench::default() };
        bench.ended("was killed by signal 9".into());
        assert_eq!(
            bench.status(),
            "the benchmark process was killed by signal 9; b starts it again"
        );
        bench.take(BenchEvent::State(BenchState::Finished));
        bench.ended("exited with 0".into());
        assert_eq!(bench.phase, Phase::Finished);
    }
}
