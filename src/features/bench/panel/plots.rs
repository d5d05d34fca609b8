//! Decode rates now and over time, and where they lie under the measured ceilings.

use warpscope_kernels::model::M0;

use super::{DTYPES, dtype_role};
use crate::features::bench::{Bench, PATHS};
use crate::widgets::format::Short;
use crate::widgets::theme::Role;
use crate::widgets::{
    Bars, Card, Graph, Paint, Point, Rates, Roof, Roofline, Surface, format, highest,
};
use crate::worker::PathDtype;

/// Newest decode rate of every path of the clean profile: label, colour, tokens per second.
pub(crate) fn decode_rates(state: &Bench) -> Vec<(&'static str, Role, Option<f64>)> {
    let rate = |dtype| state.path("clean", dtype)?.decode_tokens_per_s;
    DTYPES.iter().map(|dtype| (dtype.id(), dtype_role(*dtype), rate(*dtype))).collect()
}

/// Rates of every path, and the selected one over time where there is room.
pub(crate) fn rates(state: &Bench, mut on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece("decode, tokens/s", Role::Title)];
    let right = [look.piece("clean profile, batch 1", Role::Muted)];
    on.frame(Card::new(look).left(&left).right(&right));
    let rates = Rates::new(&decode_rates(state));
    let bars = rates.bars();
    let rows = u16::try_from(bars.len()).unwrap_or(u16::MAX);
    on.cut_top(rows).draw(&Bars { look, bars: &bars });
    over_time(state, on);
}

fn over_time(state: &Bench, mut on: Surface<'_>) {
    let look = on.look;
    let (_, dtype) = PATHS.get(state.cursor.at).copied().unwrap_or(PATHS[0]);
    let rates = &state.devices.cpu().results.rates;
    let Some(series) = rates.get(&dtype).filter(|_| on.area.height >= 4) else { return };
    let title = Short::of(format_args!("{} over the last rounds", dtype.id()));
    on.cut_top(1).pen().fit(&title, look.style(Role::Muted));
    let top = highest(series.values()).unwrap_or(1.0).max(f32::MIN_POSITIVE);
    let label = format::count(f64::from(top));
    let graph = Graph::new(look, series.values(), (0.0, top)).paint(Paint::Role(dtype_role(dtype)));
    on.draw(&graph.labels(&label, "0"));
}

/// Decode of every path under the measured ceilings: two operations per weight read.
pub(crate) fn roofline(state: &Bench, mut on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece("roofline, decode", Role::Title)];
    on.area = Card::new(look).left(&left).render(on.area, on.buffer);
    let Some(ceiling) = state.devices.cpu().results.ceiling else { return };
    let Some(bandwidth) = ceiling.read_bytes_per_s else { return };
    let point = |dtype: &PathDtype| {
        let report = state.path("clean", *dtype)?;
        let (bytes, tokens) = (report.gb_per_s? * 1e9, report.decode_tokens_per_s?);
        let rate = tokens * 2.0 * M0.weights_per_token() as f64;
        let (label, intensity) = (dtype.id(), rate / bytes);
        Some(Point { label, intensity, rate, role: dtype_role(*dtype) })
    };
    let points: Vec<Point<'_>> = DTYPES.iter().filter_map(point).collect();
    let roofs = [Roof { label: "fp32", peak: ceiling.fp32_flop_per_s }];
    on.draw(&Roofline { look, bandwidth, roofs: &roofs, points: &points });
}
