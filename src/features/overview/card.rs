use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_probes::Timestamp;
use warpscope_probes::gpu::Presence;

use super::graphs;
use super::model::{Card, Fact, Summary};
use crate::features::Shared;
use crate::widgets::format::Short;
use crate::widgets::layout::{cut_history, cut_top, halves};
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{
    Card as Frame, CellWriter, DtypeStrip, Gauge, Look, Paint, Spark, StyledText, outcome_role,
    text_width,
};

/// Fewest lines a graph is worth.
pub(crate) const GRAPH_LEAST: u16 = 3;
/// From this many lines on a graph is easy to read: with its name and times three or four of them are the curve's.
pub(crate) const GRAPH_GOOD: u16 = 6;
/// Most lines the graphs of one card take.
pub(crate) const GRAPH_MOST: u16 = 18;

/// Columns of a load in percent.
const LOAD: u16 = 5;

/// Whether there is something to draw a history of.
pub(crate) fn has_graph(card: &Card) -> bool {
    matches!(card.presence, Presence::Present | Presence::Lost)
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
    look: Look<'_>,
    card: &Card,
    (selected, reading): (bool, Option<usize>),
    area: Rect,
    buffer: &mut Buffer,
) -> bool {
    let title = if card.presence == Presence::WhatIf { Role::WhatIf } else { Role::Title };
    let left = [look.piece(&card.head, title)];
    let facts_shown = if card.is_of_kind { &[][..] } else { &card.facts };
    let right: Vec<StyledText<'_>> =
        facts_shown.iter().map(|fact| look.piece(fact, Role::Muted)).collect();
    let foot: Vec<StyledText<'_>> = if in_frame(card) {
        card.state.iter().map(|fact| look.piece(&fact.text, fact.role)).collect()
    } else {
        Vec::new()
    };
    let border = if selected { Role::BorderFocus } else { Role::Border };
    let frame = Frame::new(look).border(border).left(&left).right(&right).foot_left(&foot);
    let inner = frame.render(area, buffer);
    let mut rest = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    if has_graph(card) {
        gauges(shared, look, card, &mut rest, buffer);
    }
    if !in_frame(card) {
        facts(look, &card.state, cut_top(&mut rest, 1), buffer);
    }
    if !card.dtypes.is_empty() {
        let line = cut_top(&mut rest, strip_height(&card.dtypes, area.width));
        DtypeStrip { look, items: &card.dtypes }.render(line, buffer);
    }
    if card.summary.has_line() || card.decode.is_some() {
        summary(look, (&card.summary, &card.decode), cut_top(&mut rest, 1), buffer);
    }
    rest.height >= GRAPH_LEAST
        && has_graph(card)
        && graphs::render(shared, look, (card, reading.filter(|_| selected)), rest, buffer)
}

fn gauges(shared: &Shared, look: Look<'_>, card: &Card, rest: &mut Rect, buffer: &mut Buffer) {
    let (gpu, memory) = if rest.width < 56 {
        (cut_top(rest, 1), cut_top(rest, 1))
    } else {
        halves(cut_top(rest, 1), 2).into()
    };
    let mut pen = look.pen(buffer, gpu);
    pen.put("gpu ", look.style(Role::Muted));
    let mut bar = Rect { x: pen.x(), width: pen.rest(), ..gpu };
    let line = cut_history(&mut bar);
    let history = shared.store.utilisation(&card.key);
    let label = load_label(std::slice::from_ref(card));
    Gauge::new(look, card.load.amount, Ramp::Load)
        .label(&card.load.text, label)
        .render(bar, buffer);
    Spark::new(look, history, Paint::Role(Role::Graph)).max(100.0).render(line, buffer);
    let mut pen = look.pen(buffer, memory);
    pen.put("mem ", look.style(Role::Muted));
    let bar = Rect { x: pen.x(), width: pen.rest(), ..memory };
    let label = text_width(&card.memory.text);
    Gauge::new(look, card.memory.amount, Ramp::Memory)
        .label(&card.memory.text, label)
        .render(bar, buffer);
}

/// Columns that show the loads of all cards: percent, or why there is none.
pub(super) fn load_label(cards: &[Card]) -> u16 {
    cards.iter().map(|card| text_width(&card.load.text)).fold(LOAD, u16::max)
}

/// Short facts beside each other; those at the end are left out until the rest fits.
pub(crate) fn facts(look: Look<'_>, facts: &[Fact], line: Rect, buffer: &mut Buffer) {
    let mut pen = look.pen(buffer, line);
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
    look: Look<'_>,
    (summary, decode): (&Summary, &Option<(Timestamp, String)>),
    line: Rect,
    buffer: &mut Buffer,
) {
    let mut pen = look.pen(buffer, line);
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
    summary.counts.iter().map(|(_, count)| 2 + text_width(&Short::of(*count))).sum()
}

/// How many of each outcome: symbol and number.
pub(crate) fn counts(look: Look<'_>, pen: &mut CellWriter<'_>, summary: &Summary) {
    for (outcome, count) in &summary.counts {
        let style = look.style(outcome_role(*outcome));
        pen.skip(1).glyph(outcome.symbol(!look.glyphs.is_unicode), style);
        pen.put(&Short::of(*count), style);
    }
}
