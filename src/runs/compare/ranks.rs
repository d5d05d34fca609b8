//! The rank-sum test of Mann and Whitney: whether one series tends to larger values than the other, whatever their distribution.

use statrs::distribution::{ContinuousCDF, Normal};

use super::samples::Series;

/// Exact counting is used up to this product of the two sizes, and only without ties.
const EXACT_PRODUCT: usize = 400;

/// Result of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankSum {
    /// Number of pairs in which the first series is the larger, ties counting half.
    pub u: f64,
    /// Two-sided probability of so uneven a count if both came from one distribution.
    pub p: f64,
}

/// Tests two series. `None` when one of them is empty.
pub fn rank_sum(a: &Series, b: &Series) -> Option<RankSum> {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 {
        return None;
    }
    let ranked = Ranked::of(a.sorted(), b.sorted());
    let u = ranked.sum_of_a - (n * (n + 1)) as f64 / 2.0;
    let larger = u.max((n * m) as f64 - u);
    let exact = ranked.ties == 0.0 && n * m <= EXACT_PRODUCT;
    let tail =
        if exact { exact_tail(n, m, larger) } else { normal_tail(n, m, larger, ranked.ties) };
    Some(RankSum { u, p: (2.0 * tail).clamp(0.0, 1.0) })
}

struct Ranked {
    sum_of_a: f64,
    /// Sum of t³ − t over groups of t equal values.
    ties: f64,
}

impl Ranked {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let (mut i, mut j) = (0, 0);
        let mut ranked = Self { sum_of_a: 0.0, ties: 0.0 };
        while i < a.len() || j < b.len() {
            let before = i + j;
            let value = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.min(*y),
                (Some(x), None) | (None, Some(x)) => *x,
                (None, None) => break,
            };
            let from_a = a[i..].iter().take_while(|x| **x == value).count();
            let from_b = b[j..].iter().take_while(|x| **x == value).count();
            let equal = (from_a + from_b) as f64;
            ranked.sum_of_a += from_a as f64 * (before as f64 + (equal + 1.0) / 2.0);
            ranked.ties += equal.powi(3) - equal;
            (i, j) = (i + from_a, j + from_b);
        }
        ranked
    }
}

/// Probability of a count of at least `u`, by the normal approximation with correction for ties and continuity.
fn normal_tail(n: usize, m: usize, u: f64, ties: f64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 0.5;
    }
    Normal::standard().sf((u - n * m / 2.0 - 0.5) / variance.sqrt())
}

/// Probability of a count of at least `u`, by counting arrangements.
fn exact_tail(n: usize, m: usize, u: f64) -> f64 {
    // arrangements[k]: ways in which k of the first's pairs win, built up one element of the first series at a time.
    let most = n * m;
    let mut arrangements = vec![0.0; most + 1];
    arrangements[0] = 1.0;
    for element in 1..=n {
        // Multiply by (1 - x^(m + element)) and divide by (1 - x^element): the Gaussian binomial coefficient.
        for k in (m + element..=most).rev() {
            arrangements[k] -= arrangements[k - m - element];
        }
        for k in element..=most {
            arrangements[k] += arrangements[k - element];
        }
    }
    let total: f64 = arrangements.iter().sum();
    let at_least: f64 = arrangements[u.ceil() as usize..].iter().sum();
    at_least / total
}
