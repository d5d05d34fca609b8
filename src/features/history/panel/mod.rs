//! Kernels over recorded runs: a list, the selected one as a plot, and the run under the cursor.

mod live;
mod model;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use warpscope_probes::text::printable;

use crate::features::history::{History, State};
use crate::widgets::layout::{cut_bottom, cut_right, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, Card, Column, Hit, Hits, Look, Notice, Severity, Surface, Table, Trend, format, section,
    wrap,
};

use model::{Details, Model, Row};

const COLUMNS: &[Column<'static>] = &[
    Column::new("KERNEL", 24, 34).grows(),
    Column::new("ON", 14, 24).rank(4),
    Column::new("RUNS", 4, 4).align(Align::Right).rank(3),
    Column::new("MEDIAN", 9, 10).align(Align::Right),
    Column::new("CHANGE", 8, 8).align(Align::Right),
    Column::new("SINCE", 16, 16).rank(1),
    Column::new("COMMIT", 9, 9).rank(5),
];

/// Width from which the run under the cursor has a column of its own.
const WIDE: u16 = 110;
/// Width of that column.
const ASIDE: u16 = 44;

/// Draws the tab.
pub(crate) fn render(state: &History, on: Surface<'_>) {
    let Surface { look, mut area, buffer, hits } = on;
    if !state.live.is_empty() {
        let share = if state.trends.is_empty() { 1 } else { 2 };
        let rows = area.height / share;
        live::render(&state.live, look, cut_top(&mut area, rows), buffer);
    }
    if area.height == 0 {
        return;
    }
    let model = Model::of(state, look);
    if model.rows.is_empty() {
        return empty(state, look, area, buffer);
    }
    let mut rest = area;
    let lines = u16::try_from(model.rows.len()).unwrap_or(u16::MAX).saturating_add(3);
    let list = cut_top(&mut rest, lines.min((area.height / 3).max(5)));
    table(state, look, &model, list, buffer, hits);
    if let Some(details) = &model.details {
        let wide = rest.width >= WIDE && rest.height >= 8;
        let aside = cut_right(&mut rest, if wide { ASIDE } else { 0 });
        plot(look, &model, details, wide, rest, buffer);
        if wide {
            beside(look, details, aside, buffer);
        }
    }
}

fn table(
    state: &History,
    look: Look<'_>,
    model: &Model,
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let left = [look.piece("History", Role::Title)];
    let filter = format!("/{}", state.filter.text);
    let mut right = vec![look.piece(&model.count, Role::Muted)];
    if filter.len() > 1 {
        right.push(look.piece(&filter, Role::Accent));
    }
    if state.weak {
        right.push(look.piece("weak changes too", Role::Accent));
    }
    match &state.state {
        State::Reading => right.push(look.piece("reading", Role::Muted)),
        State::Failed(_) => {
            right.push(look.piece("as read before; the history cannot be read now", Role::Warn))
        }
        State::NotRead | State::Read => {}
    }
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let mut table = Table::new(look, COLUMNS, model.rows.len());
    table.selected = Some(state.cursor.at);
    let layout = table.render(inner, buffer, |row, column, pen| {
        let (text, role) = cell(&model.rows[row], column);
        pen.fit(text, look.style(role));
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        hits.add(line, Hit::Row(row));
    }
}

fn cell(row: &Row, column: usize) -> (&str, Role) {
    match column {
        0 => (&row.name, Role::Text),
        1 => (&row.on, Role::Muted),
        2 => (&row.runs, Role::Muted),
        3 => (&row.median, Role::Text),
        4 => (&row.change, row.role),
        5 => (&row.since, Role::Muted),
        _ => (&row.commit, Role::Muted),
    }
}

fn plot(
    look: Look<'_>,
    model: &Model,
    details: &Details,
    wide: bool,
    area: Rect,
    buffer: &mut Buffer,
) {
    let left = [look.piece(&details.name, Role::Title)];
    let right = [look.piece(&details.on, Role::Muted)];
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    if !wide {
        let lines = narrow(look, details, usize::from(inner.width));
        let most = inner.height.saturating_sub(6).clamp(u16::from(inner.height > 2), 5);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(most);
        let below = cut_bottom(&mut inner, rows);
        for (line, row) in lines.iter().zip(below.rows()) {
            buffer.set_line(row.x, row.y, line, row.width);
        }
    }
    let marked: Vec<(usize, &str)> =
        details.marked.iter().map(|(run, letter)| (*run, *letter)).collect();
    let trend = Trend {
        look,
        levels: &details.levels,
        steps: &model.steps,
        cursor: Some(details.cursor),
        marked: &marked,
        ends: (&details.ends.0, &details.ends.1),
        text: |ns, look| format::nanoseconds(ns, look.glyphs),
    };
    ratatui::widgets::Widget::render(&trend, inner, buffer);
}

/// The run under the cursor in a few lines: the change first, since it is what one looks for.
fn narrow(look: Look<'_>, details: &Details, width: usize) -> Vec<Line<'static>> {
    let separator = format!(" {} ", look.glyphs.separator);
    // These say nothing without their label.
    let bare = |label: &str| !matches!(label, "run" | "driver" | "quartiles" | "samples");
    let facts = |labels: &[&str]| {
        let of = |label: &&str| details.facts.iter().find(|fact| fact.0 == *label);
        let words = labels.iter().filter_map(of).map(|(label, text, _)| {
            if bare(label) { text.clone() } else { format!("{label} {text}") }
        });
        printable(&words.collect::<Vec<_>>().join(&separator))
    };
    let mut lines = vec![
        Line::styled(facts(&["run", "date", "commit", "driver"]), look.style(Role::Text)),
        Line::styled(facts(&["time", "quartiles", "samples"]), look.style(Role::Muted)),
    ];
    for (label, text, role) in &details.facts {
        if matches!(*label, "change" | "remark") {
            let wrapped = wrap(text, width.max(1));
            lines.extend(wrapped.into_iter().map(|text| Line::styled(text, look.style(*role))));
        }
    }
    lines
}

fn beside(look: Look<'_>, details: &Details, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("Run", Role::Title)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let lines = details
        .facts
        .iter()
        .flat_map(|(label, text, role)| section(look, label, text, *role, inner.width.into()));
    for (line, row) in lines.zip(inner.rows()) {
        buffer.set_line(row.x, row.y, &line, row.width);
    }
}

/// What there is to say where there is nothing to show.
fn empty(state: &History, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("History", Role::Title)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let (severity, text, more): (_, &str, &[&str]) = match &state.state {
        State::NotRead | State::Reading => {
            (Severity::Info, "Reading the history of recorded runs.", &[])
        }
        State::Failed(why) => (Severity::Error, why, &[]),
        State::Read if state.trends.is_empty() => {
            (Severity::Info, "No run is in the history yet.", HOW)
        }
        State::Read => (Severity::Info, "No kernel matches the filter; Esc clears it.", &[]),
    };
    let lines = wrap(text, usize::from(inner.width.saturating_sub(2)).max(1));
    for (at, line) in lines.iter().enumerate() {
        let mut row = cut_top(&mut inner, 1);
        if at == 0 {
            let notice = Notice { look, severity, text: line };
            ratatui::widgets::Widget::render(&notice, row, buffer);
        } else {
            cut_left(&mut row);
            look.pen(buffer, row).put(line, look.style(Role::Text));
        }
    }
    for line in more {
        let mut row = cut_top(&mut inner, 1);
        cut_left(&mut row);
        let role = if line.starts_with("warpscope") { Role::Accent } else { Role::Muted };
        look.pen(buffer, row).put(line, look.style(role));
    }
}

/// Indents a line under the text of a notice.
fn cut_left(row: &mut Rect) {
    let by = row.width.min(2);
    row.x += by;
    row.width -= by;
}

/// How a history comes to be.
const HOW: &[&str] = &[
    "",
    "Record runs:",
    "warpscope bench --record run.jsonl",
    "warpscope record run.jsonl -- python tune.py",
    "",
    "Import them:",
    "warpscope history --import run.jsonl",
    "",
    "Changes are detected from the eighth run of a kernel on.",
];
