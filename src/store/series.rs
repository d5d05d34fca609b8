/// Values kept per series: ten minutes at one a second, more than the widest graph draws.
pub const CAPACITY: usize = 600;

/// How many more there may be before the oldest are moved out, all at once.
const SLACK: usize = 60;

/// The newest [`CAPACITY`] values of something, gaps included, as one slice.
#[derive(Clone, Debug, Default)]
pub struct Series {
    values: Vec<Option<f32>>,
}

impl Series {
    /// Appends the newest value.
    pub fn push(&mut self, value: Option<f32>) {
        if self.values.len() == CAPACITY + SLACK {
            self.values.drain(..=SLACK);
        }
        if self.values.capacity() == 0 {
            self.values.reserve_exact(CAPACITY + SLACK);
        }
        self.values.push(value.filter(|value| value.is_finite()));
    }

    /// Forgets the newest values, so many. Those that are kept no more do not come back in their place.
    pub fn forget(&mut self, newest: usize) {
        self.values.drain(..self.values.len().saturating_sub(CAPACITY));
        self.values.truncate(self.values.len().saturating_sub(newest));
    }

    /// Oldest first.
    pub fn values(&self) -> &[Option<f32>] {
        &self.values[self.values.len().saturating_sub(CAPACITY)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_newest_and_stays_bounded() {
        let mut series = Series::default();
        for n in 0..10_000_u16 {
            series.push(Some(f32::from(n)));
            let kept = series.values();
            assert_eq!(kept.last(), Some(&Some(f32::from(n))));
            assert_eq!(kept.len(), usize::from(n + 1).min(CAPACITY));
        }
        assert_eq!(series.values()[0], Some(9400.0));
        assert_eq!(series.values.capacity(), CAPACITY + SLACK);
    }

    #[test]
    fn what_is_forgotten_is_not_replaced_by_older_values() {
        for (newest, left) in [(10, CAPACITY - 10), (CAPACITY, 0)] {
            let mut series = Series::default();
            (0..CAPACITY + SLACK).for_each(|_| series.push(Some(1.0)));
            series.forget(newest);
            assert_eq!(series.values().len(), left);
        }
    }

    #[test]
    fn a_number_that_is_none_is_a_gap() {
        let mut series = Series::default();
        series.push(Some(f32::NAN));
        series.push(Some(f32::INFINITY));
        assert_eq!(series.values(), [None, None]);
    }
}
