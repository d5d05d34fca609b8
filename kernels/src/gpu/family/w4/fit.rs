//! Nibbles, scale and zero point for a group of weights: the best of a few, so that weights that can be stored exactly are.

use half::f16;

/// A group in four bits: a code stands for `(code − zero) · scale`.
pub(super) struct Fitted {
    pub codes: Vec<u8>,
    pub scale: f16,
    pub zero: u8,
}

impl Fitted {
    fn new(group: &[f32], scale: f32, zero: u8) -> Self {
        let scale = f16::from_f32(scale);
        let step = if scale == f16::ZERO { 1.0 } else { scale.to_f32() };
        let code = |w: &f32| (w / step + f32::from(zero)).round_ties_even().clamp(0.0, 15.0) as u8;
        Self { codes: group.iter().map(code).collect(), scale, zero }
    }

    /// What is stored.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let (zero, scale) = (f64::from(self.zero), self.scale.to_f64());
        self.codes.iter().map(move |code| (f64::from(*code) - zero) * scale)
    }

    fn error(&self, group: &[f32]) -> f64 {
        self.values().zip(group).map(|(stored, w)| (stored - f64::from(*w)).powi(2)).sum()
    }
}

/// Codes −8 … 7 and one scale.
pub(super) fn symmetric(group: &[f32]) -> Fitted {
    let largest = group.iter().fold(0.0_f32, |largest, w| largest.max(w.abs()));
    best(group, [7.0, 8.0, 4.0].map(|top| (largest / top, 8)))
}

/// Codes 0 … 15, a scale and a zero point.
pub(super) fn asymmetric(group: &[f32]) -> Fitted {
    let most = group.iter().copied().fold(0.0_f32, f32::max);
    let least = group.iter().copied().fold(0.0_f32, f32::min);
    let scale = |zero: u8| {
        let over =
            |range: f32, codes: u8| if range == 0.0 { 0.0 } else { range / f32::from(codes) };
        over(most, 15 - zero).max(over(-least, zero))
    };
    let reached = (0..=15).map(|zero| (scale(zero), zero));
    best(group, reached.filter(|(scale, _)| scale.is_finite()))
}

/// The candidate that is nearest to the group; the first of equals.
fn best(group: &[f32], candidates: impl IntoIterator<Item = (f32, u8)>) -> Fitted {
    let fitted = candidates.into_iter().map(|(scale, zero)| Fitted::new(group, scale, zero));
    let nearest = fitted.min_by(|a, b| a.error(group).total_cmp(&b.error(group)));
    nearest.unwrap_or_else(|| Fitted::new(group, 0.0, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_four_bits_is_stored_exactly() {
        let full: Vec<f32> = (0..16).map(|q| (q as f32 - 8.0) * 0.25).collect();
        let shifted: Vec<f32> = (0..16).map(|q| (q as f32 - 3.0) * 2.0).collect();
        let constant = vec![4096.0; 16];
        let negative = vec![-0.5; 16];
        let exact = |fitted: Fitted, want: &[f32]| {
            assert!(fitted.values().eq(want.iter().copied().map(f64::from)), "{want:?}");
        };
        for group in [&full, &constant, &negative, &vec![0.0; 16]] {
            exact(symmetric(group), group);
            exact(asymmetric(group), group);
        }
        exact(asymmetric(&shifted), &shifted);
    }

    /// Rounding to the nearest of 16 evenly spaced numbers errs by at most half a step.
    #[test]
    fn other_numbers_are_off_by_half_a_step_at_most() {
        let group: Vec<f32> = (0..128).map(|i| (i as f32 * 0.7).sin() * 3.0 + 1.0).collect();
        let fitted = asymmetric(&group);
        let step = fitted.scale.to_f64();
        assert!(step < 6.2 / 15.0 * 1.1);
        for (stored, w) in fitted.values().zip(&group) {
            assert!((stored - f64::from(*w)).abs() <= step * 0.51, "{stored} {w}");
        }
    }
}
