//! Median and median absolute deviation: one preempted step must not move a figure.

use std::collections::VecDeque;

/// A figure and how far its samples lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Median distance from the median.
    pub mad: f64,
}

impl Spread {
    /// Of finite samples; `None` without any.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut samples: Vec<f64> = samples.into_iter().filter(|s| s.is_finite()).collect();
        let median = median(&mut samples)?;
        samples.iter_mut().for_each(|s| *s = (*s - median).abs());
        Some(Self { median, mad: self::median(&mut samples)? })
    }
}

/// What the median lies in with 95% confidence, whatever the distribution: order statistics, whose ranks follow from tossing a coin for each
/// sample. Fewer than six samples say no more than their range.
pub(crate) fn median_interval(mut samples: Vec<f64>) -> Option<(f64, f64)> {
    samples.retain(|sample| sample.is_finite());
    samples.sort_by(f64::total_cmp);
    let count = samples.len() as f64;
    let rank = ((count / 2.0 - 0.98 * count.sqrt()).round() as usize).saturating_sub(1);
    Some((*samples.get(rank)?, *samples.get(samples.len() - 1 - rank)?))
}

pub(super) fn median(samples: &mut [f64]) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    let upper = *samples.get(samples.len() / 2)?;
    let lower = samples[(samples.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

/// The newest samples of one measurement.
#[derive(Clone, Debug)]
pub struct Window {
    samples: VecDeque<f64>,
    size: usize,
}

impl Window {
    /// A window over so many samples.
    pub fn new(size: usize) -> Self {
        Self { samples: VecDeque::new(), size: size.max(1) }
    }

    /// Adds a sample; the oldest leaves a full window.
    pub fn push(&mut self, sample: f64) {
        if self.samples.len() == self.size {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// Median and deviation of the samples; `None` without any.
    pub fn spread(&self) -> Option<Spread> {
        Spread::of(self.samples.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_sample_moves_nothing() {
        let spread = Spread::of([10.0, 11.0, 9.0, 10.0, 5000.0]);
        assert_eq!(spread, Some(Spread { median: 10.0, mad: 1.0 }));
    }

    #[test]
    fn even_counts_meet_in_the_middle_and_nothing_gives_nothing() {
        assert_eq!(Spread::of([1.0, 4.0]), Some(Spread { median: 2.5, mad: 1.5 }));
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([f64::NAN, f64::INFINITY]), None);
    }

    /// Tables of the sign test: of 12 samples the third and the tenth (96.1%), of 100 the 40th and the 61st (96.5%).
    #[test]
    fn an_interval_is_that_of_the_sign_test() {
        let upto = |count: u32| (1..=count).map(f64::from).collect::<Vec<_>>();
        for (count, low, high) in [(1, 1.0, 1.0), (5, 1.0, 5.0), (12, 3.0, 10.0), (100, 40.0, 61.0)]
        {
            assert_eq!(median_interval(upto(count)), Some((low, high)), "{count}");
        }
        assert_eq!(median_interval(Vec::new()), None);
    }

    #[test]
    fn windows_forget_the_oldest() {
        let mut window = Window::new(2);
        assert_eq!(window.spread(), None);
        [1.0, 2.0, 4.0].into_iter().for_each(|s| window.push(s));
        assert_eq!(window.spread(), Some(Spread { median: 3.0, mad: 1.0 }));
    }
}
