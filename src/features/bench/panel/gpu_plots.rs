//! How fast each number format is on one GPU, and where that lies under ceilings measured in the same session.

use ratatui::layout::Rect;
use warpscope_kernels::gpu::Route;

use super::{dtype_role, lines};
use crate::features::bench::Bench;
use crate::features::bench::device::Device;
use crate::features::bench::figures::{READ, Unit};
use crate::features::bench::results::Results;
use crate::widgets::format::Short;
use crate::widgets::layout::{columns, cut_top, inset};
use crate::widgets::theme::Role;
use crate::widgets::{Bar, Bars, Card, Point, Roof, Roofline, Surface, format};
use crate::worker::precision::{dtype_of, is_default, label, precisions};

/// Kernels as bars: label, colour, kernel.
type Rows = &'static [(&'static str, Role, &'static str)];

/// Products of large matrices.
const PRODUCTS: Rows = &[
    ("fp32", Role::Fp32, "gemm.f32"),
    ("tf32", Role::Tf32, "gemm.tf32"),
    ("fp16", Role::Fp16, "gemm.f16"),
    ("fp16 sums", Role::Fp16, "gemm.f16acc16"),
    ("bf16", Role::Bf16, "gemm.bf16"),
    ("int8", Role::Int8, "gemm.s8"),
    ("int4", Role::Int4, "gemm.s4"),
    ("fp8", Role::Fp8, "gemm.e4m3"),
];

/// Products with one vector: how fast weights are read.
const READS: Rows = &[
    ("fp32", Role::Fp32, "gemv.f32"),
    ("fp16", Role::Fp16, "gemv.f16"),
    ("bf16", Role::Bf16, "gemv.bf16"),
    ("w4a16", Role::Int4, "w4.f16"),
    ("w4a8", Role::Int4, "w4a8"),
    ("awq", Role::Int4, "awq.f16"),
    ("nf4", Role::Int4, "nf4.f16"),
    ("memory", Role::Muted, READ),
];

/// Logarithm of the ratio below which two ceilings count as one.
const ALIKE: f64 = 0.1;

/// A value with its text, label and colour.
type Measured = (&'static str, Role, Option<f64>, Short);

/// Bars with their heading.
type Group = (&'static str, Vec<Measured>);

/// Lines from which on a roofline can be read.
const PLOT: u16 = 12;

/// Draws bars on the left and the roofline on the right.
pub(crate) fn render(state: &Bench, bench: &Device, mut on: Surface<'_>) {
    let newest = bench.results.newest;
    let old = newest.is_some_and(|at| bench.is_old(at, state.devices.at()));
    let [decode, products, reads] = &groups(bench, old);
    let count = if on.area.width >= 150 { 3 } else { 2 };
    let places: Vec<Rect> = columns(on.area, count, 0).collect();
    // A low plot of several roofs cannot be read; bars can.
    match (count, on.area.height >= PLOT) {
        (3, _) => {
            bars(&[decode, reads], on.at(places[0]));
            bars(&[products], on.at(places[1]));
        }
        (_, true) => bars(&[decode, products, reads], on.at(places[0])),
        (_, false) => {
            bars(&[decode], on.at(places[0]));
            return bars(&[products], on.at(places[1]));
        }
    }
    roofline(&bench.results, old, on.at(places[places.len() - 1]));
}

/// Bars with a heading each.
fn groups(bench: &Device, old: bool) -> [Group; 3] {
    let results = &bench.results;
    let role = |role| if old { Role::Late } else { role };
    let decode = precisions().filter_map(|way| {
        let rate = results.speed("clean", way).and_then(|path| path.decode_tokens_per_s);
        let shown = is_default(way) || bench.has_all_paths() && rate.is_some();
        let role = role(dtype_role(dtype_of(way)));
        shown.then(|| (label(way), role, rate, format::or_absent(rate, format::count)))
    });
    let kernels = |rows: Rows, unit: Unit| {
        let one = move |(label, own, kernel): &(&'static str, Role, &str)| {
            let report = results.kernels.get(*kernel)?;
            if matches!(report.value.route, Route::Absent { .. }) {
                return Some((*label, role(*own), None, Short::of("not on this GPU")));
            }
            let figure = results.figure(report).filter(|figure| figure.unit == unit)?;
            let per_s = if unit == Unit::Bytes { "B/s" } else { lines::operations(kernel) };
            let text = format::si(figure.value, per_s);
            Some((*label, role(*own), Some(figure.value), text))
        };
        rows.iter().filter_map(one).collect::<Vec<_>>()
    };
    [
        ("decode, tokens/s", decode.collect()),
        ("products, operations/s", kernels(PRODUCTS, Unit::Operations)),
        ("weights read, B/s", kernels(READS, Unit::Bytes)),
    ]
}

/// As many groups as there is room for.
fn bars(groups: &[&Group], mut on: Surface<'_>) {
    let look = on.look;
    let mut shown = groups.iter().filter(|group| !group.1.is_empty()).peekable();
    let title = shown.peek().map_or("", |group| group.0);
    let left = [look.piece(title, Role::Title)];
    on.frame(
        Card::new(look).left(&left).right(&[look.piece("bursts, clocks not settled", Role::Muted)]),
    );
    for (at, (heading, rows)) in shown.enumerate() {
        let needed = rows.len() as u16 + u16::from(at > 0) * 2;
        if at > 0 && needed > on.area.height {
            return;
        }
        if at > 0 {
            cut_top(&mut on.area, 1);
            on.cut_top(1).pen().fit(heading, look.style(Role::Title));
        }
        let bars: Vec<Bar<'_>> = rows
            .iter()
            .map(|(label, role, value, text)| Bar { label, value: *value, text, role: *role })
            .collect();
        on.cut_top(rows.len() as u16).draw(&Bars { look, bars: &bars });
    }
}

/// Decode and products under what this GPU was seen to be able to do in the same session.
fn roofline(results: &Results, old: bool, mut on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece("roofline, ceilings measured here", Role::Title)];
    let inner = Card::new(look).left(&left).render(on.area, on.buffer);
    let Some(bandwidth) = results.read_ceiling() else {
        let text = "The bandwidth of its memory has not been measured in this session.";
        on.at(inset(inner)).pen().fit(text, look.style(Role::Muted));
        return;
    };
    let peaks = alike(results.peaks());
    let roofs: Vec<Roof<'_>> =
        peaks.iter().map(|(label, peak)| Roof { label, peak: *peak }).collect();
    let points = points(results);
    let points: Vec<Point<'_>> = points
        .iter()
        .map(|(label, role, intensity, rate)| {
            let role = if old { Role::Late } else { *role };
            Point { label, intensity: *intensity, rate: *rate, role }
        })
        .collect();
    on.at(inner).draw(&Roofline { look, bandwidth, roofs: &roofs, points: &points });
}

/// Peaks that nobody could tell apart in the plot are one.
fn alike(peaks: Vec<(&'static str, f64)>) -> Vec<(String, f64)> {
    let mut roofs: Vec<(String, f64)> = Vec::new();
    for (label, peak) in peaks {
        match roofs.iter_mut().find(|roof| (roof.1 / peak).ln().abs() < ALIKE) {
            Some(roof) => roof.0 += &format!(", {label}"),
            None => roofs.push((label.to_owned(), peak)),
        }
    }
    roofs
}

/// Products and reads of the newest session: operations per byte, operations per second.
fn points(results: &Results) -> Vec<(String, Role, f64, f64)> {
    let point = |(label, role, kernel): &(&'static str, Role, &str)| {
        let report = results.kernels.get(*kernel)?;
        let one = &report.value;
        let figure = results.figure(report).filter(|_| report.session == results.session)?;
        let rate = match figure.unit {
            Unit::Operations => figure.value,
            Unit::Bytes => figure.value / one.bytes * one.flops,
            Unit::Seconds => return None,
        };
        let intensity = one.flops / one.bytes;
        let of = if figure.unit == Unit::Bytes { "weights" } else { "product" };
        let shown = *kernel != READ && intensity.is_finite();
        shown.then(|| (format!("{label} {of}"), *role, intensity, rate))
    };
    PRODUCTS.iter().chain(READS).filter_map(point).collect()
}
