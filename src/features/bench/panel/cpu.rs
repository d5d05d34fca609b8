//! The micro decoder on the CPU: rates, ceilings, errors against fp64, and the text it generates.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{decoded, dtype_label, dtype_role, plots, stage};
use crate::features::bench::device::Device;
use crate::features::bench::{Bench, PATHS};
use crate::widgets::format::Short;
use crate::widgets::layout::{cut_bottom, halves};
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, Card, Column, Hit, Hits, Look, Notice, Severity, StyledText, Table, format,
};
use crate::worker::PathReport;
use crate::worker::scheduler::Stage;

/// Draws what is known of the CPU.
pub(crate) fn render(
    state: &Bench,
    look: Look<'_>,
    area: Rect,
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let mut area = area;
    if state.devices.cpu().results.paths.is_empty() {
        let inner = frame(state, look, area, buffer);
        let text = stage::why(state.devices.cpu(), state.devices.now());
        Notice { look, severity: severity(state.devices.cpu()), text: &text }.render(inner, buffer);
        return;
    }
    let rows = u16::try_from(PATHS.len() + 3).unwrap_or(u16::MAX);
    let spare = area.height.saturating_sub(rows);
    let decoded = if spare >= 6 { (spare / 3).clamp(8, 10).min(spare) } else { 0 };
    let plots = match spare.saturating_sub(decoded) {
        0..7 => 0,
        room => room.min(28),
    };
    let decoded = if plots == 0 && decoded > 0 { spare.min(14) } else { decoded };
    if decoded > 0 {
        let place = cut_bottom(&mut area, decoded);
        let (_, dtype) = PATHS.get(state.cursor.at).copied().unwrap_or(PATHS[0]);
        let both = decoded::PROFILES.iter().filter_map(|profile| state.path(profile, dtype));
        decoded::render(&both.collect::<Vec<_>>(), look, place, buffer);
    }
    if plots > 0 {
        let place = cut_bottom(&mut area, plots);
        let [left, right] = halves(place, 0);
        plots::rates(state, look, left, buffer);
        plots::roofline(state, look, right, buffer);
    }
    let inner = frame(state, look, area, buffer);
    table(state, look, inner, buffer, hits);
}

fn severity(cpu: &Device) -> Severity {
    match cpu.stage() {
        Stage::Off(_) | Stage::Armed { .. } => Severity::Info,
        Stage::Burst { .. } => Severity::Done,
        Stage::Cooldown { .. } => Severity::Warning,
    }
}

fn frame(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    let hello = state.devices.cpu().results.hello.as_ref();
    let name = hello.map_or("CPU".to_owned(), |hello| hello.device_name.clone());
    let status = stage::why(state.devices.cpu(), state.devices.now());
    let budget = hello.map(|hello| {
        format!(
            "{} thread{}, at most {:.0}% of the CPU{}",
            hello.threads,
            if hello.threads == 1 { "" } else { "s" },
            hello.cpu_share_max * 100.0,
            hello.nice.map_or(String::new(), |nice| format!(", nice {nice}"))
        )
    });
    let read = state
        .devices
        .cpu()
        .results
        .ceiling
        .and_then(|ceiling| ceiling.read_bytes_per_s)
        .map(|read| format!("reads {}", format::rate(read)));
    let left = [look.piece("Micro decoder on ", Role::Title), look.piece(&name, Role::Title)];
    let role = stage::word(state.devices.cpu()).1;
    let mut right: Vec<StyledText<'_>> = vec![look.piece(&status, role)];
    right.extend(read.as_ref().map(|text| look.piece(text, Role::Muted)));
    right.extend(budget.as_ref().map(|text| look.piece(text, Role::Muted)));
    let cached = state.devices.cpu().results.reads_a_cache();
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

fn table(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let mut table = Table::new(look, COLUMNS, PATHS.len());
    table.selected = Some(state.cursor.at);
    let layout = table.render(area, buffer, |row, column, pen| {
        let (profile, dtype) = PATHS[row];
        match column {
            0 => drop(pen.fit(dtype_label(dtype), look.style(dtype_role(dtype)))),
            1 => drop(pen.fit(profile, look.style(Role::Muted))),
            _ => match state.path(profile, dtype) {
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
        6 => error(report),
        7 => {
            let right =
                report.tokens.iter().zip(&report.expected_tokens).filter(|(a, b)| a == b).count();
            let role = if right == report.tokens.len() { Role::Good } else { Role::Bad };
            (format!("{right}/{}", report.expected_tokens.len()), role)
        }
        _ => answer(report),
    }
}

/// The error against fp64, beside what the path may have.
pub(crate) fn error(report: &PathReport) -> (String, Role) {
    match report.error {
        Some(error) if error > report.error_limit => (format::error(error).to_string(), Role::Bad),
        Some(error) => (format::error(error).to_string(), Role::Good),
        None => ("not finite".into(), Role::Bad),
    }
}

/// What a path amounts to, in words.
pub(crate) fn answer(report: &PathReport) -> (String, Role) {
    match &report.first_bad {
        Some(bad) => (format!("bad from layer {} {}", bad.layer, bad.op), Role::Bad),
        None if !report.complete => ("decoding".into(), Role::Muted),
        None if report.tokens == report.expected_tokens => ("right".into(), Role::Good),
        None => ("finite, but other tokens than fp64".into(), Role::Warn),
    }
}
