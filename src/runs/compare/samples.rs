//! Samples of one kernel in one run.

use serde::{Deserialize, Serialize};

/// Samples sorted once; everything that cannot be a duration left out and counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    sorted: Vec<f64>,
    /// Samples that were not positive finite numbers.
    pub refused: usize,
}

/// Where the middle half of the samples lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// A quarter lies below.
    pub lower: f64,
    /// Half lies below.
    pub median: f64,
    /// Three quarters lie below.
    pub upper: f64,
}

impl Series {
    /// Reads samples in any order and unit.
    pub fn new(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        let all = sorted.len();
        sorted.retain(|sample| sample.is_finite() && *sample > 0.0);
        let refused = all - sorted.len();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { sorted, refused }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is no sample.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The samples, least first.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The median; `None` without samples.
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// Lower quartile, median and upper quartile.
    pub fn quartiles(&self) -> Option<Quartiles> {
        Some(Quartiles {
            lower: self.quantile(0.25)?,
            median: self.median()?,
            upper: self.quantile(0.75)?,
        })
    }

    /// The value below which a share of the samples lies, between neighbours in proportion.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        quantile(&self.sorted, share)
    }
}

/// As [`Series::quantile`], of values already sorted.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = share.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    Some(low + (high - low) * (at - below as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// numpy.percentile([7, 1, 3, 2], [25, 50, 75]) → 1.75, 2.5, 4.0
    #[test]
    fn quartiles_are_those_of_numpy() {
        let series = Series::new([7.0, 1.0, 3.0, 2.0]);
        let wanted = Quartiles { lower: 1.75, median: 2.5, upper: 4.0 };
        assert_eq!(series.quartiles(), Some(wanted));
    }

    #[test]
    fn what_is_no_duration_is_left_out_and_counted() {
        let series = Series::new([f64::NAN, -1.0, 0.0, f64::INFINITY, 5.0]);
        assert_eq!((series.sorted(), series.refused), (&[5.0][..], 4));
        assert_eq!(Series::new([]).quartiles(), None);
    }
}
