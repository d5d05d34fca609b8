//! The micro decoder on the CPU: rates, ceilings, errors against fp64, and the text it generates.

use super::{decoded, dtype_role, plots, stage};
use crate::features::bench::device::Device;
use crate::features::bench::{Bench, PATHS};
use crate::widgets::format::Short;
use crate::widgets::layout::{halves, inset};
use crate::widgets::theme::Role;
use crate::widgets::{Align, Card, Column, Hit, Notice, Severity, Surface, Table, format};
use crate::worker::PathReport;
use crate::worker::scheduler::Stage;

/// Draws what is known of the CPU.
pub(crate) fn render(state: &Bench, mut on: Surface<'_>) {
    let cpu = state.devices.cpu();
    if cpu.results.paths.is_empty() {
        frame(state, &mut on);
        let text = stage::why(cpu, state.devices.now());
        return on.draw(&Notice { look: on.look, severity: severity(cpu), text: &text });
    }
    let rows = u16::try_from(PATHS.len() + 3).unwrap_or(u16::MAX);
    let spare = on.area.height.saturating_sub(rows);
    let decoded = if spare >= 6 { (spare / 3).clamp(8, 10).min(spare) } else { 0 };
    let plots = match spare.saturating_sub(decoded) {
        0..7 => 0,
        room => room.min(28),
    };
    let decoded = if plots == 0 && decoded > 0 { spare.min(14) } else { decoded };
    if decoded > 0 {
        let (_, dtype) = PATHS.get(state.cursor.at).copied().unwrap_or(PATHS[0]);
        let both = decoded::PROFILES.iter().filter_map(|profile| state.path(profile, dtype));
        decoded::render(&both.collect::<Vec<_>>(), on.cut_bottom(decoded));
    }
    if plots > 0 {
        let mut place = on.cut_bottom(plots);
        let [left, right] = halves(place.area, 0);
        plots::rates(state, place.at(left));
        plots::roofline(state, place.at(right));
    }
    frame(state, &mut on);
    table(state, on);
}

fn severity(cpu: &Device) -> Severity {
    match cpu.stage() {
        Stage::Off(_) | Stage::Armed { .. } | Stage::Burst { .. } => Severity::Info,
        Stage::Cooldown { .. } => Severity::Warning,
    }
}

fn frame(state: &Bench, on: &mut Surface<'_>) {
    let (look, cpu) = (on.look, state.devices.cpu());
    let hello = cpu.results.hello.as_ref();
    let name = hello.map_or("CPU", |hello| hello.device_name.as_str());
    let status = stage::why(cpu, state.devices.now());
    let budget = hello.map(|hello| {
        format!(
            "{} thread{}, at most {:.0}% of the CPU{}",
            hello.threads,
            if hello.threads == 1 { "" } else { "s" },
            hello.cpu_share_max * 100.0,
            hello.nice.map_or(String::new(), |nice| format!(", nice {nice}"))
        )
    });
    let read = cpu.results.ceiling.and_then(|ceiling| ceiling.read_bytes_per_s);
    let read = read.map(|read| format!("reads {}", format::rate(read)));
    let left = [look.piece("Micro decoder on ", Role::Title), look.piece(name, Role::Title)];
    let mut right = vec![look.piece(&status, stage::word(cpu).1)];
    right.extend(read.iter().chain(&budget).map(|text| look.piece(text, Role::Muted)));
    let note = "* fits the last-level cache, so it may read faster than memory";
    let shown = Table::new(look, COLUMNS, PATHS.len()).layout(inset(on.area)).slots;
    let has_mark = cpu.results.reads_a_cache() && shown.iter().any(|slot| slot.0 == READ_SHARE);
    let note = has_mark.then(|| look.piece(note, Role::Muted));
    on.frame(Card::new(look).left(&left).right(&right).foot_left(note.as_slice()));
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

/// The column of which a value can be marked.
const READ_SHARE: usize = 5;

fn table(state: &Bench, on: Surface<'_>) {
    let look = on.look;
    let mut table = Table::new(look, COLUMNS, PATHS.len());
    table.selected = Some(state.cursor.at);
    table.draw(on, Hit::Row, |row, column, pen| {
        let (profile, dtype) = PATHS[row];
        let (text, role) = match (column, state.path(profile, dtype)) {
            (0, _) => (dtype.id().to_owned(), dtype_role(dtype)),
            (1, _) => (profile.to_owned(), Role::Muted),
            (_, Some(report)) => cell(report, column),
            (8, None) => ("waiting".to_owned(), Role::Absent),
            (_, None) => return,
        };
        pen.fit(&text, look.style(role));
    });
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
