//! What runs where: rows framework and configuration, columns GPUs, and the selected answer in words.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use warpscope_probes::gpu::Presence;

use super::overview::short_name;
use super::{cut_bottom, cut_top};
use crate::app::{App, Hit};
use crate::engine::{Level, Outcome, Verdict};
use crate::ui::Hits;
use crate::ui::popup::wrap;
use crate::ui::theme::Role;
use crate::ui::widgets::{
    Align, Card, Column, Look, Notice, Pen, Piece, Severity, Table, TableLayout, outcome_role,
    text_width, verdict_cell,
};

/// Columns before the GPUs: framework, version, configuration.
const LEADING: usize = 3;
/// Blanks between columns.
const GAP: u16 = 2;
/// Room of the leading columns at their narrowest, without the version.
const NARROW: u16 = 13 + 17 + 2 * GAP;
/// Lines of the answer below the matrix, frame included.
const ANSWER: u16 = 7;

/// Draws the tab.
pub fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut area = area;
    let rows = app.compat_rows();
    if area.height >= 14 {
        let place = cut_bottom(&mut area, ANSWER);
        answer(app, look, place, buffer);
    }
    let view = &app.view.compat;
    let count = format!("{} of {} rows", rows.len(), app.compat.all_rows().len());
    let filter = format!("/{}", view.filter.text);
    let mut facts = vec![look.piece(&count, Role::Muted)];
    if !view.filter.text.is_empty() {
        facts.push(look.piece(&filter, Role::Accent));
    }
    if view.only_failures {
        facts.push(look.piece("only failures", Role::Warn));
    }
    let left = [look.piece("What runs where", Role::Title)];
    let inner = Card::new(look).left(&left).right(&facts).render(area, buffer);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    match (rows.is_empty(), app.frame.gpus.is_empty()) {
        (false, false) => matrix(app, look, &rows, inner, buffer, hits),
        (_, true) => {
            say(look, "No GPU in view. w adds one of the catalogue as what-if.", &mut inner, buffer)
        }
        (true, _) => {
            say(look, "No row matches; Esc clears the filter, f shows all.", &mut inner, buffer)
        }
    }
}

fn say(look: Look<'_>, text: &str, area: &mut Rect, buffer: &mut Buffer) {
    ratatui::widgets::Widget::render(
        &Notice { look, severity: Severity::Info, text },
        cut_top(area, 1),
        buffer,
    );
}

fn matrix(
    app: &App,
    look: Look<'_>,
    rows: &[usize],
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let heads: Vec<String> =
        app.frame.gpus.iter().enumerate().map(|(at, gpu)| short_name(at, gpu)).collect();
    let gpus = u16::try_from(heads.len()).unwrap_or(u16::MAX);
    let wide = (area.width.saturating_sub(56) / gpus.max(1)).saturating_sub(GAP).clamp(6, 18);
    let mut columns = vec![
        Column::new("FRAMEWORK", 13, 14),
        Column::new("VERSION", 7, 10).rank(1),
        Column::new("CONFIGURATION", 17, 30).grows(),
    ];
    columns.extend(heads.iter().map(|head| Column::new(head, wide, wide).align(Align::Center)));
    let view = &app.view.compat;
    let mut table = Table::new(look, &columns, rows.len());
    table.selected = Some(view.row.at);
    table.frozen = LEADING;
    table.skipped = skipped(view.column.at, heads.len(), wide, area.width);
    let layout = table.render(area, buffer, |row, column, pen| {
        cell(app, look, rows[row], column, pen);
    });
    mark(app, look, &layout, buffer, hits);
}

/// Draws one cell of a row of the matrix.
fn cell(app: &App, look: Look<'_>, row: usize, column: usize, pen: &mut Pen<'_>) {
    let line = &app.compat.all_rows()[row];
    let version = line.question.version.as_deref().unwrap_or_default();
    let (text, role) = match column {
        0 => (line.framework.as_str(), Role::Text),
        1 => (version, Role::Muted),
        2 => (line.config.as_str(), Role::Muted),
        _ => {
            if let Some(cell) = app.compat.cell(row, column - LEADING) {
                let level = cell.level.unwrap_or(Level::Rule);
                verdict_cell(look, pen, (cell.outcome, level), cell.disputed);
            }
            return;
        }
    };
    pen.fit(text, look.style(role));
}

/// Marks what-if columns and the selected cell, and makes every cell clickable.
fn mark(app: &App, look: Look<'_>, layout: &TableLayout, buffer: &mut Buffer, hits: &mut Hits) {
    let view = &app.view.compat;
    let selected = look.style(Role::Accent).add_modifier(Modifier::REVERSED);
    for (column, span) in layout.slots.iter().filter(|slot| slot.0 >= LEADING) {
        let gpu = column - LEADING;
        let place = |line: Rect| Rect { x: span.start, width: span.end - span.start, ..line };
        if app.frame.gpus[gpu].presence == Presence::WhatIf {
            buffer.set_style(place(layout.header), look.style(Role::WhatIf));
        }
        for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
            if gpu == view.column.at && row == view.row.at {
                buffer.set_style(place(line), selected);
            }
            hits.add(place(line), Hit::Cell { row, column: gpu });
        }
    }
}

/// GPU columns to leave out on the left so that the selected one is in view.
fn skipped(selected: usize, gpus: usize, wide: u16, width: u16) -> usize {
    let room = usize::from(width.saturating_sub(NARROW) / (wide + GAP)).max(1);
    if gpus <= room { 0 } else { (selected + 1).saturating_sub(room) }
}

/// The selected verdict in words.
fn answer(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(verdict) = app.selected_verdict() else { return };
    let role = outcome_role(verdict.outcome);
    let outcome =
        format!("{} {}", verdict.outcome.symbol(!look.glyphs.is_unicode), verdict.outcome);
    let what = format!("  {} {} on {}", verdict.framework, verdict.config, verdict.gpu);
    let left: [Piece<'_>; 2] = [look.piece(&outcome, role), look.piece(&what, Role::Title)];
    let level = evidence(&verdict);
    let right = [look.piece(&level, Role::Muted)];
    let inner =
        Card::new(look).border(Role::BorderFocus).left(&left).right(&right).render(area, buffer);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    for (label, text, role) in lines(&verdict) {
        let room = usize::from(inner.width.saturating_sub(9));
        let most = if label == "why" { 2 } else { 1 };
        for (at, line) in wrap(&text, room).into_iter().take(most).enumerate() {
            let mut pen = look.pen(buffer, cut_top(&mut inner, 1));
            let label = if at == 0 { label } else { "" };
            pen.put(label, look.style(Role::Muted))
                .skip(9 - text_width(label))
                .put(&line, look.style(role));
        }
    }
}

fn evidence(verdict: &Verdict) -> String {
    let source = verdict.evidence.first();
    match (verdict.outcome, source) {
        (Outcome::Unknown, None) => "no evidence".into(),
        (_, Some(source)) => format!("{} of {}", source.id, source.retrieved),
        (_, None) => String::new(),
    }
}

fn lines(verdict: &Verdict) -> Vec<(&'static str, String, Role)> {
    let mut lines = vec![("why", verdict.reason.clone(), Role::Text)];
    if !verdict.needs.is_empty() || !verdict.has.is_empty() {
        lines.push((
            "needs",
            format!("{}; this GPU has {}", verdict.needs, verdict.has),
            Role::Muted,
        ));
    }
    lines.extend(verdict.symptom.clone().map(|symptom| ("you see", symptom, Role::Bad)));
    let first = |fix: &String| {
        fix.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim().to_owned()
    };
    lines.extend(
        verdict
            .fix
            .as_ref()
            .map(|fix| ("fix", format!("{}  (y copies, Enter shows all)", first(fix)), Role::Good)),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_gpu_is_never_scrolled_away() {
        for gpus in 1..20 {
            for selected in 0..gpus {
                for width in [40, 80, 200] {
                    let wide = 8;
                    let first = skipped(selected, gpus, wide, width);
                    let room = usize::from((width - NARROW) / (wide + GAP)).max(1);
                    assert!(first <= selected && selected < first + room.max(gpus.min(room)));
                }
            }
        }
    }
}
