use ratatui::layout::Rect;
use ratatui::style::Modifier;
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
    Column::new("CC", 6, 7).rank(7),
    Column::new("LOAD", 11, 16).grows(),
    Column::new("", 6, 18).rank(6),
    Column::new("MEMORY", 19, 26).rank(1).grows(),
    Column::new("TEMP", 6, 6).align(Align::Right).rank(2),
    Column::new("POWER", 9, 9).align(Align::Right).rank(3),
    Column::new("CLOCKS", 12, 22).rank(4),
    Column::new("CONFIGS", 7, 7).rank(5),
];

/// Columns of the head of the first column.
const INDEX: u16 = 3;

/// Position of the column of indices and names.
const GPU: usize = 0;

/// Position of the column of compute capabilities.
const CC: usize = 1;

/// Position of the column of loads.
const LOAD: usize = 2;

/// Position of the column that has room for every draw and its limit.
const POWER: usize = 6;

/// Position of the column that says what holds the clocks.
const CLOCKS: usize = 7;

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
    let names = Names::of(cards, &mut columns, on.area.width);
    let is_told = is_told_above(cards);
    let shown: Vec<usize> = (0..columns.len()).filter(|column| *column != CC || !is_told).collect();
    let columns: Vec<_> = shown.iter().map(|column| columns[*column]).collect();
    let mut table = Table::new(look, &columns, cards.len());
    table.selected = Some(selected);
    let memory = cards.iter().map(|card| text_width(&card.memory.text)).max().unwrap_or(0);
    let load = load_label(cards);
    let mut bars = Vec::new();
    let layout = table.draw(on.at(on.area), Hit::Row, |row, column, pen| match shown[column] {
        GPU => names.write(look, (row, &cards[row]), pen),
        bar @ 2..=4 => bars.push((row, bar, pen.x(), pen.rest())),
        column => cell(look, &cards[row], column, pen),
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        for (_, column, x, width) in bars.iter().filter(|bar| bar.0 == row) {
            let place = Rect { x: *x, width: *width, ..line };
            let label = if *column == LOAD { load } else { memory };
            bar(shared, &cards[row], (*column, label), on.at(place));
        }
        let selection = look.theme.selection();
        if row == selected && selection.add_modifier.contains(Modifier::REVERSED) {
            let width = line.width - layout.scrollbar.map_or(0, |bar| bar.width);
            on.buffer.set_style(Rect { width, ..line }, selection);
        }
    }
}

/// Whether the line of their kind says what the GPUs are.
fn is_told_above(cards: &[Card]) -> bool {
    let mut present = cards.iter().filter(|card| card.presence == Presence::Present);
    present.clone().count() > 0 && present.all(|card| card.is_of_kind)
}

/// How indices and names are written.
struct Names {
    /// Digits of the largest index.
    digits: usize,
    /// Whether names are written, too.
    are_shown: bool,
}

impl Names {
    /// Chooses the width of the first column. Where all GPUs are of one kind, names give way to what holds the clocks, which is worth more
    /// than other columns while it slows one of them.
    fn of(cards: &[Card], columns: &mut [Column<'_>], width: u16) -> Self {
        let is_slowed = |card: &Card| about(card, About::Throttle).1 == Role::Warn;
        if cards.iter().any(is_slowed) {
            columns[CLOCKS].rank = 1;
        }
        let digits = cards.len().saturating_sub(1).to_string().len();
        let mark = if cards.iter().any(|card| card.is_alerted) { 2 } else { 0 };
        let index = digits as u16 + mark;
        let name = cards.iter().map(|card| text_width(&card.short())).max().unwrap_or(0);
        let whole = index.saturating_add(1).saturating_add(name);
        columns[GPU].min = whole.clamp(INDEX, columns[GPU].min);
        columns[GPU].ideal = whole.clamp(INDEX, columns[GPU].ideal);
        let usual = [LOAD, 4, 5, POWER, CLOCKS];
        let others: u16 = usual.iter().map(|column| columns[*column].min + 2).sum();
        let fits = |first: u16| first + others <= width;
        let is_one = is_told_above(cards) && cards.iter().all(|card| card.name == cards[0].name);
        let are_shown = !is_one || fits(columns[GPU].min) || !fits(index.max(INDEX));
        if !are_shown {
            (columns[GPU].min, columns[GPU].ideal) = (index.max(INDEX), index.max(INDEX));
        }
        Self { digits, are_shown }
    }

    /// The index, and the name if not only its beginning has room.
    fn write(&self, look: Look<'_>, (at, card): (usize, &Card), pen: &mut CellWriter<'_>) {
        let style = look.style(head_role(card.presence));
        if card.is_alerted {
            pen.glyph(look.glyphs.warning, look.style(Role::Warn)).skip(1);
        }
        let index = format!("{at:>digits$}", digits = self.digits);
        match self.are_shown {
            true => pen.fit(&format!("{index} {}", card.short()), style),
            false => pen.put(&index, style),
        };
    }
}

fn cell(look: Look<'_>, card: &Card, column: usize, pen: &mut CellWriter<'_>) {
    let (text, role) = match column {
        CC => (
            card.facts.iter().find(|fact| fact.starts_with("sm_")).map_or("", String::as_str),
            Role::Muted,
        ),
        5 => about(card, About::Temperature),
        POWER => about(card, About::Power),
        CLOCKS => about(card, About::Throttle),
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
            let all = ["+123", "%45", "x86", "#10", "?12"];
            assert!(
                !text.contains("CONFIGS") || all.iter().all(|one| text.contains(one)),
                "{text}"
            );
            assert!(!text.contains("POWER") || text.contains("600/1000 W"), "{text}");
        }
        assert!(drawn(&[judged(Presence::Present)], 120).contains("CONFIGS"));
    }

    #[test]
    fn what_slows_the_clocks_has_room_before_what_is_told_above() {
        let facts = [
            (About::Power, "644/700 W", Role::Text),
            (About::Temperature, "75 C", Role::Text),
            (About::Throttle, "clocks: power cap", Role::Warn),
        ];
        let fact =
            |(about, text, role): (About, &str, Role)| Fact { about, text: text.into(), role };
        let card = Card {
            name: "NVIDIA H100 80GB HBM3".into(),
            presence: Presence::Present,
            is_of_kind: true,
            facts: vec!["sm_90".into()],
            state: facts.map(fact).into(),
            ..Card::default()
        };
        let cards = vec![card; 11];
        let text = drawn(&cards, 78);
        assert!(text.contains("power cap") && text.contains("644/700 W"), "{text}");
        assert!(!text.contains("sm_90") && !text.contains("H100"), "{text}");
        assert!(text.lines().any(|line| line.starts_with(" 0 ")), "{text}");
        let text = drawn(&cards, 120);
        assert!(text.contains("power cap") && text.contains(" 0 H100 80GB HBM3"), "{text}");
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
