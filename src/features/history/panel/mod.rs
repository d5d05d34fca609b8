//! Kernels over recorded runs: a list, the selected one as a plot, and the run under the cursor.

mod live;
mod model;

use ratatui::text::Line;
use warpscope_probes::text::printable;

use crate::features::history::{History, State};
use crate::widgets::layout::cut_right;
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, Card, Column, Hit, Look, Notice, Severity, Surface, Table, Trend, format, section, wrap,
};

use model::{Details, Model};

const COLUMNS: &[Column<'static>] = &[
    Column::new("KERNEL", 24, 34).grows(),
    Column::new("ON", 14, 24).rank(4),
    Column::new("RUNS", 4, 4).align(Align::Right).rank(3),
    Column::new("MEDIAN", 9, 10).align(Align::Right),
    Column::new("CHANGE", 8, 8).align(Align::Right),
    Column::new("SINCE", 16, 16).rank(1),
    Column::new("COMMIT", 9, 9).rank(5),
];

/// Fewest lines of a plot with its frame.
const PLOT: u16 = 6;
/// Width from which the run under the cursor has a column of its own.
const WIDE: u16 = 110;
/// Width of that column.
const ASIDE: u16 = 44;

/// Draws the tab.
pub(crate) fn render(state: &History, mut on: Surface<'_>) {
    if !state.live.is_empty() {
        let share = if state.trends.is_empty() { 1 } else { 2 };
        let rows = on.area.height / share;
        live::render(&state.live, on.cut_top(rows));
    }
    if on.area.height == 0 {
        return;
    }
    let model = Model::of(state, on.look);
    if model.rows.is_empty() {
        return empty(state, on);
    }
    let lines = u16::try_from(model.rows.len()).unwrap_or(u16::MAX).saturating_add(3);
    let rows = lines.min((on.area.height / 3).max(5));
    // A frame around nothing is worth less than more of the list.
    let rows = if on.area.height < rows + PLOT { on.area.height } else { rows };
    table(state, &model, on.cut_top(rows));
    if let Some(details) = model.details.as_ref().filter(|_| on.area.height > 0) {
        let wide = on.area.width >= WIDE && on.area.height >= 8;
        let aside = cut_right(&mut on.area, if wide { ASIDE } else { 0 });
        plot(&model, details, wide, on.at(on.area));
        if wide {
            beside(details, on.at(aside));
        }
    }
}

fn table(state: &History, model: &Model, mut on: Surface<'_>) {
    let look = on.look;
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
    on.frame(Card::new(look).left(&left).right(&right));
    let mut table = Table::new(look, COLUMNS, model.rows.len());
    table.selected = Some(state.cursor.at);
    table.draw(on, Hit::Row, |row, column, pen| {
        let row = &model.rows[row];
        let role = match column {
            0 | 3 => Role::Text,
            4 => row.change,
            _ => Role::Muted,
        };
        pen.fit(&row.cells[column], look.style(role));
    });
}

fn plot(model: &Model, details: &Details, wide: bool, mut on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece(&details.name, Role::Title)];
    let right = [look.piece(&details.on, Role::Muted)];
    on.frame(Card::new(look).left(&left).right(&right));
    if !wide {
        let lines = narrow(look, details, usize::from(on.area.width));
        let most = on.area.height.saturating_sub(6).clamp(u16::from(on.area.height > 2), 5);
        let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(most);
        let below = on.cut_bottom(rows);
        for (line, row) in lines.iter().zip(below.area.rows()) {
            below.buffer.set_line(row.x, row.y, line, row.width);
        }
    }
    let marked: Vec<(usize, &str)> =
        details.marked.iter().map(|(run, letter)| (*run, *letter)).collect();
    on.draw(&Trend {
        look,
        levels: &details.levels,
        steps: &model.steps,
        cursor: Some(details.cursor),
        marked: &marked,
        ends: (&details.ends.0, &details.ends.1),
        text: |ns, look| format::nanoseconds(ns, look.glyphs),
    });
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

fn beside(details: &Details, mut on: Surface<'_>) {
    let look = on.look;
    on.frame(Card::new(look).left(&[look.piece("Run", Role::Title)]));
    let width = on.area.width.into();
    let facts = details.facts.iter();
    let lines = facts.flat_map(|(label, text, role)| section(look, label, text, *role, width));
    for (line, row) in lines.zip(on.area.rows()) {
        on.buffer.set_line(row.x, row.y, &line, row.width);
    }
}

/// What there is to say where there is nothing to show.
fn empty(state: &History, mut on: Surface<'_>) {
    let look = on.look;
    on.frame(Card::new(look).left(&[look.piece("History", Role::Title)]));
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
    let lines = wrap(text, usize::from(on.area.width.saturating_sub(2)).max(1));
    for (at, line) in lines.iter().enumerate() {
        let mut row = on.cut_top(1);
        match at {
            0 => row.draw(&Notice { look, severity, text: line }),
            _ => _ = row.pen().skip(2).put(line, look.style(Role::Text)),
        }
    }
    let width = usize::from(on.area.width.saturating_sub(2)).max(1);
    for text in more {
        let role = if text.starts_with("warpscope") { Role::Accent } else { Role::Muted };
        let lines = if text.is_empty() { vec![String::new()] } else { wrap(text, width) };
        for line in lines {
            on.cut_top(1).pen().skip(2).put(&line, look.style(role));
        }
    }
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
