//! The latest answers, and the frame made of them.

use std::time::Duration;

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::host::Machine;
use warpscope_probes::process::HostSide;
use warpscope_probes::provider::{GpuSection, HostSection};
use warpscope_probes::{Frame, Notice, Origin, SCHEMA, Severity, Timestamp};

use crate::io::source::{make_late, notice};

#[derive(Default)]
pub(super) struct State {
    seq: u64,
    pub(super) gpu: GpuSection,
    /// When the GPUs last answered.
    pub(super) gpu_at: Timestamp,
    pub(super) host: HostSection,
    /// That asking the host failed.
    pub(super) broken: Option<Notice>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Late {
    pub(super) gpu: bool,
    pub(super) host: bool,
}

impl State {
    /// Whether a GPU has not answered yet.
    pub(super) fn is_starting(&self) -> bool {
        self.gpu.gpus.iter().any(|gpu| gpu.presence == Presence::Starting)
    }

    pub(super) fn frame(&mut self, at: Timestamp, interval: Duration, late: Late) -> Frame {
        self.seq += 1;
        let mut frame = Frame {
            schema: SCHEMA,
            seq: self.seq,
            at,
            interval_s: interval.as_secs_f64(),
            origin: Origin::Local,
            ..Frame::default()
        };
        (frame.driver, frame.gpus) = (self.gpu.driver.clone(), self.gpu.gpus.clone());
        (frame.host, frame.processes) = (self.host.host.clone(), self.host.processes.clone());
        let notices = self.gpu.notices.iter().chain(&self.host.notices).chain(&self.broken);
        frame.notices = notices.cloned().collect();
        if late.gpu {
            mark_gpus_late(&mut frame, self.gpu_at);
        }
        if late.host {
            mark_host_late(&mut frame);
        }
        frame
    }
}

/// That asking failed inside this program.
pub(super) fn broken(name: &str) -> Notice {
    let what = format!("Reading {name} failed inside warpscope; its values may be old.");
    let remedy = "Please report this with the output of `warpscope doctor --redact`.";
    notice(&format!("provider.{name}"), Severity::Error, what, remedy)
}

fn mark_gpus_late(frame: &mut Frame, last: Timestamp) {
    make_late(&mut frame.gpus, frame.processes.iter_mut().map(|process| &mut process.usage));
    let what = match frame.driver.status {
        DriverState::Starting => "The NVIDIA driver has not answered yet.".to_owned(),
        _ => {
            let last = last.to_string();
            let time = last.get(11..19).unwrap_or(&last);
            format!("The NVIDIA driver has stopped answering; its values of {time}Z are shown dim.")
        }
    };
    let remedy = "Loading the driver takes seconds without persistence mode (nvidia-smi -pm 1); otherwise look for Xid messages in dmesg.";
    frame.notices.push(notice("driver.late", Severity::Warning, what, remedy));
}

fn mark_host_late(frame: &mut Frame) {
    for field in Machine::FIELDS {
        (field.make_late)(&mut frame.host.machine);
    }
    for process in &mut frame.processes {
        for field in HostSide::FIELDS {
            (field.make_late)(&mut process.host);
        }
    }
}
