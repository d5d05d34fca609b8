use ratatui::text::Line;
use warpscope_probes::Severity;

use super::{Page, section};
use crate::shell::App;
use crate::widgets::Look;
use crate::widgets::theme::Role;

/// What was not found, and what to do about it.
pub(crate) fn page(app: &App, look: Look<'_>, width: usize) -> Page {
    let mut lines = Vec::new();
    for notice in &app.frame.notices {
        let (word, role) = match notice.severity {
            Severity::Info => ("note", Role::Info),
            Severity::Warning => ("warning", Role::Warn),
            Severity::Error => ("error", Role::Bad),
        };
        lines.extend(section(look, word, &notice.what, role, width));
        if !notice.remedy.is_empty() {
            lines.extend(section(look, "do", &notice.remedy, Role::Text, width));
        }
        lines.push(Line::default());
    }
    if lines.is_empty() {
        lines.push(Line::styled("Nothing is amiss.", look.style(Role::Good)));
    }
    Page { title: "Notices".into(), lines }
}
