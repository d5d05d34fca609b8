//! Who uses the GPUs: processes under the cards, those on the selected GPU first.

use std::cmp::Reverse;

use warpscope_probes::gpu::Presence;
use warpscope_probes::process::Process;

use super::Overview;
use super::lines::LEAST_PROCESSES;
use crate::features::Shared;
use crate::features::process_cells::{age, command, gpu, nobody, plain, size};
use crate::widgets::layout::inset;
use crate::widgets::theme::Role;
use crate::widgets::{Align, Column, Sort, Surface, Table, wrap};

const COLUMNS: &[Column<'static>] = &[
    Column::new("GPU", 3, 4).align(Align::Right),
    Column::new("PID", 7, 7).align(Align::Right),
    Column::new("USER", 8, 10).rank(2),
    Column::new("SM%", 4, 5).align(Align::Right).rank(1),
    Column::new("GPU-MEM", 9, 9).align(Align::Right),
    Column::new("AGE", 7, 7).align(Align::Right).rank(3),
    Column::new("CONTAINER", 9, 14).rank(4),
    Column::new("COMMAND", 16, 40).grows(),
];

/// Position of the column that marks processes of the selected GPU.
const GPU: usize = 0;

/// Position of the column the list is sorted by.
const MEMORY: usize = 4;

/// Position of the column that is shown only if a process runs in a container.
const CONTAINER: usize = 6;

/// Lines that show every process and their head; none without processes.
pub(super) fn wanted(shared: &Shared) -> u16 {
    if !shared.display.has_panel("processes") {
        return 0;
    }
    match u16::try_from(shared.frame.processes.len()).unwrap_or(u16::MAX) {
        0 => 0,
        count => count.saturating_add(1),
    }
}

/// Lines kept for the list beside cards: never so many that the GPUs have less than three fifths.
pub(super) fn lines(shared: &Shared, height: u16) -> u16 {
    wanted(shared).min((height / 5 * 2).max(LEAST_PROCESSES)).min(height)
}

/// Every process: those on one GPU first, and of these and of the others first what holds the most device memory.
pub(super) fn sorted<'a>(processes: &'a [Process], gpu: Option<&str>) -> Vec<&'a Process> {
    let mut sorted: Vec<_> = processes.iter().collect();
    sorted.sort_by_key(|process| {
        let held = process.usage.gpu_memory_bytes.last().map(|bytes| bytes.0);
        (gpu.is_some_and(|gpu| gpu != process.gpu), Reverse(held), process.pid, &process.gpu)
    });
    sorted
}

/// Draws the list, if it has room for its head and a process; or that there is none.
pub(super) fn render(shared: &Shared, tab: &Overview, on: Surface<'_>) {
    let look = on.look;
    let selected = tab.selected(&shared.frame).filter(|_| shared.frame.gpus.len() > 1);
    let rows = sorted(&shared.frame.processes, selected.map(|gpu| gpu.key.as_str()));
    let area = inset(on.area);
    let has_gpu = shared.frame.gpus.iter().any(|gpu| gpu.presence == Presence::Present);
    if rows.is_empty() && has_gpu && shared.display.has_panel("processes") && area.height > 0 {
        let text = nobody(&shared.frame);
        let mut lines = wrap(&text, area.width.into());
        // What has no line of its own is cut where one sees it.
        let rest = lines.split_off(lines.len().min(usize::from(area.height - 1)));
        lines.push(rest.join(" "));
        for (line, row) in lines.iter().zip(area.rows()) {
            look.pen(on.buffer, row).fit(line, look.style(Role::Muted));
        }
    }
    if wanted(shared) == 0 || area.height < 2 {
        return;
    }
    let contained = rows.iter().any(|process| process.host.container.value().is_some());
    let shown: Vec<_> =
        (0..COLUMNS.len()).filter(|column| contained || *column != CONTAINER).collect();
    let columns: Vec<_> = shown.iter().map(|column| COLUMNS[*column]).collect();
    let mut table = Table::new(look, &columns, rows.len());
    table.offset = tab.first_process;
    table.sort = Some((MEMORY, Sort::Down));
    let is_selected = |process: &Process| selected.is_some_and(|gpu| gpu.key == process.gpu);
    table.render(area, on.buffer, |row, column, pen| {
        let (text, role) = cell(shared, rows[row], shown[column]);
        let is_marked = shown[column] == GPU && is_selected(rows[row]);
        pen.fit(&text, look.style(if is_marked { Role::Accent } else { role }));
    });
}

fn cell(shared: &Shared, process: &Process, column: usize) -> (String, Role) {
    match column {
        GPU => (gpu(&shared.frame, process), Role::Muted),
        1 => (process.pid.to_string(), Role::Text),
        2 => plain(&process.host.user),
        3 => plain(&process.usage.sm_pct),
        MEMORY => size(shared, &process.usage.gpu_memory_bytes),
        5 => age(shared, process),
        CONTAINER => plain(&process.host.container),
        _ => command(process),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::Bytes;

    use super::*;

    fn process(pid: u32, held: Option<u64>) -> Process {
        let mut process = Process { pid, ..Process::default() };
        if let Some(held) = held {
            process.usage.gpu_memory_bytes = Bytes(held).into();
        }
        process
    }

    #[test]
    fn the_largest_comes_first_and_the_unknown_last() {
        let all = [process(1, None), process(2, Some(5)), process(3, Some(9)), process(4, Some(5))];
        let pids: Vec<_> = sorted(&all, None).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [3, 2, 4, 1]);
    }

    #[test]
    fn those_on_the_selected_gpu_come_before_larger_ones() {
        let on = |pid, held, gpu: &str| Process { gpu: gpu.into(), ..process(pid, Some(held)) };
        let all = [on(1, 9, "a"), on(2, 1, "b"), on(3, 5, "b")];
        let pids: Vec<_> = sorted(&all, Some("b")).iter().map(|process| process.pid).collect();
        assert_eq!(pids, [3, 2, 1]);
    }
}
