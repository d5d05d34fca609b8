//! What was measured on one GPU, a line each: paths of the micro decoder, kernels, headroom.

use warpscope_kernels::Dtype;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{Route, Shape};

use super::{cpu, dtype_role, stage};
use crate::features::bench::Bench;
use crate::features::bench::device::{Device, Line};
use crate::features::bench::figures::{Figure, Unit};
use crate::features::bench::results::{Checks, Dated, Results};
use crate::widgets::format::Short;
use crate::widgets::theme::Role;
use crate::widgets::{Align, Column, Hit, Surface, Table, format};
use crate::worker::precision::{Precision, dtype_of, label};
use crate::worker::{KernelReport, PathReport, RangeReport};

const COLUMNS: &[Column<'static>] = &[
    Column::new("WHAT", 16, 20),
    Column::new("SIZE", 12, 16).rank(2),
    Column::new("TOK/S", 6, 9).align(Align::Right),
    Column::new("RATE", 13, 14).align(Align::Right),
    Column::new("OF PEAK", 7, 8).align(Align::Right).rank(4),
    Column::new("PREFILL", 17, 17).align(Align::Right).rank(5),
    Column::new("ERROR", 10, 10).align(Align::Right).rank(1),
    Column::new("LAST", 6, 6).align(Align::Right).rank(3),
    Column::new("ANSWER", 12, 40).grows(),
];

/// Columns that only a real device fills.
const TIMED: std::ops::RangeInclusive<usize> = 2..=5;
/// The one of them that says so of a simulated device.
const RATE: usize = 3;
/// The column that says what came out, or that nothing did so far.
const ANSWER: usize = 8;

type Cell = (String, Role);

fn nothing() -> Cell {
    (String::new(), Role::Absent)
}

/// Draws the table.
pub(crate) fn render(state: &Bench, bench: &Device, on: Surface<'_>) {
    let (look, now) = (on.look, state.devices.at());
    let lines = bench.lines();
    let is_empty =
        |column: &usize| bench.results.is_simulated() && TIMED.contains(column) && *column != RATE;
    let shown: Vec<usize> = (0..COLUMNS.len()).filter(|column| !is_empty(column)).collect();
    let columns: Vec<_> = shown.iter().map(|column| COLUMNS[*column]).collect();
    let mut table = Table::new(look, &columns, lines.len());
    table.selected = Some(state.cursor.at);
    table.draw(on, Hit::Row, |row, column, pen| {
        let (line, column) = (&lines[row], shown[column]);
        let at = dated(&bench.results, line);
        if column == 7 {
            let age = at.map(|at| format::duration(now.seconds_since(at).max(0.0)));
            pen.fit(age.as_deref().unwrap_or_default(), look.style(Role::Muted));
            return;
        }
        let (mut text, mut role) = cell(&bench.results, line, column, look.glyphs.times);
        if column == ANSWER && text.is_empty() {
            let is_off = stage::word(bench).0 == stage::OFF;
            text.push_str(if is_off { "not measured" } else { "waiting" });
        }
        let old = at.is_some_and(|at| bench.is_old(at, now));
        if old && TIMED.contains(&column) && role == Role::Text {
            role = Role::Late;
        }
        pen.fit(&text, look.style(role));
    });
}

/// When a line was measured.
fn dated(results: &Results, line: &Line<'_>) -> Option<warpscope_probes::Timestamp> {
    match line {
        Line::Path(profile, way) => {
            let path = results.path_result(profile, way)?;
            path.numeric.iter().chain(&path.speed).map(|report| report.at).max()
        }
        Line::Kernel(report) => Some(report.at),
        Line::Range(report) => Some(report.at),
    }
}

fn cell(results: &Results, line: &Line<'_>, column: usize, times: &str) -> Cell {
    if results.is_simulated() && TIMED.contains(&column) {
        return if column == RATE { ("simulated".into(), Role::Warn) } else { nothing() };
    }
    match line {
        Line::Path(profile, way) => path_cell(results, (profile, way), column),
        Line::Kernel(report) if column == 1 => (size(report.value.shape, times), Role::Muted),
        Line::Kernel(report) => kernel_cell(results, report, column),
        Line::Range(report) => headroom_cell(&report.value, column),
    }
}

fn or_nothing(value: Option<f64>, text: impl Fn(f64) -> Short) -> Cell {
    value.map_or_else(nothing, |value| (text(value).to_string(), Role::Text))
}

fn path_cell(results: &Results, (profile, way): (&str, Precision), column: usize) -> Cell {
    let speed = results.speed(profile, way);
    let timed = |read: fn(&PathReport) -> Option<f64>| speed.and_then(read);
    match column {
        0 => (format!("{} {profile}", label(way)), dtype_role(dtype_of(way))),
        2 => or_nothing(timed(|r| r.decode_tokens_per_s), format::count),
        3 => or_nothing(timed(|r| r.gb_per_s), |rate| {
            let cached = speed.is_some_and(|speed| speed.cache_resident == Some(true));
            let mark = if cached { "*" } else { "" };
            Short::of(format_args!("{}{mark}", format::rate(rate * 1e9)))
        }),
        4 => or_nothing(results.read_share(profile, way), format::share),
        5 => or_nothing(timed(|r| r.prefill_gflop_per_s), |rate| format::si(rate * 1e9, "FLOP/s")),
        6 => results.numeric(profile, way).map_or_else(nothing, cpu::error),
        8 => match (results.numeric(profile, way), results.absent(way)) {
            (Some(report), _) => path_answer(report),
            (None, Some(why)) => (format!("not run: {why}"), Role::Absent),
            (None, None) => nothing(),
        },
        _ => nothing(),
    }
}

fn path_answer(report: &PathReport) -> Cell {
    let right = report.tokens.iter().zip(&report.expected_tokens).filter(|(a, b)| a == b).count();
    let (words, role) = cpu::answer(report);
    (format!("{right}/{} {words}", report.expected_tokens.len()), role)
}

fn kernel_cell(results: &Results, report: &Dated<KernelReport>, column: usize) -> Cell {
    let figure = results.figure(report);
    let checks = results.checks.get(&report.value.kernel).map(|checks| &checks.value);
    match column {
        0 => (report.value.kernel.clone(), kernel_role(&report.value.kernel)),
        3 => figure.as_ref().map_or_else(nothing, |figure| {
            let cached = figure.unit == Unit::Bytes && report.value.l2_resident;
            (rate(&report.value.kernel, figure, cached), Role::Text)
        }),
        4 => or_nothing(figure.and_then(|figure| figure.share), format::share),
        6 => or_nothing(checks.and_then(|checks| checks.error), format::error),
        8 => kernel_answer(&report.value, checks),
        _ => nothing(),
    }
}

/// A figure in its unit; one of a cache is marked.
pub(crate) fn rate(kernel: &str, figure: &Figure, cached: bool) -> String {
    let mark = if cached { "*" } else { "" };
    match figure.unit {
        Unit::Operations => format::si(figure.value, operations(kernel)).to_string(),
        Unit::Bytes => format!("{}{mark}", format::rate(figure.value)),
        Unit::Seconds => format!("{:.1} us", figure.value * 1e6),
    }
}

/// The unit a kernel's operations are counted in: not all of them are on floating-point numbers.
pub(crate) fn operations(kernel: &str) -> &'static str {
    match kernels().find(|one| one.id == kernel).map(|one| one.dtype) {
        Some(Dtype::Int8 | Dtype::Int4) => "OP/s",
        _ => "FLOP/s",
    }
}

/// Right or wrong first, then how it runs.
fn kernel_answer(report: &KernelReport, checks: Option<&Checks>) -> Cell {
    let (route, role) = match &report.route {
        Route::Native { by } => (by.clone(), Role::Text),
        Route::Emulated { by } => (format!("emulated: {by}"), Role::Warn),
        Route::Absent { why } => (format!("not here: {why}"), Role::Absent),
    };
    match checks {
        Some(Checks { first_wrong: Some((case, why)), .. }) => {
            (format!("wrong: {case}: {why}"), Role::Bad)
        }
        Some(checks) if checks.right > 0 => (format!("{} right, {route}", checks.right), role),
        _ => (route, role),
    }
}

fn headroom_cell(report: &RangeReport, column: usize) -> Cell {
    match column {
        0 => (report.path.clone(), kernel_role(&report.kernel)),
        1 => ("headroom".into(), Role::Muted),
        8 => headroom(report),
        _ => nothing(),
    }
}

/// How far a path reaches, in words.
pub(crate) fn headroom(report: &RangeReport) -> Cell {
    let role = match (report.survives_cancelling, report.first_bad_log2) {
        (Some(false), _) => Role::Bad,
        (_, Some(_)) => Role::Warn,
        (_, None) => Role::Good,
    };
    (report.words(), role)
}

/// What a kernel of the registry is about.
pub(crate) fn title(kernel: &str) -> Option<&'static str> {
    kernels().find(|one| one.id == kernel).map(|one| one.title)
}

fn kernel_role(kernel: &str) -> Role {
    kernels().find(|one| one.id == kernel).map_or(Role::Text, |one| match one.dtype {
        Dtype::Fp64 => Role::Fp64,
        Dtype::Fp32 => Role::Fp32,
        Dtype::Tf32 => Role::Tf32,
        Dtype::Fp16 => Role::Fp16,
        Dtype::Bf16 => Role::Bf16,
        Dtype::Fp8E4m3 | Dtype::Fp8E5m2 | Dtype::Mxfp8 | Dtype::Fp6 => Role::Fp8,
        Dtype::Int8 => Role::Int8,
        Dtype::Int4 | Dtype::Int4Weight => Role::Int4,
        _ => Role::Fp4,
    })
}

/// A size, without what a kernel does not have.
pub(crate) fn size(shape: Shape, times: &str) -> String {
    let Shape { m, n, k, context, .. } = shape;
    let sides: Vec<u32> = [m, n, k].into_iter().filter(|side| *side > 0).collect();
    let sides = match sides[..] {
        [a, b, c] if a == b && b == c => format!("{a}^3"),
        _ => sides.iter().map(u32::to_string).collect::<Vec<_>>().join(times),
    };
    match context {
        0 => sides,
        context => format!("{sides} at {context}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_short_as_they_can_be() {
        let shape = |m, n, k, context| Shape { m, n, k, context, ..Shape::default() };
        assert_eq!(size(shape(4096, 4096, 4096, 0), "x"), "4096^3");
        assert_eq!(size(shape(1, 4096, 2048, 0), "x"), "1x4096x2048");
        assert_eq!(size(shape(32, 0, 128, 512), "x"), "32x128 at 512");
        assert_eq!(size(Shape::default(), "x"), "");
    }

    #[test]
    fn operations_on_integers_are_not_called_floating_point() {
        for (kernel, unit) in [
            ("gemm.s8", "OP/s"),
            ("gemm.s4", "OP/s"),
            ("alu.dp4a", "OP/s"),
            ("gemm.f16", "FLOP/s"),
            ("gemm.e4m3", "FLOP/s"),
        ] {
            assert_eq!(operations(kernel), unit, "{kernel}");
        }
    }

    #[test]
    fn headroom_tells_outputs_and_sums_apart() {
        let report = |first_bad_log2, survives_cancelling| RangeReport {
            path: "synthetic".into(),
            kernel: "synthetic".into(),
            first_bad_log2,
            tried_log2: 24,
            survives_cancelling,
        };
        for (report, text, role) in [
            (report(Some(16), Some(true)), "not finite from 2^16 on", Role::Warn),
            (
                report(Some(16), Some(false)),
                "not finite from 2^16 on; partial sums overflow",
                Role::Bad,
            ),
            (report(None, Some(true)), "finite up to 2^24", Role::Good),
            (report(None, None), "finite up to 2^24", Role::Good),
        ] {
            assert_eq!(headroom(&report), (text.to_owned(), role));
        }
    }
}
