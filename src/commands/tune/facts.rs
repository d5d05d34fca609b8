//! Numbers of one candidate, and the roof they are held against.

use crate::runs::compare::Series;
use crate::tuner::{Amount, ParsedOutput, Problem, State};

/// What the machine can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Roof {
    /// Threads of the CPU it was measured on; none of a GPU.
    pub(crate) threads: Option<usize>,
    pub(crate) read_bytes_per_s: Option<f64>,
    pub(crate) flop_per_s: Option<f64>,
}

impl Roof {
    /// The one that was measured beside a kernel of a GPU, in its own number format.
    fn said(said: &ParsedOutput) -> Option<Self> {
        let (read_bytes_per_s, flop_per_s) = (said.roof_bytes_per_s, said.roof_flop_per_s);
        let found = read_bytes_per_s.is_some() || flop_per_s.is_some();
        found.then_some(Self { threads: None, read_bytes_per_s, flop_per_s })
    }

    /// The time below which the roof does not let it come, as a share of the time it took. Arithmetic on a CPU counts in fp32 only, which is
    /// what was measured.
    pub(crate) fn share(&self, amount: Amount, dtype: Option<&str>, median_ns: f64) -> Option<f64> {
        let is_measured = self.threads.is_none() || dtype.is_none_or(|dtype| dtype == "fp32");
        let flops = amount.flops.filter(|_| is_measured).zip(self.flop_per_s);
        let bytes = amount.bytes.zip(self.read_bytes_per_s);
        let times = [flops, bytes].into_iter().flatten().map(|(amount, rate)| amount / rate);
        let least = times.filter(|time| time.is_finite()).reduce(f64::max)?;
        Some(least * 1e9 / median_ns)
    }

    /// What it is, in words.
    pub(crate) fn words(&self) -> String {
        let giga = |rate: Option<f64>| rate.unwrap_or_default() / 1e9;
        let threads = self.threads.unwrap_or_default();
        format!(
            "roof: {:.1} GB/s read, {:.0} GFLOP/s fp32, measured on {threads} thread{}",
            giga(self.read_bytes_per_s),
            giga(self.flop_per_s),
            if threads == 1 { "" } else { "s" }
        )
    }
}

/// Numbers of one candidate.
pub(crate) struct Facts {
    pub(crate) median_ns: Option<f64>,
    pub(crate) interval_ns: Option<(f64, f64)>,
    pub(crate) change: Option<f64>,
    pub(crate) against_best: Option<f64>,
    pub(crate) error: Option<f64>,
    pub(crate) roof_share: Option<f64>,
    /// The vendor's time as a share of this one: above 1 it is slower.
    pub(crate) vendor_share: Option<f64>,
}

impl Facts {
    /// What is known by now.
    pub(crate) fn of(problem: &Problem, candidate: usize, roof: Option<&Roof>) -> Self {
        let trial = &problem.trials[candidate];
        let median_ns = trial.quartiles().map(|all| all.median);
        let best = problem.best().and_then(|best| problem.ratio(best));
        let dtype = problem.key.dtype.as_deref();
        let said = &trial.said;
        let own = Roof::said(said);
        let share =
            |median| own.as_ref().or(roof)?.share(problem.amount_of(candidate), dtype, median);
        let vendor = Series::new(said.vendor_times.iter().copied()).median();
        let is_wrong = matches!(trial.state, State::Invalid(_));
        Self {
            median_ns,
            interval_ns: trial.median_interval(),
            change: trial.ratio().filter(|_| !is_wrong).map(|ratio| ratio - 1.0),
            against_best: problem.ratio(candidate).zip(best).map(|(own, best)| own / best - 1.0),
            error: trial.said.error.filter(|_| !is_wrong),
            roof_share: median_ns.and_then(share),
            vendor_share: vendor.zip(median_ns).map(|(vendor, own)| vendor / own),
        }
    }
}
