//! What is published at the moment: the newest frame, and verdicts counted for its GPUs.

use std::sync::{Arc, Mutex, PoisonError};

use warpscope_probes::Frame;
use warpscope_probes::rules::RuleBase;

use crate::engine::{Assumptions, Target, matrix};
use crate::io::metrics::{Extras, Form, exposition};

/// What is published, renewed with every frame.
#[derive(Debug, Default)]
pub(super) struct Published {
    frame: Frame,
    extras: Extras,
    /// The kinds of GPUs that verdicts were counted for.
    kinds: Vec<Target>,
}

/// What every request reads.
pub(super) type Shared = Arc<Mutex<Published>>;

fn lock(shared: &Shared) -> std::sync::MutexGuard<'_, Published> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a frame; verdicts are counted anew only when the GPUs are others.
pub(super) fn renew(shared: &Shared, frame: &Frame, base: &RuleBase) {
    let kind = |gpu| {
        let target = Target::from_gpu(gpu, &frame.driver);
        Target { memory_free_bytes: None, uuid: None, ..target }
    };
    let kinds: Vec<Target> = frame.gpus.iter().map(kind).collect();
    let counted = (lock(shared).kinds != kinds).then(|| counts(base, &kinds));
    let mut published = lock(shared);
    published.frame = frame.clone();
    if let Some(verdicts) = counted {
        (published.kinds, published.extras.verdicts) = (kinds, verdicts);
    }
}

fn counts(base: &RuleBase, kinds: &[Target]) -> Vec<Vec<(&'static str, usize)>> {
    let matrix = matrix(base, kinds, &Assumptions::default());
    let of = |at: usize| {
        let mut counts: Vec<(&'static str, usize)> = Vec::new();
        for cell in matrix.cells.iter().filter_map(|cells| cells.get(at)) {
            let id = cell.outcome.id();
            match counts.iter_mut().find(|one| one.0 == id) {
                Some(one) => one.1 += 1,
                None => counts.push((id, 1)),
            }
        }
        counts
    };
    (0..kinds.len()).map(of).collect()
}

/// The metrics as text.
pub(super) fn page(shared: &Shared, form: Form) -> String {
    let published = lock(shared);
    exposition(&published.frame, &published.extras, form)
}

/// Tells from now on who holds how much, or not.
pub(super) fn count_users(shared: &Shared, on: bool) {
    lock(shared).extras.users = on;
}
