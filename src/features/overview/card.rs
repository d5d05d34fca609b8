use ratatui::layout::Rect;
use warpscope_probes::Timestamp;
use warpscope_probes::gpu::Presence;

use super::graphs;
use super::model::{Card, Fact, Meter, Summary};
use crate::features::Shared;
use crate::widgets::format::Short;
use crate::widgets::layout::{cut_history, cut_top, halves};
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{
    Amount, Card as Frame, CellWriter, DtypeStrip, Gauge, Look, Paint, Spark, StyledText, Surface,
    outcome_role, text_width,
};

/// Fewest lines a graph is worth.
pub(crate) const GRAPH_LEAST: u16 = 3;
/// From this many lines on a graph is easy to read: with its name and times three or four of them are the curve's.
pub(crate) const GRAPH_GOOD: u16 = 6;
/// Most lines the graphs of one card take.
pub(crate) const GRAPH_MOST: u16 = 36;

/// Columns of a load in percent.
const LOAD: u16 = 5;

/// Whether there is something to draw a history of.
pub(crate) fn has_graph(card: &Card) -> bool {
    match card.presence {
        Presence::Present => true,
        Presence::Lost => card.has_history,
        Presence::WhatIf | Presence::Suspended | Presence::Starting => false,
    }
}

/// Lines a card needs, frame included.
pub(crate) fn height(card: &Card, width: u16) -> u16 {
    let gauges = u16::from(has_graph(card)) * if width < 60 { 2 } else { 1 };
    let strip = if card.dtypes.is_empty() { 0 } else { strip_height(&card.dtypes, width) };
    2 + gauges
        + u16::from(!in_frame(card))
        + strip
        + u16::from(card.summary.has_line() || card.decode.is_some())
}

/// Whether the facts stand in the frame: those of a what-if GPU are few and never change.
fn in_frame(card: &Card) -> bool {
    card.presence == Presence::WhatIf
}

/// Lines the number formats take in a frame of this width.
pub(super) fn strip_height(dtypes: &[(&str, &str, Role)], width: u16) -> u16 {
    let cells: usize = dtypes.iter().map(|(label, ..)| label.len() + 4).sum();
    if cells > usize::from(width.saturating_sub(4)) { 2 } else { 1 }
}

/// Draws one GPU. Tells whether that shows values that no summary has.
pub(crate) fn render(
    shared: &Shared,
    card: &Card,
    (selected, reading): (bool, Option<usize>),
    mut on: Surface<'_>,
) -> bool {
    let look = on.look;
    let title = if card.presence == Presence::WhatIf { Role::WhatIf } else { Role::Title };
    let mark = format!("{} ", look.glyphs.warning);
    let left = [look.piece(&mark, Role::Warn), look.piece(&card.head, title)];
    let left = if card.is_alerted { &left[..] } else { &left[1..] };
    let facts_shown = if card.is_of_kind { &[][..] } else { &card.facts };
    let right: Vec<StyledText<'_>> =
        facts_shown.iter().map(|fact| look.piece(fact, Role::Muted)).collect();
    let foot = if in_frame(card) { &card.state[..] } else { &[] };
    let foot: Vec<StyledText<'_>> =
        foot.iter().map(|fact| look.piece(&fact.text, fact.role)).collect();
    let border = if selected { Role::BorderFocus } else { Role::Border };
    let width = on.area.width;
    on.frame(Frame::new(look).border(border).left(left).right(&right).foot_left(&foot));
    if has_graph(card) {
        gauges(shared, card, &mut on);
    }
    if !in_frame(card) {
        facts(&card.state, on.cut_top(1));
    }
    if !card.dtypes.is_empty() {
        let strip = DtypeStrip { look, items: &card.dtypes };
        on.cut_top(strip_height(&card.dtypes, width)).draw(&strip);
    }
    if card.summary.has_line() || card.decode.is_some() {
        summary((&card.summary, &card.decode), on.cut_top(1));
    }
    on.area.height >= GRAPH_LEAST
        && has_graph(card)
        && graphs::render(shared, (card, reading.filter(|_| selected)), on)
}

fn gauges(shared: &Shared, card: &Card, on: &mut Surface<'_>) {
    let (gpu, memory) = if on.area.width < 56 {
        (cut_top(&mut on.area, 1), cut_top(&mut on.area, 1))
    } else {
        halves(cut_top(&mut on.area, 1), 2).into()
    };
    let history = Some(shared.store.utilization(&card.key));
    let label = load_label(std::slice::from_ref(card));
    gauge(("gpu ", Ramp::Load), card.load.amount, (&card.load.text, label), history, on.at(gpu));
    let Meter { amount, text } = &card.memory;
    gauge(("mem ", Ramp::Memory), *amount, (text, text_width(text)), None, on.at(memory));
}

/// A gauge behind its name, with the value as text in a column of a width, and its history where there is one.
pub(super) fn gauge(
    (name, ramp): (&str, Ramp),
    amount: Amount,
    (text, width): (&str, u16),
    history: Option<&[Option<f32>]>,
    mut on: Surface<'_>,
) {
    let look = on.look;
    let mut pen = on.pen();
    pen.put(name, look.style(Role::Muted));
    on.area = Rect { x: pen.x(), width: pen.rest(), ..on.area };
    if let Some(values) = history {
        let line = cut_history(&mut on.area);
        on.at(line).draw(&Spark::new(look, values, Paint::Role(Role::Graph)).max(100.0));
    }
    on.draw(&Gauge::new(look, amount, ramp).label(text, width));
}

/// Columns that show the loads of all cards: percent, or why there is none.
pub(super) fn load_label(cards: &[Card]) -> u16 {
    cards.iter().map(|card| text_width(&card.load.text)).fold(LOAD, u16::max)
}

/// Short facts beside each other; those at the end are left out until the rest fits.
fn facts(facts: &[Fact], mut on: Surface<'_>) {
    let look = on.look;
    let mut pen = on.pen();
    for (at, fact) in facts.iter().enumerate() {
        let gap = if at == 0 { 0 } else { 3 };
        let width = text_width(&fact.text);
        if at > 0 && pen.rest() < width + gap {
            continue;
        }
        let room = pen.rest().saturating_sub(gap);
        pen.skip(gap).elide(&fact.text, width.min(room), look.style(fact.role));
    }
}

/// What the benchmark reached, how many configurations work, and the failure that matters most.
pub(super) fn summary(
    (summary, decode): (&Summary, &Option<(Timestamp, String)>),
    mut on: Surface<'_>,
) {
    let look = on.look;
    let mut pen = on.pen();
    if let Some((_, decode)) = decode {
        pen.put(decode, look.style(Role::Text)).skip(3);
    }
    if summary.total == 0 {
        let told = if summary.is_awaited { "reading the rules" } else { "" };
        pen.put(told, look.style(Role::Muted));
        return;
    }
    pen.put(&Short::of(format_args!("{} configs ", summary.total)), look.style(Role::Muted));
    counts(look, &mut pen, summary);
    if let Some((outcome, text)) = &summary.worst {
        pen.skip(2)
            .glyph(outcome.symbol(!look.glyphs.is_unicode), look.style(outcome_role(*outcome)))
            .skip(1);
        let rest = pen.rest();
        pen.elide(text, rest, look.style(Role::Muted));
    }
}

/// Columns [`counts`] takes.
pub(super) fn counts_width(summary: &Summary) -> u16 {
    columns_from(summary, 0)
}

/// Columns of the outcomes that are so bad or worse.
fn columns_from(summary: &Summary, least: u8) -> u16 {
    let shown = summary.counts.iter().filter(|(outcome, _)| outcome.severity() >= least);
    shown.map(|(_, count)| 2 + text_width(&Short::of(*count))).sum()
}

/// How many of each outcome: symbol and number. Where not all fit, the mildest are left out; no number is cut.
pub(crate) fn counts(look: Look<'_>, pen: &mut CellWriter<'_>, summary: &Summary) {
    let room = pen.rest();
    let fits = |least: &u8| columns_from(summary, *least) + if *least > 0 { 2 } else { 0 } <= room;
    let least = (0..u8::MAX).find(fits).unwrap_or(u8::MAX);
    if least > 0 && room > 1 {
        pen.skip(1).glyph(look.glyphs.ellipsis, look.style(Role::Muted));
    }
    for (outcome, count) in summary.counts.iter().filter(|row| row.0.severity() >= least) {
        let style = look.style(outcome_role(*outcome));
        pen.skip(1).glyph(outcome.symbol(!look.glyphs.is_unicode), style);
        pen.put(&Short::of(*count), style);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;
    use crate::engine::Outcome;
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::svg;
    use crate::widgets::theme::Theme;

    #[test]
    fn where_not_all_counts_fit_the_worst_are_shown_whole() {
        let counts = vec![(Outcome::Works, 120), (Outcome::Fails, 86), (Outcome::Unknown, 12)];
        let summary = Summary { counts, ..Summary::default() };
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::ascii());
        let shown = |width| {
            let area = Rect::new(0, 0, width, 1);
            let mut buffer = Buffer::empty(area);
            super::counts(look, &mut look.pen(&mut buffer, area), &summary);
            svg::text(&buffer).trim().to_owned()
        };
        assert_eq!((shown(13), shown(12)), ("+120 x86 ?12".into(), "~ x86 ?12".into()));
        assert_eq!((shown(9), shown(5)), ("~ x86".into(), "~".into()));
    }
}
