//! The machine around the GPUs, and what its CPU reaches in the benchmark.

use ratatui::layout::Rect;
use warpscope_probes::Origin;
use warpscope_probes::units::{Bytes, Percent};

use super::card::gauge;
use crate::features::{CpuDecode, Shared};
use crate::widgets::layout::{halves, inset};
use crate::widgets::theme::{Ramp, Role};
use crate::widgets::{Amount, BarLine, Bars, Card, Rates, StyledText, Surface, format, text_width};

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
pub(crate) fn render(shared: &Shared, is_short: bool, on: &mut Surface<'_>) {
    // What this CPU reaches is nothing that the machine of a recording or another host does.
    let is_here = shared.frame.origin == Origin::Local;
    let bench = shared.cpu_decode.as_ref().filter(|_| is_here);
    let mut inner = if on.area.height >= 18 && !is_short {
        let mut card = on.cut_top(if bench.is_some() { 4 } else { 3 });
        frame(shared, &mut card);
        card
    } else {
        let mut line = on.cut_top(1);
        line.area = inset(line.area);
        line
    };
    use_now(shared, inner.cut_top(1));
    if let Some(bench) = bench.filter(|_| inner.area.height > 0) {
        rates(bench, inner.cut_top(1));
    }
}

fn frame(shared: &Shared, on: &mut Surface<'_>) {
    let look = on.look;
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
    on.frame(Card::new(look).left(&left).right(&right));
}

fn use_now(shared: &Shared, mut on: Surface<'_>) {
    let machine = &shared.frame.host.machine;
    let [cpu, memory] = halves(on.area, 2);
    let percent = |pct: &Percent| format::percent(f64::from(pct.0));
    let text = format::or_absent(machine.cpu_pct.last(), percent);
    let amount = Amount::of(&machine.cpu_pct, 100.0);
    gauge(("cpu ", Ramp::Load), amount, (&text, 5), Some(shared.store.cpu()), on.at(cpu));
    let total = machine.memory_total_bytes.last().map_or(f64::NAN, |Bytes(total)| *total as f64);
    let used = machine.memory_used_bytes.last().map(|Bytes(used)| *used as f64);
    let text = shared.display.units.bytes_of(used, total);
    let amount = Amount::of(&machine.memory_used_bytes, total);
    gauge(("mem ", Ramp::Memory), amount, (&text, text_width(&text)), None, on.at(memory));
}

/// Decode rates of the clean profile, beside each other.
fn rates(bench: &CpuDecode, mut on: Surface<'_>) {
    let look = on.look;
    let rates = Rates::new(&bench.rates);
    let bars = rates.bars();
    let mut pen = on.pen();
    pen.put("decode tok/s ", look.style(Role::Muted));
    if let Some(waits) = &bench.waits {
        let room = pen.rest() / 3;
        pen.elide(waits, text_width(waits).min(room), look.style(Role::Paused)).skip(2);
    }
    if bench.rates.iter().all(|rate| rate.2.is_none()) {
        pen.put("not measured yet", look.style(Role::Absent));
        return;
    }
    on.area = Rect { x: pen.x(), width: pen.rest(), ..on.area };
    on.draw(&BarLine(Bars { look, bars: &bars }));
}
