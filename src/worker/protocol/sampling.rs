//! What is told about samples besides their times.

use serde::{Deserialize, Serialize};

use crate::runs::statistics::Spread;

/// Share of the best clock below which a sample is marked.
const LOW: f64 = 0.95;

/// Clocks of the multiprocessors during samples, as the device counted them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleClocks {
    /// Mean clock of each sample, MHz; null where the device did not tell. Empty where none was read.
    pub mhz: Vec<Option<f64>>,
    /// Highest clock of any sample of this run until then, MHz.
    pub best_mhz: Option<f64>,
    /// Samples whose clock was below 95% of that, by their places.
    pub low: Vec<usize>,
}

impl SampleClocks {
    /// The clocks of samples, and the best of the run so far, which they may raise.
    pub fn of(mhz: Vec<Option<f64>>, best_mhz: &mut Option<f64>) -> Self {
        *best_mhz = mhz.iter().flatten().copied().chain(*best_mhz).reduce(f64::max);
        let mut clocks = Self { mhz, best_mhz: None, low: Vec::new() };
        clocks.mark(*best_mhz);
        clocks
    }

    /// Marks samples against the best clock of a run.
    pub fn mark(&mut self, best_mhz: Option<f64>) {
        let is_low =
            |mhz: &Option<f64>| mhz.zip(best_mhz).is_some_and(|(mhz, best)| mhz < LOW * best);
        self.best_mhz = best_mhz.filter(|_| self.mhz.iter().any(Option::is_some));
        self.low = (0..self.mhz.len()).filter(|at| is_low(&self.mhz[*at])).collect();
    }

    /// Whether no clock was asked for.
    pub fn is_empty(&self) -> bool {
        self.mhz.is_empty()
    }

    /// Median of the samples, MHz.
    pub fn median(&self) -> Option<f64> {
        Spread::of(self.mhz.iter().flatten().copied()).map(|spread| spread.median)
    }

    /// The clock of every sample; nothing where one is missing.
    pub fn complete(&self) -> Option<Vec<f64>> {
        self.mhz.iter().copied().collect()
    }

    /// How many samples are marked, in words; nothing where none is.
    pub fn words(&self) -> Option<String> {
        let best = self.best_mhz.filter(|_| !self.low.is_empty())?;
        let (low, all) = (self.low.len(), self.mhz.len());
        Some(format!("{low} of {all} samples below 95% of the best clock, {best:.0} MHz"))
    }
}

/// Why a long measurement took no more samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The noise fell below the limit.
    NoiseReached,
    /// The noise is above the limit, and more samples no longer changed it.
    NoiseSteady,
    /// Most samples.
    SampleLimit,
    /// Most time.
    TimeLimit,
}

impl StopReason {
    /// In half a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoiseReached => "noise below 0.5%",
            Self::NoiseSteady => "noise no longer falling",
            Self::SampleLimit => "sample limit",
            Self::TimeLimit => "time limit",
        }
    }
}

/// How a long measurement ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Convergence {
    /// Relative standard deviation of the samples; null of fewer than five.
    pub noise: Option<f64>,
    /// 95% interval of the median, nanoseconds.
    pub interval_ns: Option<(f64, f64)>,
    /// Why it ended.
    pub stopped_by: StopReason,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_below_95_percent_of_the_best_clock_are_marked() {
        let mut best = None;
        let mhz = vec![Some(1980.0), Some(1882.0), None, Some(1880.0), Some(345.0)];
        let clocks = SampleClocks::of(mhz, &mut best);
        assert_eq!((best, clocks.best_mhz, &clocks.low[..]), (Some(1980.0), best, &[3, 4][..]));
        let words = "2 of 5 samples below 95% of the best clock, 1980 MHz";
        assert_eq!((clocks.words().as_deref(), clocks.median()), (Some(words), Some(1881.0)));
        assert_eq!(clocks.complete(), None);
    }

    /// The best clock is one of the run, not of the measurement: all of a slow one are marked.
    #[test]
    fn an_earlier_measurement_may_have_the_best_clock() {
        let mut best = Some(1980.0);
        let clocks = SampleClocks::of(vec![Some(1410.0); 3], &mut best);
        assert_eq!((best, &clocks.low[..]), (Some(1980.0), &[0, 1, 2][..]));
    }

    #[test]
    fn without_clocks_nothing_is_said() {
        let clocks = SampleClocks::of(vec![None, None], &mut Some(1980.0));
        assert_eq!((clocks.words(), clocks.best_mhz, clocks.median()), (None, None, None));
        assert_eq!(SampleClocks::default().complete(), Some(Vec::new()));
    }
}
