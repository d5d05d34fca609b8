//! The map: a cell for each GPU beside the names of machines, or one for each machine where there are too many.

use ratatui::layout::Rect;
use ratatui::style::Style;
use warpscope_probes::fleet::{Fleet as Machines, State};
use warpscope_probes::text::printable;

use super::lists::{facts, held_by};
use crate::features::Shared;
use crate::features::fleet::metrics::METRICS;
use crate::features::fleet::summary::machine as mean;
use crate::features::fleet::{Fleet, ORDERS};
use crate::features::orders::words;
use crate::widgets::theme::Role;
use crate::widgets::{Card, Hit, Look, Shown, Surface, text_width};

/// Longest name beside cells.
const NAME: usize = 16;
/// Columns that are worth being written in beside the cells.
const FACTS: usize = 30;
/// Columns between two machines.
const GAP: usize = 2;
/// Machines of a row of dots are so many, or a multiple.
const ROUND: usize = 10;

/// How machines are put beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grid {
    /// Columns of a name.
    name: usize,
    /// Columns of a machine with its gap; 1 where each is one cell.
    pitch: usize,
    columns: usize,
    rows: usize,
    /// Column at which a machine that has a line of its own is told of; none where it has not.
    facts: Option<usize>,
}

impl Grid {
    /// Names and a cell for each GPU where all fit so, or nearly; otherwise one cell for each machine.
    fn of(machines: &Machines, order: &[usize], area: Rect) -> Self {
        let (width, rows) = (usize::from(area.width), usize::from(area.height));
        let of = |at: &usize| &machines.machines[*at];
        let name = order.iter().map(|at| of(at).name.chars().count()).max().unwrap_or(0).min(NAME);
        let gpus = order.iter().map(|at| of(at).gpus.len()).max().unwrap_or(0);
        let pitch = name + 1 + gpus + GAP;
        if order.len() <= rows && pitch + FACTS <= width {
            let facts = Some(pitch);
            return Self { name, pitch: width + GAP, columns: 1, rows, facts };
        }
        let columns = ((width + GAP) / pitch.max(1)).max(1);
        // Scrolling twice through names is better than no names.
        if order.len() <= 2 * columns * rows || order.len() <= rows {
            return Self { name, pitch, columns, rows, facts: None };
        }
        // Where machines are dots, a row begins with the name of its first, and rows are of a round number.
        let columns = width.saturating_sub(name + 1).max(1);
        let columns = if columns > ROUND { columns / ROUND * ROUND } else { columns };
        Self { name, pitch: 1, columns, rows, facts: None }
    }

    fn is_dots(self) -> bool {
        self.pitch == 1
    }

    /// Where a name stands on a line.
    fn name_of(self, line: Rect) -> Rect {
        Rect { width: offset(self.name).min(line.width), ..line }
    }
}

pub(super) fn render(tab: &Fleet, machines: &Machines, shared: &Shared, mut on: Surface<'_>) {
    let look = on.look;
    let left =
        [look.piece("Map of ", Role::Title), look.piece(METRICS[tab.metric].title, Role::Title)];
    let filter = format!("/{}", printable(&tab.filter.text));
    let mut right = vec![look.piece(words(ORDERS, &tab.order), Role::Muted)];
    if !tab.filter.text.is_empty() {
        right.push(look.piece(&filter, Role::Accent));
    }
    on.frame(Card::new(look).left(&left).right(&right));
    let (inner, order) = (on.area, &tab.summary.order);
    if order.is_empty() {
        let (text, muted) = ("No GPU fits the filter.", look.style(Role::Muted));
        on.buffer.set_stringn(inner.x, inner.y, text, inner.width.into(), muted);
        return;
    }
    let grid = Grid::of(machines, order, inner);
    let first = first_row(tab, grid, order.len());
    on.hits.show(Shown { line: first, lines: grid.rows, column: grid.columns });
    let shown = order.iter().enumerate().skip(first * grid.columns).take(grid.rows * grid.columns);
    let mut said = Vec::new();
    for (place, at) in shown {
        let line = Rect { y: inner.y + offset(place / grid.columns - first), height: 1, ..inner };
        let column = place % grid.columns;
        let cell = if grid.is_dots() {
            if column == 0 {
                name(machines, *at, Role::Muted, on.at(grid.name_of(line)));
            }
            Rect { x: line.x + offset(grid.name + 1 + column), width: 1, ..line }
        } else {
            let width = offset(grid.pitch - GAP);
            Rect { x: line.x.saturating_add(offset(column * grid.pitch)), width, ..line }
        };
        let cell = cell.intersection(inner);
        draw(tab, machines, *at, grid, on.at(cell));
        if let Some(column) = grid.facts {
            let rest =
                Rect { x: line.x + offset(column), width: line.width - offset(column), ..line };
            said.push((*at, rest.intersection(inner)));
        }
        if place == tab.cursor.at {
            on.buffer.set_style(cell, look.theme.selection());
        }
        on.hits.add(cell, Hit::Row(place));
    }
    told(machines, &said, shared, on);
}

fn offset(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The first row in view, moved as little as the cursor asks for.
fn first_row(tab: &Fleet, grid: Grid, count: usize) -> usize {
    let row = tab.cursor.at / grid.columns;
    let last = count.div_ceil(grid.columns).saturating_sub(grid.rows);
    let least = (row + 1).saturating_sub(grid.rows);
    tab.shown.line.clamp(least, row.max(least)).min(last)
}

fn draw(tab: &Fleet, machines: &Machines, at: usize, grid: Grid, mut on: Surface<'_>) {
    let (look, area) = (on.look, on.area);
    let machine = &machines.machines[at];
    if grid.is_dots() {
        let (glyph, style) = cell(tab, look, machine.state, mean(machines, at, tab.metric));
        on.buffer.set_stringn(area.x, area.y, glyph, area.width.into(), style);
        return;
    }
    let role = match machine.state {
        State::Lost => Role::Bad,
        State::Late => Role::Warn,
        State::Fresh => Role::Text,
    };
    let label = grid.name_of(area);
    name(machines, at, role, on.at(label));
    let cells = (label.right().saturating_add(1)..area.right()).zip(machine.gpus.clone());
    for (x, gpu) in cells {
        let value = (METRICS[tab.metric].value)(machines, gpu);
        let (glyph, style) = match tab.summary.fits.get(gpu) {
            Some(true) => cell(tab, look, machines.state(gpu), value),
            _ => (look.glyphs.separator, look.style(Role::Faint)),
        };
        on.buffer.set_stringn(x, area.y, glyph, 1, style);
    }
}

/// Machines in words, each fact as wide as the widest; who holds a machine comes last.
fn told(machines: &Machines, said: &[(usize, Rect)], shared: &Shared, mut on: Surface<'_>) {
    let look = on.look;
    let fact = |(at, _): &(usize, Rect)| facts(machines, &machines.machines[*at], shared, look);
    let all: Vec<_> = said.iter().map(fact).collect();
    let width = |fact: &Option<String>| fact.as_deref().map_or(0, text_width);
    let widths: [u16; 4] =
        std::array::from_fn(|at| all.iter().map(|facts| width(&facts[at])).max().unwrap_or(0));
    for ((at, place), facts) in said.iter().zip(&all) {
        let mut line = on.at(*place);
        let mut pen = line.pen();
        for (fact, widest) in facts.iter().zip(widths).filter(|(_, widest)| *widest > 0) {
            if pen.rest() < widest {
                break;
            }
            pen.skip(widest - width(fact));
            pen.put(fact.as_deref().unwrap_or_default(), look.style(Role::Text)).skip(2);
        }
        let owners = held_by(machines, &machines.machines[*at]).unwrap_or_default();
        if widths.iter().map(|widest| widest + 2).sum::<u16>() < place.width {
            pen.fit(&owners, look.style(Role::Muted));
        }
    }
}

fn name(machines: &Machines, at: usize, role: Role, mut on: Surface<'_>) {
    let style = on.look.style(role);
    on.pen().fit(&printable(&machines.machines[at].name), style);
}

/// A value as a bar and a colour; what is lost is crossed out.
fn cell(tab: &Fleet, look: Look<'_>, state: State, value: Option<f64>) -> (&'static str, Style) {
    let metric = &METRICS[tab.metric];
    match (state, value) {
        (State::Lost, _) => ("x", look.style(Role::Bad)),
        (_, None) => ("?", look.style(Role::Absent)),
        (_, Some(value)) => {
            let share = (metric.share)(value).clamp(0.0, 1.0);
            let levels = look.glyphs.spark;
            let level = (share * (levels.len() - 1) as f64).round() as usize;
            let style = match state {
                State::Late => look.style(Role::Late),
                _ => look.theme.ramp(metric.ramp, share as f32),
            };
            (levels[level], style)
        }
    }
}
