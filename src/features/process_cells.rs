//! What the cells of a table of processes say.

use std::borrow::Cow;

use warpscope_probes::gpu::Presence;
use warpscope_probes::process::{Process, ProcessKind, Visibility};
use warpscope_probes::text::printable;
use warpscope_probes::units::Bytes;
use warpscope_probes::{Frame, Gpu, Reading, Scalar, Timestamp};

use crate::features::Shared;
use crate::widgets::format;
use crate::widgets::theme::Role;

/// Index of the GPU it uses, and the MIG instance there.
pub(crate) fn place(frame: &Frame, process: &Process) -> (Option<u32>, Option<u32>) {
    let gpu = frame.gpus.iter().find(|gpu| gpu.key == process.gpu);
    (gpu.map(|gpu| gpu.index), process.mig)
}

/// The same as text.
pub(crate) fn gpu(frame: &Frame, process: &Process) -> String {
    let (index, mig) = place(frame, process);
    let index = index.map_or("?".to_owned(), |index| index.to_string());
    mig.map_or(index.clone(), |mig| format!("{index}:{mig}"))
}

/// What is said in place of a table without a process.
pub(crate) fn nobody(frame: &Frame) -> Cow<'static, str> {
    if frame.without_processes {
        return "The source of these values does not report processes.".into();
    }
    if !frame.gpus.iter().any(|gpu| gpu.presence == Presence::Present) {
        return "No GPU in view answers, so no process is seen.".into();
    }
    let failed = |gpu: &Gpu| Some((gpu.index, gpu.processes_failed.clone()?));
    if let Some((index, why)) = frame.gpus.iter().find_map(failed) {
        return format!("The processes on GPU {index} are unknown: {}.", printable(&why)).into();
    }
    match frame.host.machine.container.value() {
        Some(_) => "No process is seen on a GPU in view; a container hides those outside it.",
        None => "No process uses a GPU in view.",
    }
    .into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_cannot_be_read_is_not_an_empty_one() {
        let mut frame = Frame::default();
        assert_eq!(nobody(&frame), "No GPU in view answers, so no process is seen.");
        frame.gpus = vec![Gpu { presence: Presence::Present, ..Gpu::default() }; 2];
        assert_eq!(nobody(&frame), "No process uses a GPU in view.");
        frame.gpus[1].index = 1;
        frame.gpus[1].processes_failed = Some("NVML error 999".into());
        assert_eq!(nobody(&frame), "The processes on GPU 1 are unknown: NVML error 999.");
    }
}
