//! One line for each GPU and one for the CPU: where its benchmark stands, why, and how fast it decodes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::Gpu;

use super::{dtype_role, stage};
use crate::features::bench::Bench;
use crate::features::bench::device::Device;
use crate::widgets::layout::cut_bottom;
use crate::widgets::theme::Role;
use crate::widgets::{Align, Card, CellWriter, Column, Hit, Hits, Look, Table, format};
use crate::worker::PathDtype;
use crate::worker::scheduler::BenchMode;

const COLUMNS: &[Column<'static>] = &[
    Column::new("DEVICE", 14, 34),
    Column::new("STAGE", 7, 8),
    Column::new("WHY", 24, 40).grows(),
    Column::new("FP32", 6, 8).align(Align::Right).rank(5),
    Column::new("FP16", 6, 8).align(Align::Right).rank(2),
    Column::new("BF16", 6, 8).align(Align::Right).rank(3),
    Column::new("INT4", 6, 8).align(Align::Right).rank(4),
    Column::new("LAST", 6, 8).align(Align::Right).rank(1),
];

/// Number formats of the columns that hold a decode rate.
const RATES: &[(usize, PathDtype)] =
    &[(3, PathDtype::Fp32), (4, PathDtype::Fp16), (5, PathDtype::Bf16), (6, PathDtype::Int4)];

/// Height from which on there is a frame.
pub(crate) const FRAMED: u16 = 30;

/// Lines of the list: the head, some GPUs, the CPU, and a frame where there is room.
pub(crate) fn height(gpus: usize, room: u16) -> u16 {
    let gpus = u16::try_from(gpus).unwrap_or(u16::MAX);
    let shown = gpus.min((room.saturating_sub(18) / 2).clamp(2, 16));
    (2 + shown + if room >= FRAMED { 2 } else { 0 }).min(room)
}

/// Draws the list.
pub(crate) fn render(
    state: &Bench,
    gpus: &[&Gpu],
    look: Look<'_>,
    (area, framed): (Rect, bool),
    buffer: &mut Buffer,
    hits: &mut Hits,
) {
    let mut inner = if framed { frame(state, look, area, buffer) } else { inset(area) };
    let cpu = cut_bottom(&mut inner, 1);
    let selected = state.device.at;
    let mut table = Table::new(look, COLUMNS, gpus.len());
    table.selected = (selected < gpus.len()).then_some(selected);
    let layout = table.render(inner, buffer, |row, column, pen| {
        if let Some(bench) = state.devices.get(&gpus[row].key) {
            cell(state, look, (gpus[row], bench), column, pen);
        }
    });
    for (row, line) in layout.rows.clone().zip(layout.body.rows()) {
        hits.add(line, Hit::Gpu(row));
    }
    for (column, span) in &layout.slots {
        let at = Rect { x: span.start, width: span.end.saturating_sub(span.start), ..cpu };
        let mut pen = look.pen(buffer, at);
        pen.align = COLUMNS[*column].align;
        cpu_cell(state, look, *column, &mut pen);
    }
    if selected >= gpus.len() {
        buffer.set_style(cpu.intersection(buffer.area), look.theme.selection());
    }
    hits.add(cpu, Hit::Gpu(gpus.len()));
}

fn inset(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

fn frame(state: &Bench, look: Look<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    let gpus = &state.devices;
    let left = [look.piece("Benchmark, decode tokens/s", Role::Title)];
    let when = match gpus.mode() {
        BenchMode::Off => "off; b starts it",
        BenchMode::Ask => "GPUs once you allow it, the CPU now",
        BenchMode::Auto => "idle GPUs, while this tab is open",
        BenchMode::On => "idle GPUs, also while this tab is closed",
    };
    let budget = budget(state);
    let right = [look.piece(when, Role::Text), look.piece(&budget, Role::Muted)];
    inset(Card::new(look).left(&left).right(&right).render(area, buffer))
}

/// What may be taken of each GPU.
pub(crate) fn budget(state: &Bench) -> String {
    let budget = state.devices.budget();
    format!(
        "at most {}% of a GPU's time, {}",
        (budget.share * 1000.0).round() / 10.0,
        format::bytes(budget.memory_bytes as f64)
    )
}

fn cell(
    state: &Bench,
    look: Look<'_>,
    on: (&Gpu, &Device),
    column: usize,
    pen: &mut CellWriter<'_>,
) {
    let (gpu, bench) = on;
    let results = &bench.results;
    match column {
        0 => {
            let name = gpu.identity.name.last().map_or("GPU", String::as_str);
            pen.put(&format!("{} ", gpu.index), look.style(Role::Muted));
            pen.fit(name, look.style(Role::Text));
        }
        1 => {
            let (word, role) = stage::word(bench);
            pen.fit(word, look.style(role));
        }
        2 => {
            if results.is_simulated() {
                pen.put("simulated; ", look.style(Role::Warn));
            }
            pen.fit(&stage::why(bench, state.devices.now()), look.style(Role::Text));
        }
        7 => {
            let age = results.newest.map(|at| state.devices.at().seconds_since(at).max(0.0));
            pen.fit(&format::or_absent(age, format::duration), look.style(Role::Muted));
        }
        _ if results.is_simulated() => {}
        _ => {
            let Some((_, dtype)) = RATES.iter().find(|row| row.0 == column) else { return };
            let speed = results.speed_of(*dtype);
            let rate = speed.and_then(|speed| speed.value.decode_tokens_per_s);
            let old = speed.is_some_and(|speed| bench.is_old(speed.at, state.devices.at()));
            let role = match rate {
                None => Role::Absent,
                Some(_) if old => Role::Late,
                Some(_) => dtype_role(*dtype),
            };
            pen.fit(&format::or_absent(rate, format::count), look.style(role));
        }
    }
}

fn cpu_cell(state: &Bench, look: Look<'_>, column: usize, pen: &mut CellWriter<'_>) {
    match column {
        0 => {
            let name = state
                .devices
                .cpu()
                .results
                .hello
                .as_ref()
                .map_or("CPU", |hello| hello.device_name.as_str());
            pen.fit(name, look.style(Role::Text));
        }
        1 => {
            let (word, role) = stage::word(state.devices.cpu());
            pen.fit(word, look.style(role));
        }
        2 => {
            let why = stage::why(state.devices.cpu(), state.devices.now());
            pen.fit(&why, look.style(Role::Text));
        }
        7 => {}
        _ => {
            let Some((_, dtype)) = RATES.iter().find(|row| row.0 == column) else { return };
            let rate = state.path("clean", *dtype).and_then(|path| path.decode_tokens_per_s);
            let role = if rate.is_some() { dtype_role(*dtype) } else { Role::Absent };
            pen.fit(&format::or_absent(rate, format::count), look.style(role));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dtype_label;
    use super::*;

    #[test]
    fn every_column_of_a_rate_is_headed_by_its_format() {
        for (column, dtype) in RATES {
            assert_eq!(COLUMNS[*column].title.to_lowercase(), dtype_label(*dtype));
        }
    }
}
