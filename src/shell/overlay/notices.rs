use ratatui::text::Line;
use warpscope_probes::Severity;

use crate::shell::App;
use crate::widgets::theme::Role;
use crate::widgets::{Look, Titled, section};

/// What was not found, and what to do about it.
pub(super) fn page(app: &App, look: Look<'_>, width: usize) -> Titled {
    let mut lines = Vec::new();
    for (at, text) in app.alerts.told.iter().rev() {
        let at = at.to_string();
        let time = at.get(11..19).unwrap_or_default();
        lines.extend(section(look, "alert", &format!("{time}Z {text}"), Role::Warn, width));
    }
    for notice in &app.shared.frame.notices {
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
