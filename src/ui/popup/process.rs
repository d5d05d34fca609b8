use warpscope_probes::Field;
use warpscope_probes::process::{HostSide, Usage, Visibility};

use super::{Page, section};
use crate::app::App;
use crate::ui::theme::Role;
use crate::ui::widgets::Look;

/// Everything about the selected process.
pub(super) fn page(app: &App, look: Look<'_>, width: usize) -> Page {
    let Some(process) = app.selected_process() else {
        return Page { title: "Process".into(), lines: Vec::new() };
    };
    let seen = match process.visibility {
        Visibility::Visible => "yes",
        Visibility::OtherNamespace => {
            "no: the driver gives host pids and this program runs in another pid namespace (docker: --pid=host)"
        }
        Visibility::Gone => "no: it ended",
        Visibility::Unknown => "not asked yet",
    };
    let mut lines = section(look, "visible", seen, Role::Text, width);
    lines.extend(section(look, "on", &process.gpu, Role::Text, width));
    lines.extend(Usage::FIELDS.iter().flat_map(|field| row(look, field, &process.usage, width)));
    lines.extend(HostSide::FIELDS.iter().flat_map(|field| row(look, field, &process.host, width)));
    Page { title: format!("Process {}", process.pid), lines }
}

fn row<S>(
    look: Look<'_>,
    field: &Field<S>,
    of: &S,
    width: usize,
) -> Vec<ratatui::text::Line<'static>> {
    match (field.text)(of) {
        Ok(text) => {
            section(look, field.label, &super::gpu::with_unit(&text, field.unit), Role::Text, width)
        }
        Err(absence) => section(look, field.label, absence.word(), Role::Absent, width),
    }
}
