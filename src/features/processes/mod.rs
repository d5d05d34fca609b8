//! The rows of the Processes tab: filtered, sorted, as a list or a tree.

mod details;
mod filter;
mod keys;
pub mod panel;
mod popup;
mod tab;

use std::cmp::Ordering;
use std::collections::HashSet;

use warpscope_probes::process::Process;
use warpscope_probes::{Frame, Reading, Scalar};

use crate::features::process_cells::place;
use crate::features::{Cursor, Input};

use self::filter::Filter;
pub use keys::Cmd;
pub use popup::{Popup, SIGNALS, SignalMenu};

/// A column processes can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortBy {
    /// Device memory held.
    #[default]
    GpuMemory,
    /// SM time.
    Sm,
    /// Host CPU time.
    Cpu,
    /// Host memory.
    HostMemory,
    /// GPU, then process id.
    Gpu,
    /// Process id.
    Pid,
    /// Owner.
    User,
    /// Start time.
    Started,
    /// Command line.
    Command,
}

/// One way to sort: which, its title, whether the largest comes first, and the order itself.
pub struct SortSpec {
    /// Which column.
    pub by: SortBy,
    /// Title in the header.
    pub title: &'static str,
    /// Whether the largest comes first.
    pub descending: bool,
    compare: fn(&Frame, &Process, &Process) -> Ordering,
}

const fn sort(
    by: SortBy,
    title: &'static str,
    descending: bool,
    compare: fn(&Frame, &Process, &Process) -> Ordering,
) -> SortSpec {
    SortSpec { by, title, descending, compare }
}

fn number<T: Scalar>(a: &Reading<T>, b: &Reading<T>) -> Ordering {
    let of = |one: &Reading<T>| one.last().and_then(Scalar::number).unwrap_or(-1.0);
    of(a).total_cmp(&of(b))
}

/// Every sort order, in the order the sort key walks through them.
pub const SORTS: &[SortSpec] = &[
    sort(SortBy::GpuMemory, "GPU-MEM", true, |_, a, b| {
        number(&a.usage.gpu_memory_bytes, &b.usage.gpu_memory_bytes)
    }),
    sort(SortBy::Sm, "SM%", true, |_, a, b| number(&a.usage.sm_pct, &b.usage.sm_pct)),
    sort(SortBy::Cpu, "CPU%", true, |_, a, b| number(&a.host.cpu_pct, &b.host.cpu_pct)),
    sort(SortBy::HostMemory, "MEM", true, |_, a, b| {
        number(&a.host.memory_bytes, &b.host.memory_bytes)
    }),
    sort(SortBy::Gpu, "GPU", false, |frame, a, b| place(frame, a).cmp(&place(frame, b))),
    sort(SortBy::Pid, "PID", false, |_, a, b| a.pid.cmp(&b.pid)),
    sort(SortBy::User, "USER", false, |_, a, b| a.host.user.last().cmp(&b.host.user.last())),
    sort(SortBy::Started, "STARTED", true, |_, a, b| a.started_at.cmp(&b.started_at)),
    sort(SortBy::Command, "COMMAND", false, |_, a, b| {
        a.host.command.last().cmp(&b.host.command.last())
    }),
];

/// How the tab is set.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    /// Selected row.
    pub cursor: Cursor,
    /// Filter.
    pub filter: Input,
    /// Sort column.
    pub sort: SortBy,
    /// Whether the column's own direction is turned around.
    pub reverse: bool,
    /// Whether parents stand above children.
    pub tree: bool,
    /// What lies over the tab.
    pub popup: Option<Popup>,
}

impl Processes {
    /// The table row of the sort column.
    pub fn spec(&self) -> &'static SortSpec {
        SORTS.iter().find(|spec| spec.by == self.sort).expect("every order is listed")
    }

    /// Sorts by the next column.
    pub fn next_sort(&mut self) {
        let at = SORTS.iter().position(|spec| spec.by == self.sort).map_or(0, |at| at + 1);
        self.sort = SORTS[at % SORTS.len()].by;
        self.reverse = false;
    }

    /// Sorts by a column, or turns it around when it is the one already.
    pub fn sort_by(&mut self, by: SortBy) {
        self.reverse = self.sort == by && !self.reverse;
        self.sort = by;
    }

    /// Shows those that have these words.
    pub fn find(&mut self, words: String) {
        (self.filter.text, self.cursor) = (words, Cursor::default());
    }

    /// The process the cursor is on.
    pub fn selected<'a>(&self, frame: &'a Frame) -> Option<&'a Process> {
        let row = self.rows(frame).get(self.cursor.at).copied()?;
        frame.processes.get(row.at)
    }

    /// Rows to draw: position in [`Frame::processes`] and depth in the tree.
    pub fn rows(&self, frame: &Frame) -> Vec<Row> {
        let all = &frame.processes;
        let filter = Filter::new(&self.filter.text);
        let mut shown: Vec<usize> =
            (0..all.len()).filter(|&at| filter.fits(frame, &all[at])).collect();
        let spec = self.spec();
        shown.sort_by(|&a, &b| {
            let order = (spec.compare)(frame, &all[a], &all[b]);
            let order = if spec.descending != self.reverse { order.reverse() } else { order };
            let row = |at: usize| (all[at].pid, place(frame, &all[at]));
            order.then_with(|| row(a).cmp(&row(b)))
        });
        if self.tree {
            as_tree(all, &shown)
        } else {
            shown.into_iter().map(|at| Row { at, depth: 0 }).collect()
        }
    }
}

/// One row of the tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Position in [`Frame::processes`].
    pub at: usize,
    /// Depth in the tree, 0 in the list.
    pub depth: usize,
}

fn as_tree(all: &[Process], shown: &[usize]) -> Vec<Row> {
    let parent = |at: usize| {
        let parent = *all[at].host.parent.last()?;
        (parent != all[at].pid).then_some(parent)
    };
    let pids: HashSet<u32> = shown.iter().map(|&at| all[at].pid).collect();
    let is_root = |at: &usize| parent(*at).is_none_or(|parent| !pids.contains(&parent));
    let mut rows = Vec::with_capacity(shown.len());
    let mut placed = HashSet::new();
    let mut stack: Vec<(usize, usize)> =
        shown.iter().copied().filter(is_root).map(|at| (at, 0)).rev().collect();
    while let Some((at, depth)) = stack.pop() {
        if !placed.insert(at) {
            continue;
        }
        rows.push(Row { at, depth });
        let first_of_pid = shown.iter().find(|&&other| all[other].pid == all[at].pid) == Some(&at);
        if first_of_pid {
            let children =
                shown.iter().copied().filter(|&child| parent(child) == Some(all[at].pid));
            let mut children: Vec<_> = children.map(|child| (child, depth + 1)).collect();
            children.reverse();
            stack.extend(children);
        }
    }
    // A ring of parents has no root; its members are still shown.
    rows.extend(
        shown.iter().copied().filter(|at| !placed.contains(at)).map(|at| Row { at, depth: 0 }),
    );
    rows
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Gpu;
    use warpscope_probes::units::Bytes;

    use super::*;

    fn process(pid: u32, parent: u32, bytes: Option<u64>, command: &str) -> Process {
        let mut process = Process { pid, gpu: "GPU-0".into(), ..Process::default() };
        process.host.parent = parent.into();
        process.host.command = command.to_owned().into();
        if let Some(bytes) = bytes {
            process.usage.gpu_memory_bytes = Bytes(bytes).into();
        }
        process
    }

    fn frame() -> Frame {
        let processes = vec![
            process(10, 1, Some(5), "python train.py"),
            process(11, 10, Some(9), "python worker"),
            process(12, 10, None, "python worker 2"),
            process(20, 1, Some(7), "vllm serve"),
        ];
        Frame { processes, ..Frame::default() }
    }

    fn pids(view: &Processes, frame: &Frame) -> Vec<(u32, usize)> {
        view.rows(frame).iter().map(|row| (frame.processes[row.at].pid, row.depth)).collect()
    }

    #[test]
    fn the_largest_comes_first_and_the_unknown_last() {
        let view = Processes::default();
        assert_eq!(pids(&view, &frame()), [(11, 0), (20, 0), (10, 0), (12, 0)]);
        let reversed = Processes { reverse: true, ..view };
        assert_eq!(pids(&reversed, &frame())[0], (12, 0));
    }

    #[test]
    fn the_tree_puts_children_below_their_parent() {
        let view = Processes { tree: true, ..Processes::default() };
        assert_eq!(pids(&view, &frame()), [(20, 0), (10, 0), (11, 1), (12, 1)]);
    }

    #[test]
    fn a_ring_of_parents_loses_nobody() {
        let processes =
            vec![process(1, 2, None, "a"), process(2, 1, None, "b"), process(3, 3, None, "c")];
        let view = Processes { tree: true, ..Processes::default() };
        assert_eq!(pids(&view, &Frame { processes, ..Frame::default() }).len(), 3);
    }

    #[test]
    fn a_process_on_two_gpus_is_two_rows_and_its_children_appear_once() {
        let mut frame = frame();
        frame.processes.push(Process { gpu: "GPU-1".into(), ..frame.processes[0].clone() });
        let view = Processes { tree: true, ..Processes::default() };
        assert_eq!(view.rows(&frame).len(), 5);
    }

    #[test]
    fn the_filter_looks_at_command_and_pid() {
        let filter =
            |text: &str| Processes { filter: Input { text: text.into() }, ..Processes::default() };
        assert_eq!(pids(&filter("worker"), &frame()), [(11, 0), (12, 0)]);
        assert_eq!(pids(&filter("20"), &frame()), [(20, 0)]);
    }

    #[test]
    fn gpus_are_sorted_and_found_by_number_not_by_uuid() {
        let gpu = |(index, key): (u32, &str)| Gpu { index, key: key.into(), ..Gpu::default() };
        let on =
            |pid, key: &str, mig| Process { gpu: key.into(), mig, ..process(pid, 1, None, "") };
        let frame = Frame {
            gpus: [(2, "GPU-a7"), (0, "GPU-b7"), (10, "GPU-c7")].map(gpu).into(),
            processes: vec![
                on(11, "GPU-c7", None),
                on(12, "GPU-a7", Some(3)),
                on(13, "GPU-a7", Some(1)),
                on(14, "GPU-b7", None),
            ],
            ..Frame::default()
        };
        let sorted = Processes { sort: SortBy::Gpu, ..Processes::default() };
        assert_eq!(pids(&sorted, &frame), [(14, 0), (13, 0), (12, 0), (11, 0)]);
        let found = |text: &str| {
            let filter = Input { text: text.into() };
            pids(&Processes { filter, ..Processes::default() }, &frame)
        };
        for text in ["gpu2", "gpu:2", "gpu 2", "GPU 2"] {
            assert_eq!(found(text), [(12, 0), (13, 0)], "{text}");
        }
        assert_eq!((found("gpu 2:1"), found("gpu 2 13")), (vec![(13, 0)], vec![(13, 0)]));
        assert_eq!((found("gpu1"), found("gpu 10")), (vec![], vec![(11, 0)]));
        assert_eq!(found("gpu").len(), 4);
        assert_eq!(found("2:1"), [(13, 0)]);
        assert_eq!((found("7"), found("a7")), (vec![], vec![]));
    }

    #[test]
    fn every_order_is_total() {
        let mut view = Processes::default();
        for _ in SORTS {
            assert_eq!(view.rows(&frame()).len(), 4);
            view.next_sort();
        }
        assert_eq!(view.sort, SortBy::GpuMemory);
    }
}
