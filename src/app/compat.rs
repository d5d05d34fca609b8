//! Verdicts on every GPU in view, and which rows of them are shown.

use warpscope_kernels::Dtype;
use warpscope_probes::Frame;
use warpscope_probes::catalogue::{Catalogue, How};
use warpscope_probes::rules::RuleBase;

use super::view::CompatView;
use crate::engine::{Cell, Matrix, Premises, Row, Target, Verdict, evaluate, matrix};

/// Verdicts on every GPU in view, worked out anew only when the GPUs change, and once for GPUs that
/// differ in nothing a rule asks for.
#[derive(Debug, Default)]
pub struct Compat {
    /// Which of the kinds each GPU of the frame is.
    columns: Vec<usize>,
    kinds: Vec<Target>,
    matrix: Matrix,
    dtypes: Vec<Vec<(Dtype, How)>>,
    premises: Premises,
    /// The worst answer on each kind, in full.
    worst: Vec<Option<Verdict>>,
}

impl Compat {
    /// Brings the verdicts in line with the GPUs of a frame.
    pub fn renew(&mut self, frame: &Frame) {
        let mut kinds: Vec<Target> = Vec::new();
        self.columns.clear();
        for gpu in &frame.gpus {
            let target = Target::from_gpu(gpu, &frame.driver);
            let known = kinds.iter().position(|kind| *kind == target);
            self.columns.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(target);
            }
        }
        if kinds != self.kinds {
            self.matrix = matrix(RuleBase::builtin(), &kinds, &self.premises);
            self.dtypes = kinds.iter().map(support).collect();
            self.kinds = kinds;
            self.worst = (0..self.kinds.len()).map(|kind| self.worst_of(kind)).collect();
        }
    }

    /// Every row of the matrix.
    pub fn all_rows(&self) -> &[Row] {
        &self.matrix.rows
    }

    /// Positions of the rows to show.
    pub fn rows(&self, view: &CompatView) -> Vec<usize> {
        let wanted = |&at: &usize| {
            let row = &self.matrix.rows[at];
            let fails = || self.matrix.cells[at].iter().any(|cell| cell.outcome.is_bad());
            view.filter.matches(&format!("{} {}", row.framework, row.config))
                && (!view.only_failures || fails())
        };
        (0..self.matrix.rows.len()).filter(wanted).collect()
    }

    /// The outcome in a row of [`Compat::all_rows`] for a GPU.
    pub fn cell(&self, row: usize, gpu: usize) -> Option<&Cell> {
        self.matrix.cells.get(row)?.get(*self.columns.get(gpu)?)
    }

    /// The whole answer of a row of [`Compat::all_rows`] for a GPU, worked out when asked for.
    pub fn verdict(&self, row: usize, gpu: usize) -> Option<Verdict> {
        self.ask(row, *self.columns.get(gpu)?)
    }

    /// The verdict of a shown row and a GPU.
    pub fn at(&self, view: &CompatView, row: usize, gpu: usize) -> Option<Verdict> {
        self.verdict(*self.rows(view).get(row)?, gpu)
    }

    fn ask(&self, row: usize, kind: usize) -> Option<Verdict> {
        let (row, kind) = (self.matrix.rows.get(row)?, self.kinds.get(kind)?);
        let found = self.premises.about(kind, &row.question);
        Some(evaluate(RuleBase::builtin(), kind, &row.question, &found))
    }

    /// The first of the worst answers on one kind of GPU.
    fn worst_of(&self, kind: usize) -> Option<Verdict> {
        let outcome = |row: usize| self.matrix.cells[row][kind].outcome;
        let bad = (0..self.matrix.rows.len()).filter(|row| outcome(*row).is_bad());
        let worst = bad.rev().max_by_key(|row| outcome(*row))?;
        self.ask(worst, kind)
    }

    /// The most important of what goes wrong on a GPU.
    pub fn worst(&self, gpu: usize) -> Option<&Verdict> {
        self.worst.get(*self.columns.get(gpu)?)?.as_ref()
    }

    /// How one GPU computes in every number format; empty while its compute capability is unknown.
    pub fn dtypes(&self, gpu: usize) -> &[(Dtype, How)] {
        let kind = self.columns.get(gpu).and_then(|kind| self.dtypes.get(*kind));
        kind.map_or(&[], Vec::as_slice)
    }

    /// Every outcome on one GPU.
    pub fn of(&self, gpu: usize) -> impl Iterator<Item = &Cell> {
        (0..self.matrix.rows.len()).filter_map(move |row| self.cell(row, gpu))
    }
}

fn support(target: &Target) -> Vec<(Dtype, How)> {
    let Some(sm) = target.sm else { return Vec::new() };
    let rows = Catalogue::load().dtype_support(sm, target.pci_device_id);
    rows.into_iter().map(|(dtype, support)| (dtype, support.how)).collect()
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;
    use warpscope_probes::Gpu;

    use super::*;

    fn gpu(name: &str, sm: Sm) -> Gpu {
        let mut gpu = Gpu { key: name.into(), ..Gpu::default() };
        gpu.identity.name = name.to_owned().into();
        gpu.identity.sm = sm.into();
        gpu
    }

    #[test]
    fn gpus_of_one_kind_share_their_verdicts_and_each_has_its_own_column() {
        let (old, new) = (gpu("T4", Sm::new(7, 5)), gpu("H100", Sm::new(9, 0)));
        let gpus = vec![new.clone(), old.clone(), new.clone(), old];
        let mut compat = Compat::default();
        compat.renew(&Frame { gpus, ..Frame::default() });
        assert_eq!(compat.kinds.len(), 2);
        for row in 0..compat.all_rows().len() {
            assert_eq!(compat.verdict(row, 0), compat.verdict(row, 2));
            assert_eq!(compat.verdict(row, 3).map(|verdict| verdict.gpu), Some("T4".to_owned()));
        }
        assert!(compat.of(1).count() > 20 && compat.verdict(0, 4).is_none());
        assert_ne!(compat.dtypes(0), compat.dtypes(1));

        compat.renew(&Frame { gpus: vec![new], ..Frame::default() });
        assert_eq!(compat.verdict(0, 0).map(|verdict| verdict.gpu), Some("H100".to_owned()));
        assert!(compat.verdict(0, 1).is_none());
    }
}
