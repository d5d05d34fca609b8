//! Drawing of the Fleet tab.

mod lists;
mod map;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use warpscope_probes::fleet::{Fleet as Machines, State};

use super::Fleet;
use super::runs::{Run, Runs};
use crate::features::Shared;
use crate::widgets::format::{Units, duration, percent, watts};
use crate::widgets::layout::{cut_bottom, cut_right, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{Card, Look, Notice, Severity, Surface, draw_text, outcome_role, text_width};

/// Width from which the lists stand beside the map.
const WIDE: u16 = 100;
/// Width of the lists there.
const ASIDE: u16 = 46;
/// Lines of the card about the machine under the cursor.
const SELECTED: u16 = 4;

/// Draws the tab.
pub(super) fn render(tab: &Fleet, shared: &Shared, on: Surface<'_>) {
    let Surface { look, mut area, buffer, hits } = on;
    let Some(machines) = &tab.machines else { return empty(tab, look, area, buffer) };
    if let Some(why) = &tab.trouble {
        let line = cut_top(&mut area, 1);
        let text = format!(" {why}");
        buffer.set_stringn(line.x, line.y, text, line.width.into(), look.style(Role::Warn));
    }
    let line = cut_top(&mut area, 1);
    head(tab, machines, (look, shared.display.units), line, buffer);
    let aside = if area.width >= WIDE {
        cut_right(&mut area, ASIDE)
    } else {
        let rows = if area.height >= 16 { area.height / 2 - 2 } else { 0 };
        cut_bottom(&mut area, rows)
    };
    let rows = if area.height >= 10 { SELECTED } else { 0 };
    let selected = cut_bottom(&mut area, rows);
    map::render(tab, machines, shared, look, area, buffer, hits);
    one(tab, machines, shared, look, selected, buffer);
    lists::render(tab, machines, shared, look, aside, buffer, hits);
}

fn empty(tab: &Fleet, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let text = match &tab.trouble {
        Some(why) => why.as_str(),
        None => "warpscope --prometheus URL shows the machines that a server of metrics knows.",
    };
    let severity = if tab.trouble.is_some() { Severity::Error } else { Severity::Info };
    let notice = Notice { look, severity, text };
    ratatui::widgets::Widget::render(&notice, area, buffer);
}

/// How many there are and how they do, and what the answer cost.
fn head(
    tab: &Fleet,
    machines: &Machines,
    (look, units): (Look<'_>, Units),
    line: Rect,
    buffer: &mut Buffer,
) {
    let summary = &tab.summary;
    let mut facts =
        vec![(format!("{} machines, {} GPUs", summary.order.len(), summary.gpus), Role::Title)];
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
    facts.push((format!("values up to {} old", oldest(machines)), Role::Muted));
    let cost = &machines.cost;
    if cost.queries > 0 {
        let size = units.bytes(cost.bytes as f64);
        let text = format!("{} queries, {size}, {:.1} s", cost.queries, cost.seconds);
        facts.push((text, Role::Faint));
    }
    let mut pen = look.pen(buffer, line);
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

/// The age of the oldest values that count as new.
fn oldest(machines: &Machines) -> String {
    let fresh = machines.machines.iter().filter(|machine| machine.state == State::Fresh);
    let ages = fresh.map(|machine| machines.at.seconds_since(machine.seen));
    duration(ages.fold(0.0, f64::max)).to_string()
}

/// The machine under the cursor.
fn one(
    tab: &Fleet,
    machines: &Machines,
    shared: &Shared,
    look: Look<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let Some(machine) = tab.selected().and_then(|at| machines.machines.get(at)) else { return };
    let left = [look.piece(&machine.name, Role::Title)];
    let driver = machine.driver.as_ref().map(|driver| format!("driver {driver}"));
    let right: Vec<_> = driver.iter().map(|text| look.piece(text, Role::Muted)).collect();
    let inner = Card::new(look).left(&left).right(&right).render(area, buffer);
    for (line, row) in lists::about(machines, machine, shared, look).iter().zip(inner.rows()) {
        buffer.set_line(row.x + 1, row.y, line, row.width.saturating_sub(2));
    }
}

/// On how many GPUs each configuration works.
pub(super) fn runs(runs: &Runs, scroll: usize, on: Surface<'_>) {
    let look = on.look;
    let widest = runs.all.iter().map(|run| run.name.chars().count()).max().unwrap_or(0);
    let widest = widest.min(on.page_width().saturating_sub(24));
    let lines = runs.all.iter().map(|run| run_line(run, runs.gpus, widest, look)).collect();
    draw_text((format!("What runs on {} GPUs", runs.gpus), lines), scroll, on);
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
