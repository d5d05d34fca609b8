//! The columns of the matrix: identical GPUs share one, and GPUs that were marked are a group of their own before them.

use warpscope_probes::Frame;

use super::free::LeastFree;
use crate::engine::Target;
use crate::engine::plan::Device;

/// The GPUs a column stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Their places in the frame.
    pub gpus: Vec<usize>,
    /// Places of the kinds they are of among [`Columns::targets`].
    pub targets: Vec<usize>,
    /// Whether they were marked by hand.
    pub is_group: bool,
}

/// Every column, made of the GPUs of a frame and of how many of each kind are marked.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    gpus: Vec<Target>,
    /// The kind of each GPU.
    kind_of: Vec<usize>,
    /// What tells each kind from the others.
    kinds: Vec<Target>,
    /// How many GPUs of each kind are marked.
    marked: Vec<usize>,
    all: Vec<Column>,
    targets: Vec<Target>,
    free: LeastFree,
    /// The kind that was marked last.
    last_marked: usize,
    /// Main memory of the machine, where it is known.
    host_memory: Option<u64>,
}

/// The GPUs of a frame that changes answers.
pub(super) struct News {
    gpus: Vec<Target>,
    kind_of: Vec<usize>,
    kinds: Vec<Target>,
    host_memory: Option<u64>,
    /// Whether nothing but free memory is new.
    pub(super) is_only_memory: bool,
}

impl Columns {
    /// Looks at the GPUs of a frame; none where they change no answer. `memory` says whether answers depend on what is free.
    pub(super) fn look(&mut self, frame: &Frame, memory: bool) -> Option<News> {
        let gpu = |gpu| Target::from_gpu(gpu, &frame.driver);
        let mut gpus: Vec<Target> = frame.gpus.iter().map(gpu).collect();
        self.free.steady(&mut gpus, frame.at);
        let mut kinds: Vec<Target> = Vec::new();
        let kind_of = gpus.iter().map(|gpu| {
            let kind = Target {
                uuid: None,
                index: None,
                memory_free_bytes: None,
                equals: 0,
                ..gpu.clone()
            };
            kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        });
        let kind_of: Vec<usize> = kind_of.collect();
        let host_memory = frame.host.machine.memory_total_bytes.last().map(|bytes| bytes.0);
        let pairs = || self.gpus.iter().zip(&gpus);
        let is_only_memory = kinds == self.kinds
            && kind_of == self.kind_of
            && pairs().all(|(old, new)| old.uuid == new.uuid);
        let as_free = || pairs().all(|(old, new)| old.memory_free_bytes == new.memory_free_bytes);
        let same = is_only_memory && (!memory || host_memory == self.host_memory && as_free());
        (!same).then_some(News { gpus, kind_of, kinds, host_memory, is_only_memory })
    }

    /// Lays the columns for other GPUs.
    pub(super) fn take(&mut self, news: News, memory: bool) {
        if news.kinds != self.kinds {
            (self.marked, self.last_marked) = (vec![0; news.kinds.len()], 0);
        }
        (self.gpus, self.kinds, self.kind_of) = (news.gpus, news.kinds, news.kind_of);
        self.host_memory = news.host_memory;
        self.lay(memory);
    }

    fn lay(&mut self, memory: bool) {
        (self.all, self.targets) = (Vec::new(), Vec::new());
        for kind in 0..self.kinds.len() {
            let gpus: Vec<usize> = self.of_kind(kind).collect();
            let equals = gpus.len();
            self.targets.push(self.target(kind, &gpus, equals, memory));
            self.all.push(Column { gpus, targets: vec![kind], is_group: false });
        }
        let marked: Vec<usize> =
            (0..self.kinds.len()).filter(|kind| self.marked(*kind) > 0).collect();
        if marked.is_empty() {
            return;
        }
        let mut group = Column { is_group: true, ..Column::default() };
        for kind in &marked {
            let gpus: Vec<usize> = self.of_kind(*kind).take(self.marked(*kind)).collect();
            let mut target = self.target(*kind, &gpus, gpus.len(), memory);
            if marked.len() > 1 {
                // What a mixed group has room for, only a plan says.
                target.memory_bytes = None;
            }
            group.targets.push(self.targets.len());
            self.targets.push(target);
            group.gpus.extend(gpus);
        }
        self.all.insert(0, group);
    }

    /// A kind as rules are asked about it: with the least that is free on one of the GPUs.
    fn target(&self, kind: usize, gpus: &[usize], equals: usize, memory: bool) -> Target {
        let of = |at: &usize| &self.gpus[*at];
        let free = gpus.iter().filter_map(|at| of(at).memory_free_bytes).min();
        Target {
            uuid: gpus.iter().find_map(|at| of(at).uuid.clone()),
            memory_free_bytes: free.filter(|_| memory),
            equals: u32::try_from(equals).unwrap_or(u32::MAX),
            ..self.kinds[kind].clone()
        }
    }

    fn of_kind(&self, kind: usize) -> impl Iterator<Item = usize> {
        self.kind_of.iter().enumerate().filter(move |one| *one.1 == kind).map(|(at, _)| at)
    }

    fn marked(&self, kind: usize) -> usize {
        self.marked.get(kind).copied().unwrap_or(0)
    }

    /// Takes one more GPU of a column's kind into the group, and after the last of them all out again. On the group: of the kind that was
    /// marked last.
    pub(super) fn mark(&mut self, column: usize, memory: bool) {
        let kind = self.all.get(column).and_then(|one| match one.is_group {
            true => Some(self.last_marked),
            false => one.targets.first().copied(),
        });
        let Some(kind) = kind.filter(|kind| *kind < self.marked.len()) else { return };
        let next = self.marked(kind) + 1;
        self.marked[kind] = if next > self.of_kind(kind).count() { 0 } else { next };
        self.last_marked = kind;
        self.lay(memory);
    }

    /// Takes one GPU out of the group: of the kind that was marked last, as long as it has one there.
    pub(super) fn unmark(&mut self, memory: bool) {
        let has_some = |kind: &usize| self.marked(*kind) > 0;
        let kind = Some(self.last_marked).filter(has_some);
        let Some(kind) = kind.or_else(|| (0..self.kinds.len()).find(has_some)) else { return };
        self.marked[kind] -= 1;
        self.last_marked = kind;
        self.lay(memory);
    }

    /// Where the cursor goes once a GPU is marked: to the group, or to the kind it was of.
    pub(super) fn of_marked(&self) -> usize {
        if self.has_group() { 0 } else { self.last_marked }
    }

    /// Main memory beside the GPUs of a column: that of the machine says nothing of GPUs of the catalogue.
    pub(super) fn host_memory(&self, column: usize) -> Option<u64> {
        let targets = self.all.get(column)?.targets.iter();
        let is_here = targets.filter_map(|at| self.targets.get(*at)).all(|one| !one.what_if);
        self.host_memory.filter(|_| is_here)
    }

    /// Says whether answers depend on free memory.
    pub(super) fn count_free(&mut self, memory: bool) {
        self.free.recall(&mut self.gpus);
        self.lay(memory);
    }

    /// The columns, the group first.
    pub fn all(&self) -> &[Column] {
        &self.all
    }

    /// Whether GPUs are marked.
    pub fn has_group(&self) -> bool {
        self.all.first().is_some_and(|first| first.is_group)
    }

    /// What rules are asked about.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// The kind a column is of, where it is of one.
    pub fn target_of(&self, column: usize) -> Option<&Target> {
        match self.all.get(column)?.targets.as_slice() {
            [one] => self.targets.get(*one),
            _ => None,
        }
    }

    /// The kind of a GPU among [`Columns::targets`].
    pub fn kind_of(&self, gpu: usize) -> Option<usize> {
        self.kind_of.get(gpu).copied()
    }

    /// The kind of the GPU with this UUID.
    pub(super) fn kind_with(&self, uuid: &str) -> Option<&Target> {
        let at = self.gpus.iter().position(|gpu| gpu.uuid.as_deref() == Some(uuid))?;
        self.targets.get(self.kind_of(at)?)
    }

    /// The column of a GPU's kind.
    pub fn of_gpu(&self, gpu: usize) -> Option<usize> {
        self.all.iter().position(|column| !column.is_group && column.gpus.contains(&gpu))
    }

    /// The GPUs of a column for a plan; none where the memory of one is not known.
    pub fn devices(&self, column: usize) -> Option<Vec<Device>> {
        let mut gpus = self.all.get(column)?.gpus.clone();
        Device::most_free_first(&mut gpus, |gpu| Device::new(&self.gpus[*gpu]));
        gpus.iter().map(|gpu| Device::new(&self.gpus[*gpu])).collect()
    }

    /// The GPUs of a column as they are named: `2×T4`, `T4 + RTX 3090`.
    pub fn name(&self, column: usize) -> String {
        let gpus = self.all.get(column).map_or(&[][..], |column| &column.gpus);
        crate::engine::plan::named(gpus.iter().map(|gpu| self.gpus[*gpu].label.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;
    use warpscope_probes::Gpu;
    use warpscope_probes::units::Bytes;

    use super::*;

    fn frame(gpus: &[(&str, u64)]) -> Frame {
        let gpu = |(at, (name, free)): (usize, &(&str, u64))| {
            let mut gpu = Gpu { key: at.to_string(), ..Gpu::default() };
            gpu.identity.name = (*name).to_owned().into();
            gpu.identity.uuid = format!("GPU-{at}").into();
            gpu.identity.sm = Sm::new(7, 5).into();
            gpu.vitals.memory_total_bytes = Bytes(16 << 30).into();
            gpu.vitals.memory_free_bytes = Bytes(free << 30).into();
            gpu
        };
        Frame { gpus: gpus.iter().enumerate().map(gpu).collect(), ..Frame::default() }
    }

    /// Takes a frame; whether it changed anything.
    fn renew(columns: &mut Columns, frame: &Frame, memory: bool) -> bool {
        let news = columns.look(frame, memory);
        news.map(|news| columns.take(news, memory)).is_some()
    }

    fn gpus(columns: &Columns) -> Vec<&[usize]> {
        columns.all().iter().map(|column| column.gpus.as_slice()).collect()
    }

    #[test]
    fn identical_gpus_share_a_column_and_marked_ones_stand_before_them() {
        let mut columns = Columns::default();
        assert!(renew(&mut columns, &frame(&[("T4", 15), ("V100", 15), ("T4", 15)]), false));
        assert_eq!(gpus(&columns), [&[0, 2][..], &[1]]);
        assert_eq!((columns.name(0), columns.of_gpu(2)), ("2×T4".to_owned(), Some(0)));
        columns.mark(0, false);
        assert_eq!(gpus(&columns), [&[0][..], &[0, 2], &[1]]);
        columns.mark(1, false);
        columns.mark(2, false);
        assert_eq!(
            (gpus(&columns)[0], columns.name(0)),
            (&[0, 2, 1][..], "2×T4 + V100".to_owned())
        );
        columns.mark(1, false);
        assert_eq!(gpus(&columns)[0], [1], "after the last one none is marked");
        columns.mark(0, false);
        assert_eq!(gpus(&columns)[0], [0, 1], "the group grows by the kind that was marked last");
        columns.unmark(false);
        columns.unmark(false);
        assert!(!columns.has_group());
    }

    #[test]
    fn main_memory_is_that_of_the_machine_whose_gpus_they_are() {
        use warpscope_probes::gpu::Presence;

        let mut frame = frame(&[("T4", 15), ("V100", 15)]);
        frame.host.machine.memory_total_bytes = Bytes(24 << 30).into();
        frame.gpus[1].presence = Presence::WhatIf;
        let mut columns = Columns::default();
        renew(&mut columns, &frame, true);
        assert_eq!([0, 1].map(|at| columns.host_memory(at)), [Some(24 << 30), None]);
    }

    #[test]
    fn only_changes_that_matter_are_changes() {
        let mut columns = Columns::default();
        renew(&mut columns, &frame(&[("T4", 15)]), true);
        assert!(!renew(&mut columns, &frame(&[("T4", 15)]), true));
        assert!(!renew(&mut columns, &frame(&[("T4", 2)]), false));
        assert!(renew(&mut columns, &frame(&[("T4", 2)]), true));
        assert_eq!(columns.targets()[0].memory_free_bytes, Some(2 << 30));
        columns.count_free(true);
        assert_eq!(columns.devices(0).expect("is known")[0].free, (2_u64 << 30) as f64);
    }
}
