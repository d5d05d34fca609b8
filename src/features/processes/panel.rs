//! Processes on the GPUs: sorted, filtered, as a list or a tree.

use std::collections::HashSet;

use warpscope_probes::process::Process;

use crate::features::Shared;
use crate::features::process_cells::{age, command, gpu, kind, nobody, plain, size, uses};
use crate::features::processes::{Processes, Row, SORTS, SortBy};
use crate::widgets::format::{Short, counted, part};
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, Card, CellWriter, Column, Hit, Look, Notice, Severity, Sort, Surface, Table, slot,
};

use SortBy as By;

/// One column: its word in the configuration, how it is laid out, and which order a click on its head gives.
struct Spec {
    word: &'static str,
    column: Column<'static>,
    sort: Option<By>,
    text: fn(&Shared, &Process) -> (String, Role),
}

const fn spec(
    word: &'static str,
    column: Column<'static>,
    sort: Option<By>,
    text: fn(&Shared, &Process) -> (String, Role),
) -> Spec {
    Spec { word, column, sort, text }
}

/// Head of the column that is there once somebody has looked at what is installed.
const USES: &str = "USES";

const COLUMNS: &[Spec] = &[
    spec("gpu", Column::new("GPU", 4, 4).align(Align::Right), Some(By::Gpu), |shared, process| {
        (gpu(&shared.frame, process), Role::Muted)
    }),
    spec("pid", Column::new("PID", 7, 7).align(Align::Right), Some(By::Pid), |_, process| {
        (process.pid.to_string(), Role::Text)
    }),
    spec("user", Column::new("USER", 8, 10).rank(3), Some(By::User), |_, process| {
        plain(&process.host.user)
    }),
    spec("kind", Column::new("KIND", 4, 4).rank(6), None, |_, process| {
        (kind(process.kind).into(), Role::Muted)
    }),
    spec(
        "gpu-memory",
        Column::new("GPU-MEM", 9, 9).align(Align::Right),
        Some(By::GpuMemory),
        |shared, process| size(shared, &process.usage.gpu_memory_bytes),
    ),
    spec("sm", Column::new("SM%", 4, 5).align(Align::Right).rank(1), Some(By::Sm), |_, process| {
        plain(&process.usage.sm_pct)
    }),
    spec("encoder", Column::new("ENC%", 4, 5).align(Align::Right).rank(9), None, |_, process| {
        plain(&process.usage.encoder_pct)
    }),
    spec("decoder", Column::new("DEC%", 4, 5).align(Align::Right).rank(9), None, |_, process| {
        plain(&process.usage.decoder_pct)
    }),
    spec(
        "cpu",
        Column::new("CPU%", 5, 5).align(Align::Right).rank(2),
        Some(By::Cpu),
        |_, process| plain(&process.host.cpu_pct),
    ),
    spec(
        "memory",
        Column::new("MEM", 9, 9).align(Align::Right).rank(4),
        Some(By::HostMemory),
        |shared, process| size(shared, &process.host.memory_bytes),
    ),
    spec("age", Column::new("AGE", 7, 7).align(Align::Right).rank(5), Some(By::Started), age),
    spec("container", Column::new("CONTAINER", 9, 14).rank(8), None, |_, process| {
        plain(&process.host.container)
    }),
    spec("uses", Column::new(USES, 12, 28).rank(7), None, uses),
    spec("command", Column::new("COMMAND", 24, 40).grows(), Some(By::Command), |_, process| {
        command(process)
    }),
];

/// Draws the tab.
pub(crate) fn render(view: &Processes, shared: &Shared, mut on: Surface<'_>) {
    let look = on.look;
    let rows = view.rows(&shared.frame);
    let all = &shared.frame.processes;
    let shown = distinct(rows.iter().map(|row| all[row.at].pid));
    let mut title = part(shown, distinct(all.iter().map(|one| one.pid)), "process");
    if rows.len() > shown {
        title += &format!(" in {}", counted(rows.len(), "row"));
    }
    let filter = format!("/{}", view.filter.text);
    let mut right = vec![look.piece(&title, Role::Muted)];
    if !view.filter.text.is_empty() {
        right.push(look.piece(&filter, Role::Accent));
    }
    if shared.settings.readonly {
        right.push(look.piece("read-only", Role::Muted));
    }
    on.frame(Card::new(look).left(&[look.piece("Processes", Role::Title)]).right(&right));
    if !rows.is_empty() {
        return table((view, shared), &rows, on);
    }
    let text = match shared.frame.processes.is_empty() {
        true => nobody(&shared.frame),
        false => "No process matches the filter; Esc clears it.".into(),
    };
    on.draw(&Notice { look, severity: Severity::Info, text: &text });
}

/// A process that is on several GPUs counts once.
fn distinct(pids: impl Iterator<Item = u32>) -> usize {
    pids.collect::<HashSet<_>>().len()
}

fn table((view, shared): (&Processes, &Shared), rows: &[Row], mut on: Surface<'_>) {
    let look = on.look;
    let known = shared.survey.is_some();
    let wanted = shared.display.columns.iter();
    let specs = wanted.filter_map(|word| COLUMNS.iter().find(|spec| spec.word == word));
    let specs: Vec<&Spec> = specs.filter(|spec| known || spec.column.title != USES).collect();
    let columns: Vec<_> = specs.iter().map(|spec| spec.column).collect();
    let mut table = Table::new(look, &columns, rows.len());
    table.selected = Some(view.cursor.at);
    let direction = if view.spec().descending == view.reverse { Sort::Up } else { Sort::Down };
    table.sort =
        specs.iter().position(|spec| spec.sort == Some(view.sort)).map(|at| (at, direction));
    let layout = table.draw(on.at(on.area), Hit::Row, |row, column, pen| {
        let row = rows[row];
        let spec = specs[column];
        let (text, role) = (spec.text)(shared, &shared.frame.processes[row.at]);
        if spec.sort == Some(By::Command) {
            branch(look, row.depth, pen);
        }
        pen.fit(&text, look.style(role));
    });
    for (column, span) in &layout.slots {
        if let Some(by) = specs[*column].sort {
            on.hits.add(slot(layout.header, span), Hit::Sort(position(by)));
        }
    }
}

fn position(by: By) -> usize {
    SORTS.iter().position(|spec| spec.by == by).unwrap_or(0)
}

fn branch(look: Look<'_>, depth: usize, pen: &mut CellWriter<'_>) {
    if depth > 0 {
        let indent = u16::try_from(depth.min(12) - 1).unwrap_or(0) * 2;
        pen.skip(indent).put(
            &Short::of(format_args!("{}{} ", look.glyphs.branch_last, look.glyphs.horizontal)),
            look.style(Role::Faint),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_can_be_configured() {
        let words: Vec<_> = COLUMNS.iter().map(|spec| spec.word).collect();
        assert_eq!(words, crate::config::args::COLUMN_WORDS);
    }

    #[test]
    fn every_order_but_none_has_a_column_to_click() {
        for sort in SORTS {
            assert_eq!(
                COLUMNS.iter().filter(|spec| spec.sort == Some(sort.by)).count(),
                1,
                "{}",
                sort.title
            );
        }
    }
}
