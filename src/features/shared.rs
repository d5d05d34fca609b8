//! What several features read. The shell alone changes it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use warpscope_kernels::Dtype;
use warpscope_probes::catalogue::How;
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::env::ProcessUse;
use warpscope_probes::text::printable;
use warpscope_probes::{Frame, Gpu, Origin, Timestamp};

use super::display::Display;
use super::what_if::WhatIf;
use crate::engine::{Outcome, Verdict};
use crate::io::source::Position;
use crate::store::Store;
use crate::widgets::theme::Role;

/// What the user has set for this run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seconds between frames.
    pub interval: Duration,
    /// Never send a signal to a process.
    pub readonly: bool,
    /// Scan this machine for installed packages.
    pub inspect: bool,
    /// Name of the theme in use, or its file.
    pub theme: OsString,
}

/// What several features read.
#[derive(Debug)]
pub struct Shared {
    /// The newest frame taken, what-if GPUs included.
    pub frame: Frame,
    /// Histories.
    pub store: Store,
    /// GPUs of the catalogue in view.
    pub what_if: WhatIf,
    /// What the user has set.
    pub settings: Settings,
    /// What the user has set about the screen.
    pub display: Display,
    /// Where the recording stands; `None` on a live source.
    pub replay: Option<Position>,
    /// Verdicts in short, by the place of the GPU in the frame.
    pub judged: Vec<Arc<Judged>>,
    /// Whether the rules are still being read, so that there are no verdicts yet.
    pub awaits_rules: bool,
    /// What is installed on this machine, once somebody has looked.
    pub survey: Option<Arc<EnvironmentScan>>,
    /// What the benchmark of the CPU has reached; none while nobody has asked for it.
    pub cpu_decode: Option<CpuDecode>,
    /// What the benchmark has reached on GPUs, by [`Gpu::key`].
    pub gpu_decode: BTreeMap<String, GpuDecode>,
    /// Alerts since the user last opened the notices, oldest first.
    pub unread: Vec<Alert>,
}

/// Something that happened and was worth interrupting the user for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// What happened, to whom.
    pub text: String,
    /// [`Gpu::key`] of the GPU it happened to, if it was one.
    pub gpu: Option<String>,
}

impl Shared {
    /// Before anything has happened.
    pub fn new(settings: Settings, what_if: WhatIf) -> Self {
        Self {
            frame: Frame::default(),
            store: Store::default(),
            what_if,
            settings,
            display: Display::default(),
            replay: None,
            judged: Vec::new(),
            awaits_rules: false,
            survey: None,
            cpu_decode: None,
            gpu_decode: BTreeMap::new(),
            unread: Vec::new(),
        }
    }

    /// What a process uses, once somebody has looked.
    pub fn uses(&self, pid: u32) -> Option<&ProcessUse> {
        self.survey.as_ref()?.process(pid)
    }

    /// Whether the machine runs on battery.
    pub fn on_battery(&self) -> bool {
        on_battery(&self.frame)
    }

    /// Whether it does since the newest frame, this being the one before it.
    pub fn was_unplugged(&self, before: &Frame) -> bool {
        self.on_battery() && !on_battery(before)
    }
}

fn on_battery(frame: &Frame) -> bool {
    frame.host.machine.on_battery.last() == Some(&true)
}

/// Every verdict on one kind of GPU, in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// How it computes in every number format; empty while its compute capability is unknown.
    pub dtypes: Vec<(Dtype, How)>,
    /// How many configurations have each outcome, those that do not occur left out.
    pub counts: Vec<(Outcome, usize)>,
    /// The most important of what fails.
    pub worst: Option<Verdict>,
}

/// What the benchmark of the CPU has reached, for whoever shows it beside something else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuDecode {
    /// Why it does not run, where it does not.
    pub waits: Option<String>,
    /// Decode rate of each path: label, colour, tokens per second.
    pub rates: Vec<(&'static str, Role, Option<f64>)>,
}

/// What the micro decoder has reached on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuDecode {
    /// Decode rate of each path that was measured: label, tokens per second.
    pub rates: Vec<(&'static str, f64)>,
    /// When the newest of them came.
    pub at: Timestamp,
}

/// The name of a frame's machine, as the user gave it; none is this one.
pub fn machine_name(frame: &Frame) -> &str {
    match &frame.origin {
        Origin::Remote { host } | Origin::Replay { host: Some(host), .. } => host,
        Origin::Replay { host: None, .. } | Origin::Local => "",
    }
}

/// As much of a GPU's name as tells it apart.
pub fn short_name(name: &str) -> String {
    const NOISE: &[&str] = &["NVIDIA ", "GeForce ", "Tesla ", "Quadro "];
    NOISE.iter().fold(name.to_owned(), |name, noise| name.replace(noise, ""))
}

/// A GPU as a line to copy: the word for it, and name and UUID.
pub fn copied_gpu(gpu: &Gpu) -> (&'static str, String) {
    let name = gpu.identity.name.last().cloned().unwrap_or_default();
    (
        "selected line",
        printable(&format!("{name} {}", gpu.identity.uuid.last().unwrap_or(&gpu.key))),
    )
}
