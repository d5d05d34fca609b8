//! Facts of this machine that decide between the causes of an error.

mod environment;
mod host;
pub(crate) mod kernel_log;
mod libraries;

use std::env::consts::OS;
use std::path::PathBuf;

use warpscope_probes::Frame;
use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::process::Process;

pub(crate) use self::libraries::{active_environment, is_environment, libraries};
use crate::engine::Target;
use crate::engine::explain::{Digest, Facts, Origin, names_another_gpu};
use crate::text;

/// Bytes read of a small file.
const SMALL: u64 = 64 << 10;

/// The value of an environment variable, of this process or of the one that is asked about.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is true on the machine of a frame, where the text can come from there: it has a GPU, and the text names no other.
/// Variables come with a frame of this machine.
pub(crate) fn facts_for(digest: &Digest, frame: &Frame, variable: Option<Variable<'_>>) -> Facts {
    let Some(gpu) = frame.gpus.first() else { return Facts::default() };
    let another = Target::from_gpu(gpu, &frame.driver).sm.is_some_and(|sm| {
        names_another_gpu(digest, f64::from(u32::from(sm.major) * 10 + u32::from(sm.minor)) / 10.0)
    });
    match variable {
        _ if another => Facts::default(),
        Some(variable) => of_here(frame, variable),
        None => of_frame(frame),
    }
}

/// What is true on this machine.
pub(crate) fn of_here(frame: &Frame, variable: Variable<'_>) -> Facts {
    let mut facts = of_frame(frame);
    if OS == "linux" {
        host::facts(&mut facts, frame, variable);
        kernel_log::facts(&mut facts);
    }
    facts
}

/// What a frame says about its machine.
fn of_frame(frame: &Frame) -> Facts {
    let mut facts = Facts::default();
    driver(&mut facts, frame);
    memory(&mut facts, frame);
    if let Some(gpu) = frame.gpus.first() {
        let is_real = gpu.presence != Presence::WhatIf;
        let origin = if is_real { Origin::Here } else { Origin::Named };
        state_gpu(&mut facts, &Target::from_gpu(gpu, &frame.driver), origin);
    }
    facts
}

fn driver(facts: &mut Facts, frame: &Frame) {
    let versions = &frame.driver.versions;
    let known = [
        ("driver_version", &versions.driver),
        ("driver_cuda", &versions.cuda),
        ("kernel", &frame.host.machine.kernel),
    ];
    for (name, reading) in known {
        if let Some(value) = reading.value() {
            facts.state(name, value, Origin::Here);
        }
    }
    match frame.driver.status {
        DriverState::Starting | DriverState::Failed { .. } => {}
        DriverState::LibraryMissing => facts.count("driver_found", 0.0, Origin::Here),
        _ => facts.count("driver_found", 1.0, Origin::Here),
    }
    let container = frame.host.machine.container.value().is_some();
    facts.count("in_container", f64::from(u8::from(container)), Origin::Here);
    facts.count("gpu_count", frame.gpus.len() as f64, Origin::Here);
    let mig = frame.gpus.iter().any(|gpu| !gpu.mig.is_empty());
    facts.count("mig", f64::from(u8::from(mig)), Origin::Here);
}

fn memory(facts: &mut Facts, frame: &Frame) {
    let Some(gpu) = frame.gpus.first() else { return };
    let vitals = &gpu.vitals;
    for (name, reading) in
        [("total_bytes", &vitals.memory_total_bytes), ("free_bytes", &vitals.memory_free_bytes)]
    {
        if let Some(bytes) = reading.value() {
            facts.count(name, bytes.0 as f64, Origin::Here);
        }
    }
    holders(facts, frame, &gpu.key);
}

/// The processes with most of a GPU's memory.
fn holders(facts: &mut Facts, frame: &Frame, gpu: &str) {
    const TOLD: usize = 3;
    let bytes = |process: &Process| process.usage.gpu_memory_bytes.value().map_or(0, |it| it.0);
    let mut holders: Vec<&Process> =
        frame.processes.iter().filter(|one| one.gpu == gpu && bytes(one) > 0).collect();
    holders.sort_by_key(|process| std::cmp::Reverse(bytes(process)));
    let told = |process: &&Process| {
        let name = process.host.name.last().map_or("a process", String::as_str);
        let user = process.host.user.last().map(|user| format!(" of {user}")).unwrap_or_default();
        format!("{name}{user} (pid {}) {}", process.pid, text::bytes(bytes(process)))
    };
    let told: Vec<String> = holders.iter().take(TOLD).map(told).collect();
    if !told.is_empty() {
        facts.state("holders", &told.join(", "), Origin::Here);
        let pids: Vec<String> = holders.iter().take(TOLD).map(|one| one.pid.to_string()).collect();
        facts.state("holder_pids", &pids.join(","), Origin::Here);
    }
}

/// What a GPU says about itself.
pub(crate) fn state_gpu(facts: &mut Facts, gpu: &Target, origin: Origin) {
    facts.state("gpu", &gpu.label, origin);
    if let Some(sm) = gpu.sm {
        facts.count("cc", f64::from(u32::from(sm.major) * 10 + u32::from(sm.minor)) / 10.0, origin);
    }
    if let Some(bytes) = gpu.shared_memory_per_block {
        facts.count("limit_bytes", f64::from(bytes), origin);
    }
}

/// A variable of a process that runs.
pub(crate) fn of_process(pid: u64, name: &str) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{pid}/environ"));
    let text = bounded::text(&path, Accept::Files, SMALL).ok()?;
    let lines = text.split('\0').filter_map(|line| line.split_once('='));
    lines.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).next()
}
