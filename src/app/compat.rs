//! Verdicts on every GPU in view, and which rows of them are shown.

use warpscope_kernels::Dtype;
use warpscope_probes::Frame;
use warpscope_probes::catalogue::{Catalogue, How};
use warpscope_probes::rules::RuleBase;

use super::view::CompatView;
use crate::engine::{Matrix, Target, Verdict, matrix};

/// Verdicts on every GPU in view, worked out anew only when the GPUs change.
#[derive(Debug, Default)]
pub struct Compat {
    /// What is asked about each GPU, in the order of [`Frame::gpus`].
    pub targets: Vec<Target>,
    /// Rows framework and configuration, columns GPUs.
    pub matrix: Matrix,
    dtypes: Vec<Vec<(Dtype, How)>>,
}

impl Compat {
    /// Brings the verdicts in line with the GPUs of a frame.
    pub fn renew(&mut self, frame: &Frame) {
        let targets: Vec<_> =
            frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect();
        if targets != self.targets {
            self.matrix = matrix(RuleBase::builtin(), &targets);
            self.dtypes = targets.iter().map(support).collect();
            self.targets = targets;
        }
    }

    /// Positions of the rows to show.
    pub fn rows(&self, view: &CompatView) -> Vec<usize> {
        let wanted = |&at: &usize| {
            let row = &self.matrix.rows[at];
            let fails = || self.matrix.cells[at].iter().any(|verdict| verdict.outcome.is_bad());
            view.filter.matches(&format!("{} {}", row.framework, row.config))
                && (!view.only_failures || fails())
        };
        (0..self.matrix.rows.len()).filter(wanted).collect()
    }

    /// The verdict of a shown row and a GPU.
    pub fn at(&self, view: &CompatView, row: usize, gpu: usize) -> Option<&Verdict> {
        self.matrix.cells.get(*self.rows(view).get(row)?)?.get(gpu)
    }

    /// How one GPU computes in every number format; empty while its compute capability is unknown.
    pub fn dtypes(&self, gpu: usize) -> &[(Dtype, How)] {
        self.dtypes.get(gpu).map_or(&[], Vec::as_slice)
    }

    /// Every verdict on one GPU.
    pub fn of(&self, gpu: usize) -> impl Iterator<Item = &Verdict> {
        self.matrix.cells.iter().filter_map(move |row| row.get(gpu))
    }
}

fn support(target: &Target) -> Vec<(Dtype, How)> {
    let Some(sm) = target.sm else { return Vec::new() };
    let rows = Catalogue::load().dtype_support(sm, target.pci_device_id);
    rows.into_iter().map(|(dtype, support)| (dtype, support.how)).collect()
}
