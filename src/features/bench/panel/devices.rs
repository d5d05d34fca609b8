//! One line for each GPU and one for the CPU: where its benchmark stands, why, and how fast it decodes.

use warpscope_probes::Gpu;

use super::{DTYPES, dtype_role, stage};
use crate::features::bench::Bench;
use crate::features::bench::device::Device;
use crate::features::shared::short_name;
use crate::widgets::layout::{cut_bottom, inset};
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, Card, CellWriter, Column, Hit, Look, Surface, Table, format, slot, text_width,
};
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

/// The first column that holds a decode rate; one for each of [`DTYPES`].
const RATES: usize = 3;

/// Height from which on there is a frame.
pub(crate) const FRAMED: u16 = 30;

/// Lines of what is below the list while nothing is measured.
const BELOW: u16 = 14;

/// Lines of the list: the head, some GPUs, the CPU, and a frame where there is room. While the selected device shows no
/// figure, the list has what that does not need.
pub(crate) fn height(gpus: usize, room: u16, measured: bool) -> u16 {
    let gpus = u16::try_from(gpus).unwrap_or(u16::MAX);
    let spare = if measured { room.saturating_sub(18) / 2 } else { room.saturating_sub(BELOW) };
    let shown = gpus.min(spare.clamp(2, 16));
    (2 + shown + if room >= FRAMED { 2 } else { 0 }).min(room)
}

/// Draws the list.
pub(crate) fn render(state: &Bench, gpus: &[&Gpu], framed: bool, mut on: Surface<'_>) {
    let look = on.look;
    if framed {
        frame(state, &mut on);
    } else {
        on.area = inset(on.area);
    }
    let cpu = cut_bottom(&mut on.area, 1);
    let selected = state.device.at;
    // Without a figure the reasons have all the room.
    let measured = gpus.iter().filter_map(|gpu| state.devices.get(&gpu.key));
    let measured = measured.chain([state.devices.cpu()]).any(|device| !device.results.is_empty());
    let digits = gpus.iter().map(|gpu| gpu.index.to_string().len()).max().unwrap_or(1);
    let mut columns = if measured { COLUMNS } else { &COLUMNS[..RATES] }.to_vec();
    let cpu_name = text_width(cpu_name(state.devices.cpu()));
    let names = gpus.iter().map(|gpu| text_width(&gpu_name(gpu)) + digits as u16 + 1);
    let widest = names.fold(cpu_name, u16::max);
    columns[0].ideal = widest.clamp(columns[0].min, columns[0].ideal);
    let mut table = Table::new(look, &columns, gpus.len());
    table.selected = (selected < gpus.len()).then_some(selected);
    let layout = table.draw(on.at(on.area), Hit::Gpu, |row, column, pen| {
        if let Some(bench) = state.devices.get(&gpus[row].key) {
            cell(state, look, (Some((gpus[row], digits)), bench), column, pen);
        }
    });
    for (column, span) in &layout.slots {
        let mut pen = look.pen(on.buffer, slot(cpu, span));
        pen.align = COLUMNS[*column].align;
        cell(state, look, (None, state.devices.cpu()), *column, &mut pen);
    }
    if selected >= gpus.len() {
        on.buffer.set_style(cpu.intersection(on.buffer.area), look.theme.selection());
    }
    on.hits.add(cpu, Hit::Gpu(gpus.len()));
}

fn frame(state: &Bench, on: &mut Surface<'_>) {
    let look = on.look;
    let when = match state.devices.mode() {
        BenchMode::Off => "off; b starts it",
        BenchMode::Ask => "GPUs once you allow it, the CPU now",
        BenchMode::Auto => "idle GPUs, while this tab is open",
        BenchMode::On => "idle GPUs, also while this tab is closed",
    };
    let budget = budget(state);
    let left = [look.piece("Benchmark, decode tokens/s", Role::Title)];
    let right = [look.piece(when, Role::Text), look.piece(&budget, Role::Muted)];
    on.frame(Card::new(look).left(&left).right(&right));
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

fn gpu_name(gpu: &Gpu) -> String {
    short_name(gpu.identity.name.last().map_or("GPU", String::as_str))
}

fn cpu_name(cpu: &Device) -> &str {
    cpu.results.hello.as_ref().map_or("CPU", |hello| hello.device_name.as_str())
}

/// A cell of a GPU's line, the index as wide as the widest, or of the CPU's.
fn cell(
    state: &Bench,
    look: Look<'_>,
    (numbered, bench): (Option<(&Gpu, usize)>, &Device),
    column: usize,
    pen: &mut CellWriter<'_>,
) {
    let results = &bench.results;
    let gpu = numbered.map(|one| one.0);
    match column {
        0 => {
            let name = match numbered {
                Some((gpu, digits)) => {
                    pen.put(&format!("{:>digits$} ", gpu.index), look.style(Role::Muted));
                    gpu_name(gpu)
                }
                None => cpu_name(bench).to_owned(),
            };
            pen.fit(&name, look.style(Role::Text));
        }
        1 => {
            let (word, role, _) = stage::of(gpu, bench, state.devices.now());
            pen.fit(word, look.style(role));
        }
        2 => {
            if results.is_simulated() {
                pen.put("simulated; ", look.style(Role::Warn));
            }
            let (.., why) = stage::of(gpu, bench, state.devices.now());
            pen.fit(&why, look.style(Role::Text));
        }
        7 if gpu.is_none() => {}
        7 => {
            let age = results.newest.map(|at| state.devices.at().seconds_since(at).max(0.0));
            pen.fit(&format::or_absent(age, format::duration), look.style(Role::Muted));
        }
        _ if results.is_simulated() => {}
        _ => rate(state, look, (gpu.is_some(), bench), column, pen),
    }
}

/// How fast a device decodes in the number format of a column.
fn rate(
    state: &Bench,
    look: Look<'_>,
    (is_gpu, bench): (bool, &Device),
    column: usize,
    pen: &mut CellWriter<'_>,
) {
    let Some(dtype) = DTYPES.get(column - RATES) else { return };
    let speed = bench.results.speed_of(*dtype).filter(|_| is_gpu);
    let path = if is_gpu { speed.map(|one| &one.value) } else { state.path("clean", *dtype) };
    let rate = path.and_then(|path| path.decode_tokens_per_s);
    let role = match rate {
        None => Role::Absent,
        Some(_) if speed.is_some_and(|one| bench.is_old(one.at, state.devices.at())) => Role::Late,
        Some(_) => dtype_role(*dtype),
    };
    pen.fit(&format::or_absent(rate, format::count), look.style(role));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_gpus_are_listed_on_a_small_screen_until_there_is_more_to_show() {
        assert_eq!((height(8, 22, false), height(8, 22, true)), (10, 4));
        assert_eq!((height(1, 22, false), height(40, 22, false)), (3, 10));
    }

    #[test]
    fn every_column_of_a_rate_is_headed_by_its_format() {
        for (column, dtype) in COLUMNS[RATES..].iter().zip(DTYPES) {
            assert_eq!(column.title.to_lowercase(), dtype.id());
        }
    }
}
