//! What the cells of a table of processes say.

use warpscope_probes::process::{Process, ProcessKind, Visibility};
use warpscope_probes::units::Bytes;
use warpscope_probes::{Frame, Reading, Scalar, Timestamp};

use crate::features::Shared;
use crate::widgets::format;
use crate::widgets::theme::Role;

/// Index of the GPU, with the MIG instance.
pub(crate) fn gpu(shared: &Shared, process: &Process) -> String {
    let position = shared.frame.gpus.iter().find(|gpu| gpu.key == process.gpu);
    let index = position.map_or("?".to_owned(), |gpu| gpu.index.to_string());
    process.mig.map_or(index.clone(), |mig| format!("{index}:{mig}"))
}

/// What is said in place of a table without a process.
pub(crate) fn nobody(frame: &Frame) -> &'static str {
    if frame.without_processes {
        return "The source of these values does not report processes.";
    }
    match frame.host.machine.container.value() {
        Some(_) => "No process is seen on a GPU in view; a container hides those outside it.",
        None => "No process uses a GPU in view.",
    }
}

/// What it uses the GPU for.
pub(crate) fn kind(kind: ProcessKind) -> &'static str {
    match kind {
        ProcessKind::Compute => "C",
        ProcessKind::Graphics => "G",
        ProcessKind::ComputeAndGraphics => "C+G",
        ProcessKind::Mps => "MPS",
    }
}

/// A value, or why there is none.
pub(crate) fn plain<T: Scalar>(reading: &Reading<T>) -> (String, Role) {
    match (reading.last(), reading.absence()) {
        (Some(value), None) => (value.text(), Role::Text),
        (Some(value), Some(_)) => (value.text(), Role::Late),
        (None, absence) => (absence.map_or("n/a", |absence| absence.word()).into(), Role::Absent),
    }
}

/// Bytes, or why they are not known.
pub(crate) fn size(shared: &Shared, reading: &Reading<Bytes>) -> (String, Role) {
    let (text, role) = plain(reading);
    (
        reading.last().map_or(text, |bytes| shared.display.units.bytes(bytes.0 as f64).to_string()),
        role,
    )
}

/// The frameworks it has mapped.
pub(crate) fn uses(shared: &Shared, process: &Process) -> (String, Role) {
    let used = shared.uses(process.pid);
    match used {
        Some(used) if !used.packages.is_empty() => (used.packages.join(", "), Role::Text),
        Some(used) if used.hidden.is_some() => ("hidden".into(), Role::Absent),
        Some(_) => ("none known".into(), Role::Muted),
        None => (format::ABSENT.into(), Role::Absent),
    }
}

/// Time since it was started.
pub(crate) fn age(shared: &Shared, process: &Process) -> (String, Role) {
    let seconds = |start: Timestamp| shared.frame.at.seconds_since(start).max(0.0);
    match process.started_at {
        Some(start) => (format::duration(seconds(start)).to_string(), Role::Text),
        None => (format::ABSENT.into(), Role::Absent),
    }
}

/// The command line, or why it is not known.
pub(crate) fn command(process: &Process) -> (String, Role) {
    match process.visibility {
        Visibility::OtherNamespace => ("in another pid namespace".into(), Role::Muted),
        Visibility::Gone => ("ended".into(), Role::Muted),
        Visibility::Unknown | Visibility::Visible => match process.host.command.last() {
            Some(command) if !command.is_empty() => (command.clone(), Role::Text),
            _ => plain(&process.host.name),
        },
    }
}
