//! What an output must hold.

use warpscope_kernels::gpu::Element;

/// Rows of an output in fp64: all of them, or as many as the time allows, spread from the first to the last.
pub(super) struct Wanted {
    rows: usize,
    width: usize,
    looked_at: Vec<(usize, Vec<f64>)>,
}

impl Wanted {
    /// `row` gives one row; at most so many are asked for, and never less than two.
    pub(super) fn rows(
        rows: usize,
        width: usize,
        most: usize,
        row: impl Fn(usize) -> Vec<f64>,
    ) -> Self {
        let count = rows.min(most.max(2));
        let place = |at: usize| if count < 2 { 0 } else { at * (rows - 1) / (count - 1) };
        let looked_at = (0..count).map(|at| (place(at), row(place(at)))).collect();
        Self { rows, width, looked_at }
    }

    /// Numbers of the output.
    pub(super) fn len(&self) -> usize {
        self.rows * self.width
    }

    /// ‖out − reference‖ / ‖reference‖ over the rows looked at. NaN where any number of the output is not finite: then the kernel left
    /// something out, or overflowed.
    pub(super) fn error(&self, element: Element, bytes: &[u8]) -> f64 {
        let got = element.values(bytes);
        if got.len() != self.len() || got.iter().any(|value| !value.is_finite()) {
            return f64::NAN;
        }
        let pairs = self.looked_at.iter().flat_map(|(row, wanted)| {
            wanted.iter().zip(&got[row * self.width..(row + 1) * self.width])
        });
        let (distance, size) = pairs.fold((0.0, 0.0), |(distance, size), (wanted, got)| {
            (distance + (got - wanted).powi(2), size + wanted.powi(2))
        });
        if distance == 0.0 { 0.0 } else { (distance / size).sqrt() }
    }

    /// How much of it is compared, `4/1000` rows; nothing where all is.
    pub(super) fn compared(&self) -> Option<String> {
        let looked_at = self.looked_at.len();
        (looked_at < self.rows).then(|| format!("{looked_at}/{}", self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn a_wrong_row_a_missing_one_and_too_few_numbers_are_seen() {
        let wanted = Wanted::rows(3, 2, 9, |row| vec![row as f64 + 1.0, 0.0]);
        let good = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        assert_eq!(wanted.error(Element::F32, &bytes(&good)), 0.0);
        let mut wrong = good;
        wrong[3] = 1.0;
        // By hand: a distance of 1 against a norm of √14.
        let error = wanted.error(Element::F32, &bytes(&wrong));
        assert!((error - 1.0 / 14.0_f64.sqrt()).abs() < 1e-12);
        wrong[5] = f32::NAN;
        assert!(wanted.error(Element::F32, &bytes(&wrong)).is_nan());
        assert!(wanted.error(Element::F32, &bytes(&good[1..])).is_nan());
        assert_eq!(wanted.compared(), None);
    }

    #[test]
    fn rows_are_drawn_from_the_first_to_the_last() {
        let wanted = Wanted::rows(1000, 1, 4, |row| vec![row as f64]);
        let rows: Vec<usize> = wanted.looked_at.iter().map(|row| row.0).collect();
        assert_eq!(rows, [0, 333, 666, 999]);
        assert_eq!(wanted.compared().as_deref(), Some("4/1000"));
        assert_eq!(Wanted::rows(1, 1, 0, |_| vec![0.0]).len(), 1);
    }
}
