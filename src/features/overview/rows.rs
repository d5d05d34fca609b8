use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpscope_probes::gpu::Presence;

use super::card::{counts, counts_width, load_label};
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
    Column::new("POWER", 9, 9).align(Align::Right).rank(4),
    Column::new("CLOCKS", 12, 22).rank(7),
    Column::new("CONFIGS", 7, 7).rank(5),
];

/// Position of the column of loads.
const LOAD: usize = 2;

/// Position of the column that has room for every draw and its limit.
const POWER: usize = 6;

/// Position of the column that is empty until there are verdicts.
const CONFIGS: usize = 8;

/// One row per GPU.
pub(crate) fn render(shared: &Shared, cards: &[Card], selected: usize, mut on: Surface<'_>) {
    let look = on.look;
    let judged =
        cards.iter().any(|card| card.presence != Presence::Lost && card.summary.has_line());
    let mut columns = COLUMNS.to_vec();
    let widest = |width: fn(&Card) -> u16| cards.iter().map(width).max().unwrap_or(0);
    columns[POWER].min =
        columns[POWER].min.max(widest(|card| text_width(about(card, About::Power).0)));
    columns[CONFIGS].min = columns[CONFIGS].min.max(widest(|card| counts_width(&card.summary)));
    columns.truncate(if judged { COLUMNS.len() } else { CONFIGS });
    let mut table = Table::new(look, &columns, cards.len());
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
    let (text, role) = match column {
        0 => {
            if card.is_alerted {
                pen.glyph(look.glyphs.warning, look.style(Role::Warn)).skip(1);
            }
            pen.fit(&card.short(), look.style(head_role(card.presence)));
            return;
        }
        1 => (
            card.facts.iter().find(|fact| fact.starts_with("sm_")).map_or("", String::as_str),
            Role::Muted,
        ),
        5 => about(card, About::Temperature),
        POWER => about(card, About::Power),
        7 => about(card, About::Throttle),
        _ => return counts(look, pen, &card.summary),
    };
    pen.fit(text.strip_prefix("clocks: ").unwrap_or(text), look.style(role));
}

fn about(card: &Card, about: About) -> (&str, Role) {
    let fact = card.state.iter().find(|fact| fact.about == about);
    fact.map_or(("", Role::Absent), |fact| (fact.text.as_str(), fact.role))
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
            let values = shared.store.utilization(&card.key);
            on.draw(&Spark::new(look, values, Paint::Role(Role::Graph)).max(100.0));
        }
        _ => on.draw(&gauge(card.memory.amount, Ramp::Memory, &card.memory.text)),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::{Gpu, Reading};

    use super::*;
    use crate::engine::Outcome;
    use crate::features::overview::Overview;
    use crate::features::overview::model::{Fact, Summary};
    use crate::features::what_if::WhatIf;
    use crate::features::{Feature, Settings};
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::theme::Theme;
    use crate::widgets::{Hits, svg};

    /// The rows of cards, as text.
    fn drawn(cards: &[Card], width: u16) -> String {
        let settings = Settings {
            interval: std::time::Duration::from_secs(1),
            readonly: false,
            inspect: false,
            theme: "dark".into(),
        };
        let shared = Shared::new(settings, WhatIf::default());
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::ascii());
        let area = Rect::new(0, 0, width, 4);
        let (mut buffer, mut hits) = (ratatui::buffer::Buffer::empty(area), Hits::default());
        render(&shared, cards, 0, Surface { look, area, buffer: &mut buffer, hits: &mut hits });
        svg::text(&buffer)
    }

    fn judged(presence: Presence) -> Card {
        let counts = vec![(Outcome::Works, 123), (Outcome::Partial, 45), (Outcome::Fails, 86)];
        let counts = [counts, vec![(Outcome::WrongOutput, 10), (Outcome::Unknown, 12)]].concat();
        let power = Fact { about: About::Power, text: "600/1000 W".into(), role: Role::Text };
        let throttle =
            Fact { about: About::Throttle, text: "clocks: full speed".into(), role: Role::Good };
        let summary = Summary { total: 276, counts, ..Summary::default() };
        Card { presence, summary, state: vec![power, throttle], ..Card::default() }
    }

    #[test]
    fn no_number_is_cut_at_any_width() {
        for width in 20..200 {
            let text = drawn(&[judged(Presence::Present)], width);
            let all = ["+123", "%45", "x86", "!10", "?12"];
            assert!(
                !text.contains("CONFIGS") || all.iter().all(|one| text.contains(one)),
                "{text}"
            );
            assert!(!text.contains("POWER") || text.contains("600/1000 W"), "{text}");
        }
        assert!(drawn(&[judged(Presence::Present)], 120).contains("CONFIGS"));
    }

    #[test]
    fn a_lost_gpu_takes_no_column_from_the_others() {
        let others = Card { summary: Summary::default(), ..judged(Presence::Present) };
        let text = drawn(&[others, judged(Presence::Lost)], 120);
        assert!(text.contains("CLOCKS") && !text.contains("CONFIGS"), "{text}");
    }

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
