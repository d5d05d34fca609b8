//! Histories of one GPU beside each other, and the values at the time that is read.

use ratatui::layout::Rect;

use super::model::Card;
use crate::features::Shared;
use crate::store::{MEANS, SPANS, Span, TRACKS, Track, TrackSpec};
use crate::widgets::format::{self, Short, Units};
use crate::widgets::layout::{columns, cut_bottom};
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{Graph, Paint, Surface, highest};

/// From this height on a graph has its times below.
const AXIS_FROM: u16 = 4;
/// Narrowest graph beside another one.
const WIDTH: u16 = 36;
/// Most graphs beside each other.
const MOST: usize = 8;
/// From this height on they stand in two rows.
const TWO_ROWS: u16 = 16;

/// Draws the tracks that have values, as many beside each other as fit; `reading` is so many steps before now. Tells whether there is one
/// that no summary shows.
pub(super) fn render(
    shared: &Shared,
    (card, reading): (&Card, Option<usize>),
    mut on: Surface<'_>,
) -> bool {
    let span = shared.display.span;
    let wanted = TRACKS.iter().filter(|spec| shared.display.has_graph(spec.track));
    let known = wanted.filter(|spec| shared.store.has_span(&card.key, spec.track, span));
    let beside = usize::from(on.area.width / WIDTH).clamp(1, MOST);
    let known: Vec<_> = known.collect();
    let rows = if known.len() > 1 && on.area.height >= TWO_ROWS { 2 } else { 1 };
    let shown = &known[..known.len().min(beside * rows)];
    let beside = shown.len().div_ceil(rows).max(1);
    let rows = shown.len().div_ceil(beside) as u16;
    for (at, specs) in shown.chunks(beside).enumerate() {
        let rest = rows - at as u16;
        let line = on.cut_top(on.area.height / rest.max(1)).area;
        for (spec, place) in specs.iter().zip(columns(line, beside as u16, 2)) {
            graph(shared, (card, spec, reading), on.at(place));
        }
    }
    shown.iter().any(|spec| spec.is_detail)
}

fn graph(
    shared: &Shared,
    (card, spec, reading): (&Card, &TrackSpec, Option<usize>),
    mut on: Surface<'_>,
) {
    let look = on.look;
    let (span, units) = (shared.display.span, shared.display.units);
    let fine = || shared.store.span(&card.key, spec.track, span, MEANS);
    let read = reading.map(|back| (SPANS[span], fine(), back));
    head((spec, units), read, on.cut_top(1));
    if on.area.height >= AXIS_FROM {
        axis(SPANS[span], on.cut_bottom(1));
    }
    let band = spec.track == Track::Clock && on.area.height >= AXIS_FROM;
    let band = band.then(|| cut_bottom(&mut on.area, 1));
    let gpu = shared.frame.gpus.iter().find(|gpu| gpu.key == card.key);
    let ceiling = gpu.and_then(spec.ceiling).map(|top| top as f32);
    let top = ceiling.or_else(|| highest(&fine())).unwrap_or(1.0).max(f32::MIN_POSITIVE);
    let [high, low] = [f64::from(top), 0.0].map(|value| label(spec.track, units, value));
    let pairs = Graph::new(look, &[], (0.0, top)).labels(&high, &low).columns(on.area);
    let values = shared.store.span_in_pairs(&card.key, spec.track, span, pairs);
    let of = (card.key.as_str(), spec.track);
    let read = reading.map(|back| 2 * shared.store.pairs_behind(of, span, pairs, back));
    let paint = match spec.track {
        Track::Memory => Paint::Ramp(Ramp::Memory),
        _ => Paint::Ramp(Ramp::Graph),
    };
    let graph = Graph::new(look, &values, (0.0, top)).labels(&high, &low);
    on.draw(&graph.paint(paint).reading(read));
    if let Some(line) = band {
        let columns = u16::try_from(pairs).unwrap_or(line.width).min(line.width);
        let line = Rect { x: line.right() - columns, width: columns, ..line };
        throttling(shared, card, on.at(line));
    }
}

/// What is drawn; while it is read also its value then.
fn head(
    (spec, units): (&TrackSpec, Units),
    read: Option<(Span, Vec<Option<f32>>, usize)>,
    mut on: Surface<'_>,
) {
    let look = on.look;
    let name = match (spec.track, units.fahrenheit) {
        (Track::Temperature, true) => format!("temperature {}F", look.glyphs.degree),
        _ => spec.label.to_owned(),
    };
    let mut pen = on.pen();
    pen.put(&name, look.style(Role::Muted));
    let Some((span, values, back)) = read else { return };
    let value = values.len().checked_sub(back + 1).and_then(|at| values[at]);
    let value = format::or_absent(value, |value| label(spec.track, units, f64::from(value)));
    let ago = format::duration(span.seconds as f64 * back as f64 / MEANS as f64);
    pen.skip(2).put(&value, look.style(Role::Accent));
    let rest = pen.rest().saturating_sub(1);
    pen.skip(1).elide(&Short::of(format_args!("{ago} ago")), rest, look.style(Role::Muted));
}

fn label(track: Track, units: Units, value: f64) -> Short {
    match track {
        Track::Memory => units.bytes(value),
        Track::Temperature => Short::of(format_args!("{:.0}", units.temperature(value))),
        Track::Pcie | Track::NvLink => format::rate(value),
        Track::Clock => Short::of(format_args!("{value:.0}")),
        _ => format::count(value),
    }
}

/// Why clocks were held, over time: heat before power.
fn throttling(shared: &Shared, card: &Card, on: Surface<'_>) {
    let line = on.area;
    let (span, steps) = (shared.display.span, usize::from(line.width));
    let weights = shared.store.span(&card.key, Track::Throttle, span, steps);
    for (x, weight) in (line.left()..line.right()).zip(weights) {
        let (role, symbol) = match weight {
            Some(weight) if weight > 1.0 => (Role::Bad, "T"),
            Some(weight) if weight > 0.0 => (Role::Warn, "P"),
            _ => continue,
        };
        on.buffer[(x, line.y)].set_symbol(symbol).set_style(on.look.style(role));
    }
}

/// When the left and the right end of a graph are.
fn axis(span: Span, mut on: Surface<'_>) {
    let (look, line) = (on.look, on.area);
    let ago = Short::of(format_args!("{} ago", span.label));
    let room = line.width.saturating_sub(3);
    on.pen().skip(4).elide(&ago, room.saturating_sub(5), look.style(Role::Faint));
    on.area = Rect { x: line.x + room, width: line.width - room, ..line };
    on.pen().put("now", look.style(Role::Faint));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_whole_megahertz() {
        let text = |track, value| label(track, Units::default(), value).to_string();
        assert_eq!(text(Track::Clock, 1755.0), "1755");
        assert_eq!(text(Track::Power, 8.4), "8.4");
        assert_eq!(text(Track::Pcie, 60e6), "60.0 MB/s");
    }
}
