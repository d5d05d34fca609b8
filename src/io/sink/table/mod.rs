//! A frame as text for people: GPUs, processes, host, notices.
//!
//! Columns are rows of a table, each with a rank: where the terminal is too narrow, the least
//! important go first. An absent value is a dash and the word for why; it is never a zero.

mod grid;

use warpscope_probes::gpu::{Gpu, Presence};
use warpscope_probes::process::{Process, ProcessKind, Visibility};
use warpscope_probes::{Absence, Frame, Origin, Reading, Scalar, Severity};

use crate::text::{bytes, clean, fit};
pub(crate) use grid::{Column, grid};

/// How a table is drawn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Columns there are; `None` for as many as it takes.
    pub width: Option<usize>,
    /// ASCII characters only.
    pub ascii: bool,
    /// Bold heads.
    pub color: bool,
}

/// A whole frame as text.
pub fn frame(frame: &Frame, style: Style) -> String {
    let mut text = head(frame, style);
    if !frame.gpus.is_empty() {
        text.push('\n');
        text += &grid(GPU_COLUMNS, &frame.gpus, style);
    }
    if !frame.processes.is_empty() {
        text.push('\n');
        text += &grid(PROCESS_COLUMNS, &processes(frame), style);
    }
    text.push('\n');
    text + &host(frame, style) + &notices(frame, style)
}

/// One word for where a device stands.
pub fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Starting => "starting",
        Presence::Present => "present",
        Presence::Suspended => "suspended",
        Presence::Lost => "lost",
        Presence::WhatIf => "what-if",
    }
}

const GPU_COLUMNS: &[Column<Gpu>] = &[
    Column::right("gpu", 0, |gpu, _| gpu.index.to_string()),
    Column::left("name", 0, |gpu, s| words(&gpu.identity.name, s)),
    Column::left("state", 1, |gpu, _| presence(gpu.presence).to_owned()),
    Column::right("use", 0, |gpu, s| unit(&gpu.vitals.util_gpu_pct, s)),
    Column::right("memory", 0, memory),
    Column::right("power", 2, power),
    Column::right("temp", 1, |gpu, s| unit(&gpu.vitals.temperature_c, s)),
    Column::right("clock", 5, |gpu, s| unit(&gpu.vitals.clock_sm_mhz, s)),
    Column::left("held by", 4, held),
    Column::left("cc", 3, |gpu, s| words(&gpu.identity.sm, s)),
    Column::left("pci", 6, |gpu, s| words(&gpu.identity.pci_bus_id, s)),
];

/// A process with the number of its GPU.
struct Row {
    gpu: Option<u32>,
    process: Process,
}

const PROCESS_COLUMNS: &[Column<Row>] = &[
    Column::right("pid", 0, |row, _| row.process.pid.to_string()),
    Column::right("gpu", 0, |row, s| {
        row.gpu.map_or_else(|| dash(s).to_owned(), |index| index.to_string())
    }),
    Column::left("kind", 3, |row, _| kind(row.process.kind).to_owned()),
    Column::left("user", 1, |row, s| words(&row.process.host.user, s)),
    Column::right("gpu mem", 0, |row, s| {
        sized(&row.process.usage.gpu_memory_bytes.clone().map(|size| size.0), s)
    }),
    Column::right("sm", 2, |row, s| unit(&row.process.usage.sm_pct, s)),
    Column::right("cpu", 4, |row, s| unit(&row.process.host.cpu_pct, s)),
    Column::left("command", 0, command),
];

fn processes(frame: &Frame) -> Vec<Row> {
    let index = |key: &str| frame.gpus.iter().find(|gpu| gpu.key == key).map(|gpu| gpu.index);
    let row = |process: &Process| Row { gpu: index(&process.gpu), process: process.clone() };
    frame.processes.iter().map(row).collect()
}

fn dash(style: Style) -> &'static str {
    if style.ascii { "-" } else { "–" }
}

fn absent(why: &Absence, style: Style) -> String {
    format!("{} {}", dash(style), why.word())
}

/// A reading through its own wording; a late one says so.
fn shown<T>(reading: &Reading<T>, style: Style, print: impl Fn(&T) -> String) -> String {
    match (reading.last(), reading.absence()) {
        (Some(value), Some(_)) => format!("{} late", print(value)),
        (Some(value), None) => print(value),
        (None, why) => absent(&why.unwrap_or(Absence::Unsupported), style),
    }
}

fn words<T: Scalar>(reading: &Reading<T>, style: Style) -> String {
    shown(reading, style, Scalar::text)
}

fn unit<T: Scalar>(reading: &Reading<T>, style: Style) -> String {
    let unit = if style.ascii && T::UNIT == "°C" { "C" } else { T::UNIT };
    let gap = if unit == "%" { "" } else { " " };
    shown(reading, style, |value| format!("{}{gap}{unit}", value.text()))
}

fn sized(reading: &Reading<u64>, style: Style) -> String {
    shown(reading, style, |size| bytes(*size))
}

fn memory(gpu: &Gpu, style: Style) -> String {
    let vitals = &gpu.vitals;
    let total = vitals.memory_total_bytes.last().map(|size| format!(" / {}", bytes(size.0)));
    let used = sized(&vitals.memory_used_bytes.clone().map(|size| size.0), style);
    used + &total.unwrap_or_default()
}

fn power(gpu: &Gpu, style: Style) -> String {
    let limit = gpu.vitals.power_limit_w.last().map(|limit| format!(" / {:.0} W", limit.0));
    shown(&gpu.vitals.power_w, style, |watts| format!("{:.0} W", watts.0))
        + &limit.unwrap_or_default()
}

/// What holds the clocks back.
fn held(gpu: &Gpu, style: Style) -> String {
    shown(&gpu.throttle.active, style, |reasons| {
        let slowing = reasons.iter().filter(|reason| reason.slows()).map(|reason| reason.words());
        let mut all: Vec<_> = slowing.map(str::to_owned).collect();
        if gpu.throttle.unknown_bits != 0 {
            all.push(format!("unknown reason {:#x}", gpu.throttle.unknown_bits));
        }
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    })
}

fn kind(kind: ProcessKind) -> &'static str {
    match kind {
        ProcessKind::Compute => "compute",
        ProcessKind::Graphics => "graphics",
        ProcessKind::ComputeAndGraphics => "compute, graphics",
        ProcessKind::Mps => "MPS",
    }
}

fn command(row: &Row, style: Style) -> String {
    let host = &row.process.host;
    match row.process.visibility {
        Visibility::OtherNamespace => "(outside this pid namespace)".to_owned(),
        Visibility::Gone => "(ended)".to_owned(),
        _ if host.command.last().is_some() => words(&host.command, style),
        _ => words(&host.name, style),
    }
}

/// Two lines: where and when, and the driver.
fn head(frame: &Frame, style: Style) -> String {
    let dot = if style.ascii { "|" } else { "·" };
    let from = match &frame.origin {
        Origin::Local => String::new(),
        Origin::Replay { file, host: None } => format!(" {dot} replay of {file}"),
        Origin::Replay { file, host: Some(host) } => format!(" {dot} {host}, replay of {file}"),
        Origin::Remote { host } => format!(" {dot} from {host}"),
    };
    let host = words(&frame.host.machine.hostname, style);
    let versions = &frame.driver.versions;
    let driver = match versions.driver.last() {
        Some(driver) => format!("driver {driver} {dot} CUDA {}", words(&versions.cuda, style)),
        None => "no NVIDIA driver answers".to_owned(),
    };
    lines([format!("{host} {dot} {}{from}", frame.at), driver], style)
}

fn host(frame: &Frame, style: Style) -> String {
    let machine = &frame.host.machine;
    let memory = |used: &Reading<_>| {
        sized(&used.clone().map(|size: warpscope_probes::units::Bytes| size.0), style)
    };
    let cpu = format!(
        "cpu    {} | {} cores | {} in use",
        words(&machine.cpu_name, style),
        words(&machine.cpu_cores, style),
        unit(&machine.cpu_pct, style)
    );
    let rest = format!(
        "memory {} / {} | load {}",
        memory(&machine.memory_used_bytes),
        memory(&machine.memory_total_bytes),
        shown(&machine.load_1, style, |load| format!("{load:.2}"))
    );
    let dotted = |line: String| if style.ascii { line } else { line.replace(" | ", " · ") };
    lines([cpu, rest].map(dotted), style)
}

fn notices(frame: &Frame, style: Style) -> String {
    let all = frame.notices.iter().map(|notice| {
        let mark = match notice.severity {
            Severity::Info => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let text = format!("{mark}: {} {}", notice.what, notice.remedy);
        clean(text.trim_end(), style.ascii).into_owned() + "\n"
    });
    let all: String = all.collect();
    if all.is_empty() { all } else { format!("\n{all}") }
}

/// Lines cut to the width there is.
fn lines<const N: usize>(lines: [String; N], style: Style) -> String {
    let fitted = lines.map(|line| {
        let line = clean(&line, style.ascii).into_owned();
        fit(&line, style.width.unwrap_or(usize::MAX), style.ascii).into_owned() + "\n"
    });
    fitted.concat()
}

#[cfg(test)]
mod tests;
