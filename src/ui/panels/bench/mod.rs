//! The micro decoder at work: rates, ceilings, errors against fp64, and the text it generates.

mod plots;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_kernels::model::piece;

use super::{cut_bottom, cut_top, halves};
use crate::app::bench::{PATHS, Phase};
use crate::app::{App, Hit};
use crate::bench::{PathDtype, PathReport};
use crate::ui::Hits;
use crate::ui::format::{self, Short};
use crate::ui::theme::Role;
use crate::ui::widgets::{Align, Card, Column, Look, Mark, Notice, Piece, Severity, Table, Tape};

pub use plots::DecodeRates;

/// Number formats of the paths with their labels, in the order on screen.
pub const DTYPES: &[(PathDtype, &str)] = &[
    (PathDtype::Fp32, "fp32"),
    (PathDtype::Fp16, "fp16"),
    (PathDtype::Bf16, "bf16"),
    (PathDtype::Int4, "int4"),
];

/// The colour of a path.
pub fn dtype_role(dtype: PathDtype) -> Role {
    match dtype {
        PathDtype::Fp32 => Role::Fp32,
        PathDtype::Fp16 => Role::Fp16,
        PathDtype::Bf16 => Role::Bf16,
        PathDtype::Int4 => Role::Int4,
    }
}

/// The label of a path.
pub fn dtype_label(dtype: PathDtype) -> &'static str {
    DTYPES.iter().find(|row| row.0 == dtype).map_or("", |row| row.1)
}

/// Draws the tab.
pub fn render(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut area = area;
    if app.bench.reports.is_empty() {
        let inner = frame(app, look, area, buffer);
        let text = app.bench.status();
        Notice { look, severity: severity(&app.bench.phase), text: &text }.render(inner, buffer);
        return;
    }
    let rows = u16::try_from(PATHS.len() + 3).unwrap_or(u16::MAX);
    let spare = area.height.saturating_sub(rows);
    let tapes = if spare >= 6 { (spare / 3).clamp(8, 10).min(spare) } else { 0 };
    let plots = match spare.saturating_sub(tapes) {
        0..7 => 0,
        room => room.min(28),
    };
    let tapes = if plots == 0 && tapes > 0 { spare.min(14) } else { tapes };
    if tapes > 0 {
        let place = cut_bottom(&mut area, tapes);
        tape(app, look, place, buffer);
    }
    if plots > 0 {
        let place = cut_bottom(&mut area, plots);
        let [left, right] = halves(place, 0);
        plots::rates(app, look, left, buffer);
        plots::roofline(app, look, right, buffer);
    }
    let inner = frame(app, look, area, buffer);
    table(app, look, inner, buffer, hits);
}

fn severity(phase: &Phase) -> Severity {
    match phase {
        Phase::Died(_) => Severity::Error,
        Phase::Paused(_) => Severity::Warning,
        Phase::Running | Phase::Finished => Severity::Done,
        Phase::Off | Phase::Starting => Severity::Info,
    }
}

fn frame(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    let hello = app.bench.hello.as_ref();
    let name = hello.map_or("CPU".to_owned(), |hello| hello.device_name.clone());
    let status = app.bench.status();
    let budget = hello.map(|hello| {
        format!(
            "{} thread{}, at most {:.0}% of the CPU, nice {}",
            hello.threads,
            if hello.threads == 1 { "" } else { "s" },
            hello.cpu_share_max * 100.0,
            hello.nice
        )
    });
    let read = app
        .bench
        .ceiling
        .map(|ceiling| format!("reads {}", format::rate(ceiling.read_bytes_per_s)));
    let left = [look.piece("Micro decoder on ", Role::Title), look.piece(&name, Role::Title)];
    let state = match app.bench.phase {
        Phase::Running | Phase::Finished => Role::Good,
        Phase::Died(_) => Role::Bad,
        _ => Role::Paused,
    };
    let mut right: Vec<Piece<'_>> = vec![look.piece(&status, state)];
    right.extend(read.as_ref().map(|text| look.piece(text, Role::Muted)));
    right.extend(budget.as_ref().map(|text| look.piece(text, Role::Muted)));
    let cached = app.bench.reports.values().any(|report| report.cache_resident == Some(true));
    let note =
        [look.piece("* fits the last-level cache, so it may read faster than memory", Role::Muted)];
    let note = if cached { &note[..] } else { &[] };
    let card = Card::new(look).left(&left).right(&right).foot_left(note);
    let inner = card.render(area, buffer);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

const COLUMNS: &[Column<'static>] = &[
    Column::new("PATH", 5, 6),
    Column::new("PROFILE", 7, 8),
    Column::new("TOK/S", 7, 9).align(Align::Right),
    Column::new("PREFILL", 13, 14).align(Align::Right).rank(2),
    Column::new("READ", 9, 10).align(Align::Right).rank(3),
    Column::new("OF READ BW", 10, 12).align(Align::Right).rank(4),
    Column::new("ERROR", 10, 10).align(Align::Right).rank(1),
    Column::new("TOKENS", 7, 8).align(Align::Right).rank(1),
    Column::new("ANSWER", 14, 30).grows(),
];

fn table(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut table = Table::new(look, COLUMNS, PATHS.len());
    table.selected = Some(app.view.bench.at);
    let layout = table.render(area, buffer, |row, column, pen| {
        let (profile, dtype) = PATHS[row];
        match column {
            0 => drop(pen.fit(dtype_label(dtype), look.style(dtype_role(dtype)))),
            1 => drop(pen.fit(profile, look.style(Role::Muted))),
            _ => match app.bench.path(profile, dtype) {
                Some(report) => {
                    let (text, role) = cell(report, column);
                    pen.fit(&text, look.style(role));
                }
                None => drop(
                    pen.fit(if column == 8 { "waiting" } else { "" }, look.style(Role::Absent)),
                ),
            },
        }
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        hits.add(line, Hit::Row(row));
    }
}

fn or_na(value: Option<f64>, text: impl Fn(f64) -> Short) -> (String, Role) {
    value.map_or((format::ABSENT.into(), Role::Absent), |value| {
        (text(value).to_string(), Role::Text)
    })
}

fn cell(report: &PathReport, column: usize) -> (String, Role) {
    match column {
        2 => or_na(report.decode_tokens_per_s, format::count),
        3 => or_na(report.prefill_gflop_per_s, |rate| format::si(rate * 1e9, "FLOP/s")),
        4 => or_na(report.gb_per_s, |rate| format::rate(rate * 1e9)),
        5 => or_na(report.read_bandwidth_share, |share| {
            let mark = if report.cache_resident == Some(true) { "*" } else { "" };
            Short::of(format_args!("{}{mark}", format::share(share)))
        }),
        6 => match report.error {
            Some(error) if error > report.error_limit => {
                (format::error(error).to_string(), Role::Bad)
            }
            Some(error) => (format::error(error).to_string(), Role::Good),
            None => ("not finite".into(), Role::Bad),
        },
        7 => {
            let right =
                report.tokens.iter().zip(&report.expected_tokens).filter(|(a, b)| a == b).count();
            let role = if right == report.tokens.len() { Role::Good } else { Role::Bad };
            (format!("{right}/{}", report.expected_tokens.len()), role)
        }
        _ => answer(report),
    }
}

/// What a path amounts to, in words.
fn answer(report: &PathReport) -> (String, Role) {
    match &report.first_bad {
        Some(bad) => (format!("bad from layer {} {}", bad.layer, bad.op), Role::Bad),
        None if !report.complete => ("decoding".into(), Role::Muted),
        None if report.tokens == report.expected_tokens => ("right".into(), Role::Good),
        None => ("finite, but other tokens than fp64".into(), Role::Warn),
    }
}

/// The generated text of the selected path, and that of the same format in the other profile.
fn tape(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let (_, dtype) = PATHS.get(app.view.bench.at).copied().unwrap_or(PATHS[0]);
    let mut rest = area;
    let shown: Vec<&PathReport> =
        ["clean", "glm4"].iter().filter_map(|profile| app.bench.path(profile, dtype)).collect();
    let each = area.height / u16::try_from(shown.len().max(1)).unwrap_or(1);
    for report in shown {
        let place = cut_top(&mut rest, each);
        let title = format!("{} {}", dtype_label(dtype), report.profile);
        let note = match report.profile.as_str() {
            "glm4" => "synthetic model, the mechanism of llama.cpp #13607",
            _ => "synthetic model",
        };
        let bad = report.first_bad.as_ref().map(|bad| {
            format!(
                "  first bad: layer {} {}, token {}, channel {}",
                bad.layer, bad.op, bad.token, bad.channel
            )
        });
        let mut left = vec![look.piece(&title, Role::Title)];
        left.extend(bad.as_ref().map(|text| look.piece(text, Role::Bad)));
        let right = [look.piece(note, Role::Muted)];
        let inner = Card::new(look).left(&left).right(&right).render(place, buffer);
        let pieces: Vec<String> = report.tokens.iter().map(|token| piece(*token)).collect();
        let marks = report.tokens.iter().enumerate();
        let marks = marks.map(|(at, token)| mark(report.expected_tokens.get(at), *token));
        let tokens: Vec<(&str, Mark)> = pieces.iter().map(String::as_str).zip(marks).collect();
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        Tape { look, tokens: &tokens }.render(inner, buffer);
    }
}

fn mark(expected: Option<&u32>, token: u32) -> Mark {
    match expected {
        Some(expected) if *expected == token => Mark::Good,
        Some(_) => Mark::Bad,
        None => Mark::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_has_a_label_and_a_colour_of_its_own() {
        for (profile, dtype) in PATHS {
            assert!(!dtype_label(*dtype).is_empty() && !profile.is_empty());
            assert_eq!(
                DTYPES.iter().filter(|row| dtype_role(row.0) == dtype_role(*dtype)).count(),
                1
            );
        }
    }
}
