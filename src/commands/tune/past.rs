//! Iterations of a search that goes on with every save.

use warpscope_probes::text::printable;

use crate::runs::compare::{Limits, Pair, Series, judge};
use crate::runs::samples::Key;

/// The best of each problem in one iteration.
pub(super) struct Past {
    pub(super) iteration: usize,
    pub(super) bests: Vec<Option<(Key, String, Series)>>,
}

impl Past {
    /// Work per second over all problems, up to a factor; nothing where one has no best.
    pub(super) fn throughput(&self) -> Option<f64> {
        let logs = self.bests.iter().map(|best| Some(best.as_ref()?.2.median()?.ln()));
        let logs: Option<Vec<f64>> = logs.collect();
        let logs = logs.filter(|logs| !logs.is_empty())?;
        Some((-logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }
}

/// Whether the best of each problem changed since the last iteration that had one. The two were not timed in turn, and it says so.
pub(super) fn since(past: &[Past], now: &Past) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, name, series) in now.bests.iter().flatten() {
        let good = past.iter().rev().find_map(|past| {
            let mut bests = past.bests.iter().flatten();
            Some((past.iteration, bests.find(|before| before.0 == *key)?))
        });
        let Some((iteration, (_, before_name, before))) = good else { continue };
        let pair = Pair { times: (before.clone(), series.clone()), cycles: None };
        let judged = judge(&pair, &Limits::default());
        let best = if before_name == name { String::new() } else { format!(", now {name}") };
        lines.push(printable(&format!(
            "{key}: since iteration {iteration} {}{best}: {} (not timed in turn)",
            judged.call, judged.reason
        )));
    }
    lines
}

/// One letter per value from zero to the highest; a value that is missing leaves a gap.
pub(super) fn spark(values: &[Option<f64>], ascii: bool) -> String {
    let steps = if ascii { ".:-=+*%#" } else { "▁▂▃▄▅▆▇█" };
    let steps: Vec<char> = steps.chars().collect();
    let top = values.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
    let letter = |value: &Option<f64>| {
        value.map_or(' ', |value| steps[((value / top * 7.0).round() as usize).min(7)])
    };
    values.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_drawn_from_zero_with_gaps() {
        let values = [Some(1.0), None, Some(0.5), Some(0.0)];
        assert_eq!(spark(&values, false), "█ ▅▁");
        assert_eq!(spark(&values, true), "# +.");
        assert_eq!(spark(&[], true), "");
    }

    #[test]
    fn what_changed_since_the_last_save_is_judged_and_not_guessed() {
        let past = |times: &[f64], name: &str| Past {
            iteration: 3,
            bests: vec![Some((
                Key::default(),
                name.to_owned(),
                Series::new(times.iter().copied()),
            ))],
        };
        let around =
            |center: f64| -> Vec<f64> { (0..30).map(|i| center + f64::from(i) / 100.0).collect() };
        let lines = since(&[past(&around(100.0), "a")], &past(&around(80.0), "b"));
        assert!(lines[0].contains("since iteration 3 FASTER, now b"), "{lines:?}");
        let broken = Past { iteration: 4, bests: vec![None] };
        let good = [past(&around(100.0), "a"), broken];
        let lines = since(&good, &past(&around(100.0), "a"));
        assert!(lines[0].contains("since iteration 3 SAME: "), "{lines:?}");
        let lines = since(&[past(&[1.0], "a")], &past(&[2.0], "a"));
        assert!(lines[0].contains("AMBIGUOUS: "), "{lines:?}");
    }
}
