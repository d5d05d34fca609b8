//! Decode rates now and over time, and where they lie under the measured ceilings.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_kernels::model::M0;

use super::{DTYPES, dtype_label, dtype_role};
use crate::features::bench::{Bench, PATHS};
use crate::widgets::format::Short;
use crate::widgets::layout::cut_top;
use crate::widgets::theme::Role;
use crate::widgets::{
    Bars, Card, Graph, Look, Paint, Point, Rates, Roof, Roofline, format, highest,
};

/// Newest decode rate of every path of the clean profile: label, colour, tokens per second.
pub(crate) fn decode_rates(state: &Bench) -> Vec<(&'static str, Role, Option<f64>)> {
    let rate = |dtype| state.path("clean", dtype)?.decode_tokens_per_s;
    DTYPES.iter().map(|(dtype, label)| (*label, dtype_role(*dtype), rate(*dtype))).collect()
}

/// Rates of every path, and the selected one over time where there is room.
pub(crate) fn rates(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("decode, tokens/s", Role::Title)];
    let right = [look.piece("clean profile, batch 1", Role::Muted)];
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    let mut rest = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let rates = Rates::new(&decode_rates(state));
    let bars = rates.bars();
    let place = cut_top(&mut rest, u16::try_from(bars.len()).unwrap_or(u16::MAX));
    Bars { look, bars: &bars }.render(place, buffer);
    over_time(state, look, rest, buffer);
}

fn over_time(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let (_, dtype) = PATHS.get(state.cursor.at).copied().unwrap_or(PATHS[0]);
    let Some(series) = state.devices.cpu().results.rates.get(&dtype).filter(|_| area.height >= 4)
    else {
        return;
    };
    let mut area = area;
    let title = Short::of(format_args!("{} over the last rounds", dtype_label(dtype)));
    look.pen(buffer, cut_top(&mut area, 1)).fit(&title, look.style(Role::Muted));
    let top = highest(series.values()).unwrap_or(1.0).max(f32::MIN_POSITIVE);
    let label = format::count(f64::from(top));
    let graph = Graph::new(look, series.values(), (0.0, top)).paint(Paint::Role(dtype_role(dtype)));
    graph.labels(&label, "0").render(area, buffer);
}

/// Decode of every path under the measured ceilings: two operations per weight read.
pub(crate) fn roofline(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let left = [look.piece("roofline, decode", Role::Title)];
    let inner = Card::new(look).left(&left).render(area, buffer);
    let ceiling = state.devices.cpu().results.ceiling;
    let Some((Some(bandwidth), peak)) =
        ceiling.map(|ceiling| (ceiling.read_bytes_per_s, ceiling.fp32_flop_per_s))
    else {
        return;
    };
    let points: Vec<Point<'_>> = DTYPES
        .iter()
        .filter_map(|(dtype, label)| {
            let report = state.path("clean", *dtype)?;
            let (bytes, tokens) = (report.gb_per_s? * 1e9, report.decode_tokens_per_s?);
            let rate = tokens * 2.0 * M0.weights_per_token() as f64;
            Some(Point { label, intensity: rate / bytes, rate, role: dtype_role(*dtype) })
        })
        .collect();
    let roofs = [Roof { label: "fp32", peak }];
    Roofline { look, bandwidth, roofs: &roofs, points: &points }.render(inner, buffer);
}
