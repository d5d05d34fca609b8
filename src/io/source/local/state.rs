//! The latest answers, and the frame made of them.

use std::time::Duration;

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::host::Machine;
use warpscope_probes::process::{HostSide, Usage};
use warpscope_probes::provider::{GpuSection, HostSection};
use warpscope_probes::{Frame, Notice, Origin, SCHEMA, Severity, Timestamp};

#[derive(Default)]
pub(super) struct State {
    /// Whether there is an answer that the host thread has not looked at yet.
    pub(super) answered: bool,
    seq: u64,
    pub(super) gpu: Option<GpuSection>,
    /// When the GPUs last answered.
    pub(super) gpu_at: Timestamp,
    pub(super) host: Option<HostSection>,
    pub(super) broken: Vec<Notice>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Late {
    pub(super) gpu: bool,
    pub(super) host: bool,
}

impl State {
    /// Whether a GPU has not answered yet.
    pub(super) fn is_starting(&self) -> bool {
        let gpus = self.gpu.iter().flat_map(|section| &section.gpus);
        gpus.into_iter().any(|gpu| gpu.presence == Presence::Starting)
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
        if let Some(gpu) = &self.gpu {
            frame.driver = gpu.driver.clone();
            frame.gpus = gpu.gpus.clone();
            frame.notices = gpu.notices.clone();
        }
        if let Some(host) = &self.host {
            frame.host = host.host.clone();
            frame.processes = host.processes.clone();
            frame.notices.extend(host.notices.iter().cloned());
        }
        frame.notices.extend(self.broken.iter().cloned());
        if late.gpu {
            mark_gpus_late(&mut frame, self.gpu_at);
        }
        if late.host {
            mark_host_late(&mut frame);
        }
        frame
    }
}

fn mark_gpus_late(frame: &mut Frame, last: Timestamp) {
    for gpu in &mut frame.gpus {
        gpu.make_late();
    }
    for process in &mut frame.processes {
        for field in Usage::FIELDS {
            (field.make_late)(&mut process.usage);
        }
    }
    let what = match frame.driver.status {
        DriverState::Starting => "The NVIDIA driver has not answered yet.".to_owned(),
        _ => {
            let last = last.to_string();
            let time = last.get(11..19).unwrap_or(&last);
            format!("The NVIDIA driver has stopped answering; its values of {time}Z are shown dim.")
        }
    };
    frame.notices.push(Notice {
        id: "driver.late".into(),
        severity: Severity::Warning,
        what,
        remedy: "Loading the driver takes seconds without persistence mode (nvidia-smi -pm 1); otherwise look for Xid messages in dmesg.".into(),
    });
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
