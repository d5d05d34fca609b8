//! On how many GPUs of a fleet each configuration works.

use std::collections::BTreeMap;

use warpscope_probes::fleet::Fleet;
use warpscope_probes::rules::RuleBase;

use crate::engine::{Assumptions, Outcome, Target, importance, matrix};

/// A configuration, and on how many GPUs it has each outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) name: String,
    pub(super) counts: BTreeMap<Outcome, usize>,
    framework: String,
}

/// Every configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Runs {
    /// GPUs that were asked about.
    pub(super) gpus: usize,
    /// What people are most likely to start first.
    pub(super) all: Vec<Run>,
}

impl Runs {
    /// Asks once for each kind of GPU: equal boards with equal drivers are one.
    pub(super) fn of(fleet: &Fleet, fits: &[bool], rules: &RuleBase) -> Self {
        let mut kinds: BTreeMap<(usize, Option<&str>), (usize, usize)> = BTreeMap::new();
        for (at, gpu) in fleet.gpus.iter().enumerate().filter(|(at, _)| fits[*at]) {
            let driver = fleet.machines[gpu.machine].driver.as_deref();
            kinds.entry((gpu.model, driver)).or_insert((at, 0)).1 += 1;
        }
        let kinds: Vec<(usize, usize)> = kinds.into_values().collect();
        let targets: Vec<Target> = kinds.iter().filter_map(|kind| target(fleet, kind.0)).collect();
        let matrix = matrix(rules, &targets, &Assumptions::default());
        let rows = matrix.rows.iter().zip(&matrix.cells).map(|(row, cells)| {
            let mut counts = BTreeMap::new();
            for (cell, kind) in cells.iter().zip(&kinds) {
                *counts.entry(cell.outcome).or_default() += kind.1;
            }
            let version = row.question.version.as_deref();
            let name = [Some(&row.framework[..]), version, Some(&row.config)];
            let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
            Run { name, counts, framework: row.question.framework.clone() }
        });
        let mut all: Vec<Run> = rows.collect();
        all.sort_by_key(|run| importance::place(&run.framework));
        Self { gpus: kinds.iter().map(|kind| kind.1).sum(), all }
    }
}

/// A GPU as rules ask about it, as one of its kind.
fn target(fleet: &Fleet, gpu: usize) -> Option<Target> {
    let machine = fleet.gpus[gpu].machine;
    let frame = fleet.frame(machine)?;
    let gpu = frame.gpus.get(gpu - fleet.machines[machine].gpus.start)?;
    let target = Target::from_gpu(gpu, &frame.driver);
    Some(Target { uuid: None, index: None, memory_free_bytes: None, ..target })
}
