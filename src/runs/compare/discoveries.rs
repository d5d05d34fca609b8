//! Many comparisons at once: among those called different, the share that is not is held.

/// Probabilities adjusted for the false discovery rate (Benjamini and Hochberg, 1995), in the order given. One kernel of a thousand that
/// is twice as slow is found; a method that holds the chance of any false call at all, as Holm's does, would need a hundred times the samples.
pub fn false_discoveries(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut most: f64 = 1.0;
    for (place, at) in order.into_iter().enumerate() {
        let rank = p.len() - place;
        most = most.min(p.len() as f64 / rank as f64 * p[at]);
        adjusted[at] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::false_discoveries;

    /// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "BH") → 0.02 0.04 0.04 0.02
    #[test]
    fn values_are_those_of_r() {
        let adjusted = false_discoveries(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in adjusted.iter().zip([0.02, 0.04, 0.04, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(false_discoveries(&[]), Vec::<f64>::new());
        assert_eq!(false_discoveries(&[0.9, 0.8]), [0.9, 0.9]);
    }
}
