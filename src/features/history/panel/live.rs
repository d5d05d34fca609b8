//! A run that is being recorded: its kernels, and the last points of the one with most of them as a plot.

use ratatui::layout::Rect;
use warpscope_probes::text::printable;

use crate::runs::live::{LiveKernel, LiveRun};
use crate::widgets::layout::{cut_right, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{Align, Card, Column, Level, Surface, Table, Trend, format};

const COLUMNS: &[Column<'static>] = &[
    Column::new("KERNEL", 16, 34).grows(),
    Column::new("SAMPLES", 7, 8).align(Align::Right).rank(1),
    Column::new("LAST", 9, 10).align(Align::Right),
    Column::new("MEDIAN", 9, 10).align(Align::Right),
];

/// Width from which kernels stand beside the plot.
const WIDE: u16 = 100;
/// Height of a plot that can be read: its axes and four lines.
const PLOT: u16 = 6;

/// Draws as many of the runs as have room.
pub(super) fn render(runs: &[LiveRun], mut on: Surface<'_>) {
    let room = usize::from(on.area.height / (PLOT + 2)).max(1);
    let shown = runs.len().min(room);
    for (at, run) in runs.iter().take(shown).enumerate() {
        let rows = on.area.height / u16::try_from(shown - at).unwrap_or(1);
        draw(run, on.cut_top(rows));
    }
}

fn draw(run: &LiveRun, mut on: Surface<'_>) {
    let look = on.look;
    let title = if run.is_over { "Recorded" } else { "Recording" };
    let what = printable(if run.command.is_empty() { &run.file } else { &run.command });
    let what = format!(" {what}");
    let left = [look.piece(title, Role::Title), look.piece(&what, Role::Text)];
    let state = state(run);
    let right = [look.piece(&state, if failed(run) { Role::Warn } else { Role::Muted })];
    on.frame(Card::new(look).left(&left).right(&right));
    let Some(plotted) = run.longest() else {
        on.cut_top(1).pen().put("No sample yet.", look.style(Role::Muted));
        return;
    };
    if let Some(note) = note(run) {
        on.cut_bottom(1).pen().put(&printable(&note), look.style(Role::Warn));
    }
    let list = if on.area.width >= WIDE {
        let half = on.area.width / 2;
        let graph = cut_right(&mut on.area, half);
        let list = std::mem::replace(&mut on.area, graph);
        Rect { width: list.width.saturating_sub(2), ..list }
    } else {
        let kernels = u16::try_from(run.kernels.len()).unwrap_or(u16::MAX).saturating_add(1);
        let beside_a_plot = on.area.height.saturating_sub(PLOT + 1);
        let most = if beside_a_plot < 2 { on.area.height } else { beside_a_plot };
        cut_top(&mut on.area, kernels.min(most))
    };
    table(run, on.at(list));
    if on.area.height > PLOT && run.kernels.len() > 1 {
        on.cut_top(1).pen().fit(&printable(&plotted.name()), look.style(Role::Header));
    }
    if on.area.height >= PLOT {
        plot(plotted, on);
    }
}

/// How long it runs, what came of it, and how it ended.
fn state(run: &LiveRun) -> String {
    let lasted = format::duration(run.lasted_ms() as f64 / 1e3);
    let samples = format::counted(run.samples, "sample");
    let ended = match &run.end {
        None if run.is_over => ", stopped before its end".to_owned(),
        None => String::new(),
        Some(end) => end.failure().map_or(", done".to_owned(), |why| format!(", {why}")),
    };
    format!("{lasted}, {samples}{ended}")
}

fn failed(run: &LiveRun) -> bool {
    run.end.as_ref().map_or(run.is_over, |end| end.failure().is_some())
}

/// What a reader of the figures has to know.
fn note(run: &LiveRun) -> Option<String> {
    let (points, why) = (run.tainted.0, run.tainted.1.as_ref()?);
    Some(match points {
        1 => format!("1 point is not judged: {why}"),
        count => format!("{count} points are not judged, the last: {why}"),
    })
}

fn table(run: &LiveRun, on: Surface<'_>) {
    let look = on.look;
    let table = Table::new(look, COLUMNS, run.kernels.len());
    let time = |ns: Option<f64>| {
        format::or_absent(ns, |ns| format::nanoseconds(ns, look.glyphs)).to_string()
    };
    table.render(on.area, on.buffer, |row, column, pen| {
        let kernel = &run.kernels[row];
        let (text, role) = match column {
            0 => (printable(&kernel.name()), Role::Text),
            1 => (kernel.samples.to_string(), Role::Muted),
            2 => (time(kernel.points.back().map(|one| one.median)), Role::Text),
            _ => (time(kernel.median()), Role::Muted),
        };
        pen.fit(&text, look.style(role));
    });
}

fn plot(kernel: &LiveKernel, mut on: Surface<'_>) {
    let of = |one: &crate::runs::compare::Quartiles| {
        Some(Level { lower: one.lower, median: one.median, upper: one.upper })
    };
    let levels: Vec<Option<Level>> = kernel.points.iter().map(of).collect();
    let first = match levels.len() {
        1 => String::new(),
        count => format!("{} points ago", count - 1),
    };
    on.draw(&Trend {
        look: on.look,
        levels: &levels,
        steps: &[],
        cursor: None,
        marked: &[],
        ends: (&first, "last point"),
        text: |ns, look| format::nanoseconds(ns, look.glyphs),
    });
}
