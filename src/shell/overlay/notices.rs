use ratatui::text::Line;
use warpscope_probes::{Frame, Severity};

use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, section};

/// What was not found, and what to do about it.
pub(super) fn page(frame: &Frame, look: Look<'_>, width: usize) -> Titled {
    let mut lines = Vec::new();
    for notice in &frame.notices {
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
        lines.push(Line::styled("No problems found.", look.style(Role::Good)));
    }
    ("Notices".into(), lines)
}
