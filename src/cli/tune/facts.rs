//! Numbers of one candidate, and the roof they are held against.

use crate::bench::tune::{Amount, Problem, State};

/// What the CPU can do on so many threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roof {
    pub(super) threads: usize,
    pub(super) read_bytes_per_s: f64,
    pub(super) fp32_flop_per_s: f64,
}

impl Roof {
    /// The time below which the roof does not let it come, as a share of the time it took. Arithmetic counts in fp32 only, which is what was
    /// measured.
    pub(super) fn share(&self, amount: Amount, dtype: Option<&str>, median_ns: f64) -> Option<f64> {
        let flops = amount.flops.filter(|_| dtype.is_none_or(|dtype| dtype == "fp32"));
        let times = [
            flops.map(|flops| flops / self.fp32_flop_per_s),
            amount.bytes.map(|bytes| bytes / self.read_bytes_per_s),
        ];
        let least = times.into_iter().flatten().filter(|time| time.is_finite()).reduce(f64::max)?;
        Some(least * 1e9 / median_ns)
    }

    /// What it is, in words.
    pub(super) fn words(&self) -> String {
        format!(
            "roof: {:.1} GB/s read, {:.0} GFLOP/s fp32, measured on {} thread{}",
            self.read_bytes_per_s / 1e9,
            self.fp32_flop_per_s / 1e9,
            self.threads,
            if self.threads == 1 { "" } else { "s" }
        )
    }
}

/// Numbers of one candidate.
pub(super) struct Facts {
    pub(super) median_ns: Option<f64>,
    pub(super) interval_ns: Option<(f64, f64)>,
    pub(super) change: Option<f64>,
    pub(super) against_best: Option<f64>,
    pub(super) error: Option<f64>,
    pub(super) roof_share: Option<f64>,
}

impl Facts {
    /// What is known by now.
    pub(super) fn of(problem: &Problem, candidate: usize, roof: Option<&Roof>) -> Self {
        let trial = &problem.trials[candidate];
        let median_ns = trial.quartiles().map(|all| all.median);
        let best = problem.best().and_then(|best| problem.ratio(best));
        let dtype = problem.key.dtype.as_deref();
        let share = |median| roof?.share(problem.amount_of(candidate), dtype, median);
        let is_wrong = matches!(trial.state, State::Invalid(_));
        Self {
            median_ns,
            interval_ns: trial.median_interval(),
            change: trial.ratio().filter(|_| !is_wrong).map(|ratio| ratio - 1.0),
            against_best: problem.ratio(candidate).zip(best).map(|(own, best)| own / best - 1.0),
            error: trial.said.error.filter(|_| !is_wrong),
            roof_share: median_ns.and_then(share),
        }
    }
}
