//! Drawing of the Fleet tab.

mod lists;
mod map;

use ratatui::text::{Line, Span};
use warpscope_probes::fleet::{Fleet as Machines, Machine, State};

use super::Fleet;
use super::runs::{Run, Runs};
use super::summary::Summary;
use crate::features::Shared;
use crate::widgets::format::{counted, duration, percent, watts};
use crate::widgets::layout::{cut_bottom, cut_right};
use crate::widgets::theme::Role;
use crate::widgets::{Card, Look, Notice, Severity, Surface, draw_text, outcome_role, text_width};

/// Width from which the lists stand beside the map.
const WIDE: u16 = 100;
/// Width of the lists there.
const ASIDE: u16 = 46;
/// Most lines about the machine under the cursor.
const SELECTED: u16 = 4;

/// Younger values are of now.
const NOW_S: f64 = 1.0;

/// Draws the tab.
pub(super) fn render(tab: &Fleet, shared: &Shared, mut on: Surface<'_>) {
    let look = on.look;
    let Some(machines) = &tab.machines else { return empty(tab, on) };
    if let Some(why) = &tab.trouble {
        let line = on.cut_top(1).area;
        let text = format!(" {why}");
        on.buffer.set_stringn(line.x, line.y, text, line.width.into(), look.style(Role::Warn));
    }
    head(tab, machines, shared, on.cut_top(1));
    let aside = if on.area.width >= WIDE {
        cut_right(&mut on.area, ASIDE)
    } else {
        let rows = if on.area.height >= 16 { on.area.height / 2 - 2 } else { 0 };
        cut_bottom(&mut on.area, rows)
    };
    let selected = tab.selected().and_then(|at| machines.machines.get(at));
    let about = selected.filter(|_| on.area.height >= 10).map(|machine| {
        (machine, lists::about(machines, machine, shared, (look, on.area.width.saturating_sub(4))))
    });
    let lines = about.as_ref().map_or(0, |about| about.1.len().min(SELECTED.into()) as u16 + 2);
    let card = cut_bottom(&mut on.area, lines);
    map::render(tab, machines, shared, on.at(on.area));
    if let Some((machine, lines)) = &about {
        one(machine, lines, on.at(card));
    }
    lists::render(tab, machines, on.at(aside));
}

fn empty(tab: &Fleet, mut on: Surface<'_>) {
    let hint = "Many machines at once: warpscope --prometheus URL shows those that a server of metrics knows, warpscope --host NAME those that ssh reaches.";
    let text = tab.trouble.as_deref().unwrap_or(hint);
    let severity = if tab.trouble.is_some() { Severity::Error } else { Severity::Info };
    on.draw(&Notice { look: on.look, severity, text });
}

/// `3 machines, 24 GPUs`; with a filter `1 machine, 1 of 2 GPUs`.
fn in_view(summary: &Summary, machines: &Machines) -> String {
    let all: usize = summary.order.iter().map(|at| machines.machines[*at].gpus.len()).sum();
    let fitting = if summary.gpus < all { format!("{} of ", summary.gpus) } else { String::new() };
    format!("{}, {fitting}{}", counted(summary.order.len(), "machine"), counted(all, "GPU"))
}

/// How many there are and how they do, and what the answer cost.
fn head(tab: &Fleet, machines: &Machines, shared: &Shared, mut on: Surface<'_>) {
    let (look, units) = (on.look, shared.display.units);
    let summary = &tab.summary;
    let mut facts = vec![(in_view(summary, machines), Role::Title)];
    if summary.lost > 0 {
        facts.push((format!("{} lost", summary.lost), Role::Bad));
    }
    if summary.late > 0 {
        facts.push((format!("{} late", summary.late), Role::Warn));
    }
    facts.extend(summary.busy_pct.map(|busy| (format!("{} busy", percent(busy)), Role::Text)));
    let memory = summary.memory.map(|(used, total)| units.bytes_of(Some(used), total).to_string());
    facts.extend(memory.map(|memory| (memory, Role::Text)));
    facts.extend(summary.watts.map(|power| (power_text(power), Role::Text)));
    facts.extend(age(machines).map(|age| (format!("values up to {age} old"), Role::Muted)));
    let cost = &machines.cost;
    if cost.queries > 0 {
        let size = units.bytes(cost.bytes as f64);
        let queries = counted(cost.queries, "query");
        let text = format!("{queries}, {size}, {:.1} s", cost.seconds);
        facts.push((text, Role::Faint));
    }
    let mut pen = on.pen();
    pen.skip(1);
    let separator = format!(" {} ", look.glyphs.separator);
    for (at, (text, role)) in facts.iter().enumerate() {
        let before = if at > 0 { text_width(&separator) } else { 0 };
        if before + text_width(text) > pen.rest() {
            return;
        }
        if at > 0 {
            pen.put(&separator, look.style(Role::Faint));
        }
        pen.put(text, look.style(*role));
    }
}

fn power_text(power: f64) -> String {
    if power < 10_000.0 { watts(power).to_string() } else { format!("{:.1} kW", power / 1000.0) }
}

/// The age of the oldest values that count as new, unless they are of now.
fn age(machines: &Machines) -> Option<String> {
    let fresh = machines.machines.iter().filter(|machine| machine.state == State::Fresh);
    let oldest = fresh.map(|machine| machines.at.seconds_since(machine.seen)).fold(0.0, f64::max);
    (oldest >= NOW_S).then(|| duration(oldest).to_string())
}

/// The machine under the cursor.
fn one(machine: &Machine, lines: &[Line<'_>], on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece(&machine.name, Role::Title)];
    let driver = machine.driver.as_ref().map(|driver| format!("driver {driver}"));
    let right: Vec<_> = driver.iter().map(|text| look.piece(text, Role::Muted)).collect();
    let inner = Card::new(look).left(&left).right(&right).render(on.area, on.buffer);
    for (line, row) in lines.iter().zip(inner.rows()) {
        on.buffer.set_line(row.x + 1, row.y, line, row.width.saturating_sub(2));
    }
}

/// On how many GPUs each configuration works.
pub(super) fn runs(runs: &Runs, scroll: usize, on: Surface<'_>) {
    let look = on.look;
    let widest = runs.all.iter().map(|run| run.name.chars().count()).max().unwrap_or(0);
    let widest = widest.min(on.page_width().saturating_sub(24));
    let lines = runs.all.iter().map(|run| run_line(run, runs.gpus, widest, look)).collect();
    draw_text((format!("What runs on {}", counted(runs.gpus, "GPU")), lines), scroll, on);
}

fn run_line(run: &Run, all: usize, widest: usize, look: Look<'_>) -> Line<'static> {
    let name: String = run.name.chars().take(widest).collect();
    let mut spans = vec![Span::styled(format!("{name:widest$}"), look.style(Role::Text))];
    for (outcome, count) in &run.counts {
        let symbol = outcome.symbol(!look.glyphs.is_unicode);
        let count = if *count == all { "all".to_owned() } else { count.to_string() };
        spans.push(Span::styled(format!("  {symbol} {count}"), look.style(outcome_role(*outcome))));
    }
    Line::from(spans)
}
