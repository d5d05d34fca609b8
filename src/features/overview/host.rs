//! The machine around the GPUs, and what its CPU reaches in the benchmark.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use warpscope_probes::units::Bytes;

use crate::features::{CpuDecode, Shared};
use crate::widgets::format::Short;
use crate::widgets::layout::{cut_history, cut_top, halves};
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{
    Amount, BarLine, Bars, Card, Gauge, Look, Paint, Rates, Spark, StyledText, format,
    text_width,
};

/// Features worth a place in the title, by what they are called there.
const SHOWN: &[(&str, &str)] = &[
    ("amx_int8", "AMX"),
    ("avx512_bf16", "AVX-512 BF16"),
    ("avx512_vnni", "VNNI"),
    ("avx512f", "AVX-512"),
    ("avx2", "AVX2"),
    ("asimd", "NEON"),
    ("bf16", "BF16"),
    ("i8mm", "I8MM"),
];

/// Draws the host at the top of an area: a card, or one line where the room is short.
pub(crate) fn render(
    shared: &Shared,
    look: Look<'_>,
    is_short: bool,
    area: &mut Rect,
    buffer: &mut Buffer,
) {
    let bench = shared.cpu_decode.as_ref();
    let inner = if area.height >= 18 && !is_short {
        let line = cut_top(area, if bench.is_some() { 4 } else { 3 });
        frame(shared, look, line, buffer)
    } else {
        let line = cut_top(area, 1);
        Rect { x: line.x + 1, width: line.width.saturating_sub(2), ..line }
    };
    let mut rest = inner;
    use_now(shared, look, cut_top(&mut rest, 1), buffer);
    if let Some(bench) = bench.filter(|_| rest.height > 0) {
        rates(bench, look, cut_top(&mut rest, 1), buffer);
    }
}

fn frame(shared: &Shared, look: Look<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    let host = &shared.frame.host;
    let name = host.machine.cpu_name.last().map_or("CPU", String::as_str);
    let title = if name.contains("CPU") { name.to_owned() } else { format!("CPU {name}") };
    let left = [look.piece(&title, Role::Title)];
    let mut facts = Vec::new();
    if let Some(cores) = host.machine.cpu_cores.last() {
        facts.push(format!("{cores} cores"));
    }
    let has =
        |id: &str| host.cpu_features.iter().any(|feature| feature.present && feature.id == id);
    facts.extend(SHOWN.iter().filter(|row| has(row.0)).map(|row| row.1.to_owned()));
    let right: Vec<StyledText<'_>> =
        facts.iter().map(|fact| look.piece(fact, Role::Muted)).collect();
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }
}

fn use_now(shared: &Shared, look: Look<'_>, line: Rect, buffer: &mut Buffer) {
    let machine = &shared.frame.host.machine;
    let [cpu, memory] = halves(line, 2);
    let mut pen = look.pen(buffer, cpu);
    pen.put("cpu ", look.style(Role::Muted));
    let mut bar = Rect { x: pen.x(), width: pen.rest(), ..cpu };
    let history = cut_history(&mut bar);
    let text = machine
        .cpu_pct
        .last()
        .map_or(Short::of(format::ABSENT), |pct| format::percent(f64::from(pct.0)));
    Gauge::new(look, Amount::of(&machine.cpu_pct, 100.0), Ramp::Load)
        .label(&text, 5)
        .render(bar, buffer);
    Spark::new(look, shared.store.cpu(), Paint::Role(Role::Graph))
        .max(100.0)
        .render(history, buffer);
    let total = machine.memory_total_bytes.last().map_or(0.0, |Bytes(total)| *total as f64);
    let used = machine.memory_used_bytes.last().map(|Bytes(used)| *used as f64);
    let text = shared.display.units.bytes_of(used, total);
    let mut pen = look.pen(buffer, memory);
    pen.put("mem ", look.style(Role::Muted));
    let bar = Rect { x: pen.x(), width: pen.rest(), ..memory };
    let amount = Amount::of(&machine.memory_used_bytes, total);
    Gauge::new(look, amount, Ramp::Memory).label(&text, text_width(&text)).render(bar, buffer);
}

/// Decode rates of the clean profile, beside each other.
fn rates(bench: &CpuDecode, look: Look<'_>, line: Rect, buffer: &mut Buffer) {
    let rates = Rates::new(&bench.rates);
    let bars = rates.bars();
    let mut pen = look.pen(buffer, line);
    pen.put("decode tok/s ", look.style(Role::Muted));
    if let Some(waits) = &bench.waits {
        let room = pen.rest() / 3;
        pen.elide(waits, text_width(waits).min(room), look.style(Role::Paused)).skip(2);
    }
    let rest = Rect { x: pen.x(), width: pen.rest(), ..line };
    BarLine(Bars { look, bars: &bars }).render(rest, buffer);
}
