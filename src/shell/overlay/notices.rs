use ratatui::text::Line;
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Notice, Severity};

use crate::shell::App;
use crate::shell::alerts::LOST;
use crate::widgets::theme::Role;
use crate::widgets::{Look, PageWriter, Titled, section};

/// Columns a command stands in.
const INDENT: usize = 12;

/// The commands of the first notice that names any, a line each.
pub(crate) fn commands(frame: &Frame) -> Option<String> {
    let commands = |notice: &Notice| {
        let all: Vec<&str> = notice.steps().filter_map(|step| step.1).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    };
    frame.notices.iter().find_map(commands)
}

/// Whether an alert says of a GPU what a notice says for as long as it lasts.
pub(crate) fn is_noticed(frame: &Frame, alert: &str) -> bool {
    let lost = frame.gpus.iter().filter(|gpu| gpu.presence == Presence::Lost);
    let noticed = frame.notices.iter().any(|notice| notice.id == "gpu.lost");
    noticed && lost.into_iter().any(|gpu| alert.ends_with(&format!("GPU {}: {LOST}", gpu.index)))
}

/// What to do, each command on a line of its own.
fn steps(notice: &Notice, look: Look<'_>, width: usize) -> Vec<Line<'static>> {
    let mut writer = PageWriter::new(look, width);
    for (at, (words, command)) in notice.steps().enumerate() {
        let colon = if command.is_some() { ":" } else { "" };
        let label = if at == 0 { "do" } else { "" };
        writer.labelled(label, &format!("{words}{colon}"), Role::Text);
        writer.verbatim(command.unwrap_or_default(), INDENT, look.style(Role::Good));
    }
    writer.page.lines
}

/// What was not found, and what to do about it.
pub(super) fn page(app: &App, look: Look<'_>, width: usize) -> Titled {
    let mut lines = Vec::new();
    let frame = &app.shared.frame;
    for (at, text) in app.alerts.told.iter().rev().filter(|one| !is_noticed(frame, &one.1)) {
        let at = at.to_string();
        let time = at.get(11..19).unwrap_or_default();
        lines.extend(section(look, "alert", &format!("{time}Z {text}"), Role::Warn, width));
    }
    for notice in &frame.notices {
        let (word, role) = match notice.severity {
            Severity::Info => ("note", Role::Info),
            Severity::Warning => ("warning", Role::Warn),
            Severity::Error => ("error", Role::Bad),
        };
        lines.extend(section(look, word, &notice.what, role, width));
        lines.extend(steps(notice, look, width));
        lines.push(Line::default());
    }
    lines.pop_if(|last| last.width() == 0);
    if lines.is_empty() {
        lines.push(Line::styled("No problems found.", look.style(Role::Good)));
    }
    ("Notices".into(), lines)
}
