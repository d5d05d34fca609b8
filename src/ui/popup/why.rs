use ratatui::text::Line;

use super::{Page, section};
use crate::app::App;
use crate::ui::theme::Role;
use crate::ui::widgets::{Look, outcome_role};

/// Why a verdict is what it is: needs, has, evidence, message, fix.
pub(super) fn page(app: &App, look: Look<'_>, width: usize) -> Page {
    let Some(verdict) = app.selected_verdict() else {
        return Page { title: "Why".into(), lines: Vec::new() };
    };
    let role = outcome_role(verdict.outcome);
    let answer = format!(
        "{} {} {}",
        verdict.outcome.symbol(!look.glyphs.is_unicode),
        verdict.outcome,
        if verdict.disputed { "(disputed)" } else { "" }
    );
    let mut lines = section(look, "answer", &answer, role, width);
    lines.extend(section(look, "why", &verdict.reason, Role::Text, width));
    for (label, text) in [("needs", &verdict.needs), ("has", &verdict.has)] {
        if !text.is_empty() {
            lines.extend(section(look, label, text, Role::Text, width));
        }
    }
    lines.push(Line::default());
    for evidence in &verdict.evidence {
        let text = format!(
            "{} {}: {} ({}, {})",
            evidence.outcome.symbol(!look.glyphs.is_unicode),
            evidence.id,
            evidence.detail,
            evidence.source,
            evidence.retrieved
        );
        lines.extend(section(look, level(evidence.level), &text, Role::Muted, width));
    }
    if let Some(symptom) = &verdict.symptom {
        lines.push(Line::default());
        lines.extend(section(look, "you see", symptom, Role::Bad, width));
    }
    if let Some(fix) = &verdict.fix {
        lines.push(Line::default());
        lines.push(Line::styled("fix (y copies it)", look.style(Role::Header)));
        lines.extend(
            fix.lines().map(|line| Line::styled(format!("  {line}"), look.style(Role::Good))),
        );
    }
    Page { title: format!("{} {} on {}", verdict.framework, verdict.config, verdict.gpu), lines }
}

fn level(level: crate::engine::Level) -> &'static str {
    match level {
        crate::engine::Level::Rule => "rule",
        crate::engine::Level::Inspected => "inspected",
        crate::engine::Level::Live => "measured",
    }
}
