use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpscope_probes::gpu::Presence;

use super::card::{counts, load_label};
use super::model::{About, Card};
use crate::features::Shared;
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{
    Align, CellWriter, Column, Gauge, Hit, Look, Paint, Spark, Surface, Table, text_width,
};

const COLUMNS: &[Column<'static>] = &[
    Column::new("GPU", 14, 18),
    Column::new("CC", 6, 7).rank(3),
    Column::new("LOAD", 11, 16).grows(),
    Column::new("", 6, 18).rank(6),
    Column::new("MEMORY", 19, 26).rank(1).grows(),
    Column::new("TEMP", 6, 6).align(Align::Right).rank(2),
    Column::new("POWER", 9, 10).align(Align::Right).rank(4),
    Column::new("CLOCKS", 12, 22).rank(7),
    Column::new("CONFIGS", 20, 24).rank(5),
];

/// Position of the column of loads.
const LOAD: usize = 2;

/// Position of the column that is empty until there are verdicts.
const CONFIGS: usize = 8;

/// One row per GPU.
pub(crate) fn render(shared: &Shared, cards: &[Card], selected: usize, mut on: Surface<'_>) {
    let look = on.look;
    let judged = cards.iter().any(|card| card.summary.has_line());
    let columns = if judged { COLUMNS } else { &COLUMNS[..CONFIGS] };
    let mut table = Table::new(look, columns, cards.len());
    table.selected = Some(selected);
    let memory = cards.iter().map(|card| text_width(&card.memory.text)).max().unwrap_or(0);
    let load = load_label(cards);
    let mut bars = Vec::new();
    let layout = table.draw(on.at(on.area), Hit::Row, |row, column, pen| {
        if matches!(column, 2..=4) {
            bars.push((row, column, pen.x(), pen.rest()));
        } else {
            cell(look, &cards[row], column, pen);
        }
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        if row == selected {
            let ends = bars.iter().filter(|bar| bar.0 == row).map(|bar| (bar.2, bar.2 + bar.3));
            plain_ground(ends, on.at(line));
        }
        for (_, column, x, width) in bars.iter().filter(|bar| bar.0 == row) {
            let place = Rect { x: *x, width: *width, ..line };
            let label = if *column == LOAD { load } else { memory };
            bar(shared, &cards[row], (*column, label), on.at(place));
        }
    }
}

/// Where a selected line is reversed, its bars stand on the plain ground: between reversed blanks nobody sees where they end.
fn plain_ground(bars: impl Iterator<Item = (u16, u16)>, on: Surface<'_>) {
    if !on.look.theme.selection().add_modifier.contains(Modifier::REVERSED) {
        return;
    }
    let Some((begin, end)) = bars.reduce(|all, bar| (all.0.min(bar.0), all.1.max(bar.1))) else {
        return;
    };
    let x = begin.saturating_sub(1).max(on.area.x);
    let width = end.saturating_add(1).min(on.area.right()).saturating_sub(x);
    on.buffer.set_style(Rect { x, width, ..on.area }, Style::reset());
}

fn cell(look: Look<'_>, card: &Card, column: usize, pen: &mut CellWriter<'_>) {
    let about = |about| {
        let fact = card.state.iter().find(|fact| fact.about == about);
        fact.map_or(("", Role::Absent), |fact| (fact.text.as_str(), fact.role))
    };
    let (text, role) = match column {
        0 => {
            pen.fit(&card.short(), look.style(head_role(card.presence)));
            return;
        }
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

fn bar(shared: &Shared, card: &Card, (column, label): (usize, u16), mut on: Surface<'_>) {
    let look = on.look;
    if !super::card::has_graph(card) || card.presence == Presence::Lost {
        let word = match (column, card.presence) {
            (LOAD, Presence::Lost) => "lost",
            (LOAD, Presence::WhatIf) => "what-if",
            (LOAD, Presence::Suspended) => "suspended",
            (LOAD, Presence::Starting) => "no answer yet",
            (4, Presence::WhatIf) => card.facts.last().map_or("", String::as_str),
            _ => "",
        };
        let role = if card.presence == Presence::Lost { Role::Bad } else { Role::Muted };
        on.pen().fit(word, look.style(role));
        return;
    }
    let gauge = |amount, ramp, text| Gauge::new(look, amount, ramp).label(text, label);
    match column {
        LOAD => on.draw(&gauge(card.load.amount, Ramp::Load, &card.load.text)),
        3 => {
            let values = shared.store.utilisation(&card.key);
            on.draw(&Spark::new(look, values, Paint::Role(Role::Graph)).max(100.0));
        }
        _ => on.draw(&gauge(card.memory.amount, Ramp::Memory, &card.memory.text)),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::{Gpu, Reading};

    use super::*;
    use crate::features::overview::Overview;
    use crate::features::what_if::WhatIf;
    use crate::features::{Feature, Settings};
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::theme::Theme;
    use crate::widgets::{Hits, svg};

    #[test]
    fn a_load_that_cannot_be_read_says_so_in_full() {
        let settings = Settings {
            interval: std::time::Duration::from_secs(1),
            readonly: false,
            inspect: false,
            theme: "dark".into(),
        };
        let mut shared = Shared::new(settings, WhatIf::default());
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::ascii());
        for (gpus, width) in [(1, 80), (1, 200), (12, 80), (12, 200)] {
            let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
            gpu.vitals.util_gpu_pct = Reading::Failed("NVML error 999".into());
            shared.frame.gpus = vec![gpu; gpus];
            let area = Rect::new(0, 0, width, 24);
            let (mut buffer, mut hits) = (ratatui::buffer::Buffer::empty(area), Hits::default());
            let on = Surface { look, area, buffer: &mut buffer, hits: &mut hits };
            Overview::default().draw(&shared, on);
            let text = svg::text(&buffer);
            assert!(text.contains("failed"), "{text}");
        }
    }
}
