use ratatui::text::Line;
use warpscope_probes::Field;
use warpscope_probes::process::{HostSide, Process, Usage, Visibility};

use crate::features::Shared;
use crate::widgets::format::{self, Units};
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, highest, section};

/// Columns that labels take.
const CURVE_INDENT: usize = 10;

/// Everything about one process on one GPU.
pub(crate) fn page(
    shared: &Shared,
    look: Look<'_>,
    (pid, gpu): (u32, &str),
    width: usize,
) -> Titled {
    let title = format!("Process {pid}");
    let mut processes = shared.frame.processes.iter();
    let Some(process) = processes.find(|process| process.pid == pid && process.gpu == gpu) else {
        let text = "This process no longer uses this GPU.";
        return (title, vec![Line::styled(text, look.style(Role::Warn))]);
    };
    let seen = match process.visibility {
        Visibility::Visible => "runs in this PID namespace",
        Visibility::OtherNamespace => {
            "in another PID namespace: the driver gives host PIDs (docker: --pid=host)"
        }
        Visibility::Gone => "has ended",
        Visibility::Unknown => "not asked yet",
    };
    let all = shared.frame.processes.iter().filter(|one| one.pid == pid);
    let places = all.map(|one| place(shared, one));
    let mut lines: Vec<_> = ["on", "also on"]
        .into_iter()
        .zip(here_first(places, &place(shared, process)))
        .flat_map(|(label, text)| section(look, label, &text, Role::Text, width))
        .collect();
    lines.extend(section(look, "state", seen, Role::Text, width));
    lines.extend(curve(shared, look, process, width));
    let on = (look, shared.display.units, width);
    lines.extend(Usage::FIELDS.iter().flat_map(|field| row(on, field, &process.usage)));
    lines.extend(HostSide::FIELDS.iter().flat_map(|field| row(on, field, &process.host)));
    lines.extend(used(shared, look, pid, width));
    (title, lines)
}

/// `GPU 1 NVIDIA H100, MIG 0 (3g.40gb)`.
fn place(shared: &Shared, process: &Process) -> String {
    let Some(gpu) = shared.frame.gpus.iter().find(|gpu| gpu.key == process.gpu) else {
        return process.gpu.clone();
    };
    let name = gpu.identity.name.last().map_or("", String::as_str);
    let Some(index) = process.mig else { return format!("GPU {} {name}", gpu.index) };
    let profile = gpu.mig.iter().find(|one| one.index == index);
    let profile = profile.map(|one| format!(" ({})", one.name.trim_start_matches("MIG ")));
    format!("GPU {} {name}, MIG {index}{}", gpu.index, profile.unwrap_or_default())
}

/// Where the process is, and where else.
fn here_first(places: impl Iterator<Item = String>, here: &str) -> Vec<String> {
    let others: Vec<_> = places.filter(|place| place != here).collect();
    let mut texts = vec![here.to_owned()];
    if !others.is_empty() {
        texts.push(others.join("; "));
    }
    texts
}

/// The memory it held over time, and the most of it.
fn curve(shared: &Shared, look: Look<'_>, process: &Process, width: usize) -> Vec<Line<'static>> {
    let values = shared.store.process_memory(process);
    let shown = &values[values.len().saturating_sub(width.saturating_sub(CURVE_INDENT))..];
    let Some(top) = highest(shown).filter(|top| *top > 0.0 && shown.len() > 1) else {
        return Vec::new();
    };
    let step = |value: &Option<f32>| match value {
        Some(value) => look.glyphs.spark[((value / top * 7.0 + 0.5) as usize).min(7)],
        None => look.glyphs.gap,
    };
    let curve: String = shown.iter().map(step).collect();
    let seconds = shared.store.seconds(shown.len());
    let most = shared.display.units.bytes(f64::from(top));
    let said = format!("{most} at most in {}", format::duration(seconds));
    let mut lines = section(look, "held", &curve, Role::Graph, width);
    lines.extend(section(look, "", &said, Role::Muted, width));
    lines
}

/// What it has mapped: frameworks, the environment they lie in, CUDA libraries.
fn used(shared: &Shared, look: Look<'_>, pid: u32, width: usize) -> Vec<Line<'static>> {
    let Some(used) = shared.uses(pid) else {
        return Vec::new();
    };
    let cuda = used.cuda.iter().map(|one| {
        format!("{} {}", one.name, one.version.as_deref().unwrap_or("of unknown version"))
    });
    let environment = used.environment.as_ref().map(|root| root.display().to_string());
    let rows = [
        ("uses", used.packages.join(", ")),
        ("env", environment.unwrap_or_default()),
        ("CUDA", cuda.collect::<Vec<_>>().join(", ")),
        ("not seen", used.hidden.clone().unwrap_or_default()),
    ];
    let told = rows.iter().filter(|row| !row.1.is_empty());
    told.flat_map(|(label, text)| section(look, label, text, Role::Text, width)).collect()
}

fn row<S>(
    (look, units, width): (Look<'_>, Units, usize),
    field: &Field<S>,
    of: &S,
) -> Vec<Line<'static>> {
    match (field.text)(of) {
        Ok(text) => {
            let text = match field.key {
                "started" => whole_seconds(&text),
                _ => text,
            };
            let text = units.text(&text, field.unit, look.glyphs);
            section(look, field.label, &text, Role::Text, width)
        }
        Err(absence) => section(look, field.label, absence.word(), Role::Absent, width),
    }
}

/// A time such as `2026-11-21T09:00:00.5Z` without the fraction of its second.
fn whole_seconds(time: &str) -> String {
    let seconds = time.split(['.', 'Z']).next().unwrap_or(time);
    format!("{seconds}Z")
}
