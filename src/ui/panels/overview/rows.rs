use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_probes::gpu::Presence;

use super::Card;
use super::card::counts;
use super::model::About;
use crate::app::{App, Hit};
use crate::store::Track;
use crate::ui::Hits;
use crate::ui::theme::{Ramp, Role};
use crate::ui::widgets::{Align, Column, Gauge, Ink, Look, Pen, Spark, Table, text_width};

const COLUMNS: &[Column<'static>] = &[
    Column::new("GPU", 14, 24).grows(),
    Column::new("CC", 6, 7).rank(3),
    Column::new("LOAD", 11, 22),
    Column::new("", 6, 18).rank(6),
    Column::new("MEMORY", 19, 34).rank(1),
    Column::new("TEMP", 6, 6).align(Align::Right).rank(2),
    Column::new("POWER", 9, 10).align(Align::Right).rank(4),
    Column::new("CLOCKS", 12, 22).rank(7),
    Column::new("CONFIGS", 14, 20).rank(5),
];

/// One row per GPU.
pub(super) fn render(
    app: &App,
    look: Look<'_>,
    cards: &[Card],
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let mut table = Table::new(look, COLUMNS, cards.len());
    table.selected = Some(app.view.overview.at);
    let layout = table.layout(area);
    let mut bars = Vec::new();
    table.render(area, buffer, |row, column, pen| {
        if matches!(column, 2..=4) {
            bars.push((row, column, pen.x(), pen.rest()));
        } else {
            cell(look, &cards[row], column, pen);
        }
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        hits.add(line, Hit::Row(row));
        for (_, column, x, width) in bars.iter().filter(|bar| bar.0 == row) {
            bar(app, look, &cards[row], *column, Rect { x: *x, width: *width, ..line }, buffer);
        }
    }
}

fn cell(look: Look<'_>, card: &Card, column: usize, pen: &mut Pen<'_>) {
    let about = |about| {
        let fact = card.state.iter().find(|fact| fact.about == about);
        fact.map_or(("", Role::Absent), |fact| (fact.text.as_str(), fact.role))
    };
    let (text, role) = match column {
        0 => (card.head.as_str(), head_role(card.presence)),
        1 => (
            card.facts.iter().find(|fact| fact.starts_with("sm_")).map_or("", String::as_str),
            Role::Muted,
        ),
        5 => about(About::Temperature),
        6 => about(About::Power),
        7 => about(About::Throttle),
        _ => return counts(look, pen, &card.summary),
    };
    pen.fit(text.strip_prefix("clocks: ").unwrap_or(text), look.style(role));
}

fn head_role(presence: Presence) -> Role {
    match presence {
        Presence::WhatIf => Role::WhatIf,
        Presence::Lost => Role::Bad,
        Presence::Suspended | Presence::Starting => Role::Muted,
        Presence::Present => Role::Text,
    }
}

fn bar(app: &App, look: Look<'_>, card: &Card, column: usize, area: Rect, buffer: &mut Buffer) {
    if !super::card::has_graph(card) {
        let word = match (column, card.presence) {
            (2, Presence::WhatIf) => "what-if",
            (2, Presence::Suspended) => "suspended",
            (4, Presence::WhatIf) => card.facts.last().map_or("", String::as_str),
            _ => "",
        };
        look.pen(buffer, area).fit(word, look.style(Role::Muted));
        return;
    }
    match column {
        2 => Gauge::new(look, card.load.amount, Ramp::Load)
            .label(&card.load.text, 5)
            .render(area, buffer),
        3 => {
            let values = app.store.track(&card.key, Track::Utilisation);
            Spark::new(look, values, Ink::Role(Role::Graph)).max(100.0).render(area, buffer);
        }
        _ => {
            let label = text_width(&card.memory.text);
            Gauge::new(look, card.memory.amount, Ramp::Memory)
                .label(&card.memory.text, label)
                .render(area, buffer);
        }
    }
}
