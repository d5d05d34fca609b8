//! What NVIDIA's own tool tells of the GPUs of a machine where nothing else may run.
//!
//! `nvidia-smi` and the usual tools of Unix print [`Part`]s, each behind its heading; this reads them. It is told less than the driver's
//! library tells: what it is not told is absent.

mod fields;

use std::collections::BTreeMap;
use std::time::Duration;

use self::fields::{QUERIES, mebibytes, words};
use crate::catalogue::{Catalogue, enrich};
use crate::driver::{Driver, DriverState};
use crate::gpu::{Gpu, Presence};
use crate::host::Host;
use crate::process::{Process, Visibility};
use crate::reading::Reading;
use crate::time::Timestamp;
use crate::units::{Bytes, Seconds};
use crate::{Frame, Notice, SCHEMA, Severity};

/// A part of what is read, by its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `nvidia-smi --query-gpu`, every field.
    Gpus,
    /// The same, of the fields old drivers know.
    OldGpus,
    /// `nvidia-smi --query-compute-apps=gpu_uuid,pid,used_gpu_memory,process_name`.
    Processes,
    /// `ps` of these: pid, user, seconds since the start, command.
    Owners,
    /// Lines of the kernel and of `uname`, each behind a word.
    Machine,
}

const PARTS: [Part; 5] = [Part::Gpus, Part::OldGpus, Part::Processes, Part::Owners, Part::Machine];

impl Part {
    /// The line before the part.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Gpus => "#gpus",
            Self::OldGpus => "#old-gpus",
            Self::Processes => "#processes",
            Self::Owners => "#owners",
            Self::Machine => "#machine",
        }
    }
}

/// What stands after the last part.
pub const END: &str = "#end";

/// The fields to ask `nvidia-smi --query-gpu` for; `old`: those that drivers of before 2021 know too.
pub fn query(old: bool) -> String {
    let asked: Vec<&str> = asked(old).map(|query| query.name).collect();
    asked.join(",")
}

fn asked(old: bool) -> impl Iterator<Item = &'static fields::Query> {
    QUERIES.iter().filter(move |query| query.old || !old)
}

/// A frame of the lines between two [`END`]s.
pub fn frame(text: &str, at: Timestamp) -> Frame {
    let mut frame = Frame { schema: SCHEMA, at, ..Frame::default() };
    let mut trouble = Vec::new();
    let mut owners = BTreeMap::new();
    let mut part = None;
    for line in text.lines().map(|line| line.trim_end_matches('\r')) {
        if let Some(named) = PARTS.into_iter().find(|part| part.heading() == line) {
            part = Some(named);
            continue;
        }
        match part {
            Some(kind @ (Part::Gpus | Part::OldGpus)) => match gpu(line, kind == Part::OldGpus) {
                Some((gpu, driver)) => {
                    frame.driver.versions.driver = words(driver);
                    frame.gpus.push(gpu);
                }
                None if !line.is_empty() => trouble.push(line),
                None => {}
            },
            Some(Part::Processes) => frame.processes.extend(process(line)),
            Some(Part::Owners) => owners.extend(owner(line)),
            Some(Part::Machine) => machine(&mut frame.host, &mut frame.driver, line),
            None => {}
        }
    }
    for process in &mut frame.processes {
        if let Some(owner) = owners.get(&process.pid) {
            owner.fill(process, at);
        }
    }
    frame.driver.status = match (frame.gpus.is_empty(), trouble.last()) {
        (false, _) => DriverState::Ready,
        (true, None) => DriverState::Starting,
        (true, Some(&"No devices were found")) => DriverState::NoDevice,
        (true, Some(why)) => DriverState::Failed { error: (*why).to_owned() },
    };
    frame.notices.extend(frame.driver.status.explain());
    if !frame.gpus.is_empty() && !trouble.is_empty() {
        frame.notices.push(not_told(&trouble.join(" ")));
    }
    frame
}

/// Of GPUs that are not in the answer beside others that are.
fn not_told(words: &str) -> Notice {
    Notice {
        id: "nvidia_smi.error".to_owned(),
        severity: Severity::Error,
        what: format!("nvidia-smi reports an error: {words}"),
        remedy: "See what the kernel says on that machine: sudo dmesg | grep -i nvrm".to_owned(),
    }
}

/// A GPU and the version of its driver; `None` where the line is no answer.
fn gpu(line: &str, old: bool) -> Option<(Gpu, &str)> {
    let count = asked(old).count();
    let answers: Vec<&str> = line.splitn(count, ", ").map(str::trim).collect();
    if answers.len() != count {
        return None;
    }
    let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
    for (query, answer) in asked(old).zip(&answers) {
        (query.fill)(&mut gpu, answer);
    }
    let driver = asked(old).position(|query| query.name == "driver_version")?;
    if answers.iter().any(|answer| answer.contains("GPU is lost")) {
        gpu.presence = Presence::Lost;
    }
    let (uuid, bus) = (gpu.identity.uuid.value(), gpu.identity.pci_bus_id.value());
    gpu.key = uuid.cloned().or_else(|| bus.map(|bus| format!("pci:{bus}")))?;
    complete(&mut gpu);
    Some((gpu, answers[driver]))
}

/// Adds what follows from the model of the GPU.
fn complete(gpu: &mut Gpu) {
    let catalogue = Catalogue::load();
    let id = gpu.identity.pci_device_id.value().copied().unwrap_or_default();
    if gpu.identity.sm == Reading::Unsupported
        && let [first, rest @ ..] = &catalogue.by_pci_id(id)[..]
        && rest.iter().all(|part| part.sm == first.sm)
    {
        gpu.identity.sm = first.sm.into();
    }
    let arch = gpu.identity.sm.value().and_then(|sm| catalogue.arch(*sm));
    gpu.identity.architecture =
        arch.map_or(Reading::Unsupported, |arch| arch.family.clone().into());
    enrich(gpu);
}

fn process(line: &str) -> Option<Process> {
    let mut parts = line.splitn(4, ", ").map(str::trim);
    let (gpu, pid) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
    let mut process = Process { pid, gpu, ..Process::default() };
    process.usage.gpu_memory_bytes = mebibytes(parts.next()?);
    process.host.name = words(parts.next()?);
    Some(process)
}

/// What `ps` says of a process.
struct Owner<'a> {
    user: &'a str,
    age: Option<Duration>,
    command: &'a str,
}

impl Owner<'_> {
    fn fill(&self, process: &mut Process, at: Timestamp) {
        process.visibility = Visibility::Visible;
        process.host.user = self.user.to_owned().into();
        process.host.command = self.command.to_owned().into();
        let age = self.age.and_then(|age| u64::try_from(age.as_millis()).ok());
        process.started_at = age.and_then(|age| at.0.checked_sub(age)).map(Timestamp);
        if let Some(started) = process.started_at {
            process.host.started = started.to_string().into();
        }
    }
}

fn owner(line: &str) -> Option<(u32, Owner<'_>)> {
    let (pid, rest) = word(line)?;
    let (user, rest) = word(rest)?;
    let (age, command) = word(rest)?;
    let age = age.parse().ok().map(Duration::from_secs);
    Some((pid.parse().ok()?, Owner { user, age, command: command.trim() }))
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).or_else(|| (!text.is_empty()).then_some((text, "")))
}

fn machine(host: &mut Host, driver: &mut Driver, line: &str) {
    let Some((name, rest)) = word(line) else { return };
    let rest = rest.trim();
    let mut numbers = rest.split_whitespace().map(str::parse::<f64>);
    let mut number = || numbers.next().and_then(Result::ok).filter(|value| value.is_finite());
    let machine = &mut host.machine;
    match name {
        "hostname" => machine.hostname = words(rest),
        "kernel" => machine.kernel = words(rest),
        "cuda" => {
            let version = rest.rsplit(' ').next().filter(|version| !version.is_empty());
            driver.versions.cuda = version.map_or(Reading::Unsupported, |it| it.to_owned().into());
        }
        "cores" => machine.cpu_cores = fields::number(rest),
        "load" => {
            let mut set = |slot: &mut Reading<f64>| {
                if let Some(value) = number() {
                    *slot = value.into();
                }
            };
            set(&mut machine.load_1);
            set(&mut machine.load_5);
            set(&mut machine.load_15);
        }
        "uptime" => {
            if let Some(seconds) = number() {
                machine.uptime_s = Seconds(seconds).into();
            }
        }
        _ => memory(host, name, rest),
    }
}

/// A line of `/proc/meminfo`.
fn memory(host: &mut Host, name: &str, rest: &str) {
    let bytes = || rest.strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024);
    let Some(bytes) = bytes() else { return };
    let machine = &mut host.machine;
    let less = |total: &Reading<Bytes>| {
        total
            .value()
            .map_or(Reading::Unsupported, |total| Bytes(total.0.saturating_sub(bytes)).into())
    };
    match name {
        "MemTotal:" => machine.memory_total_bytes = Bytes(bytes).into(),
        "MemAvailable:" => machine.memory_used_bytes = less(&machine.memory_total_bytes),
        "SwapTotal:" => machine.swap_total_bytes = Bytes(bytes).into(),
        "SwapFree:" => machine.swap_used_bytes = less(&machine.swap_total_bytes),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
