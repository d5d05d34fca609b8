//! The final: candidates that are close to the best, timed against each other.
//!
//! Each was timed beside the baseline, at another time than its rivals, and the best of many is best by luck too. So the leaders take turns once
//! more, and what they were before counts no longer among them.

use super::{Halt, Interrupted, Search};
use crate::runs::compare::{Pair, Series, judge};

/// Most leaders.
const LEADERS: usize = 4;
/// A candidate is a leader within this share of the best.
const NEAR: f64 = 0.05;

impl Search<'_> {
    /// Times the leaders of a problem in turn and ranks them by that.
    pub(super) fn decide(&mut self, problem: usize) -> Result<(), Interrupted> {
        let leaders = self.leaders(problem);
        if leaders.len() < 2 || self.spec.objective.is_some() {
            return Ok(());
        }
        let (mut times, mut ratios) =
            (vec![Vec::new(); leaders.len()], vec![Vec::new(); leaders.len()]);
        for round in 0..self.spec.blocks {
            let mut medians = vec![None; leaders.len()];
            for place in 0..leaders.len() {
                // Who begins changes, so that a steady drift cancels.
                let at = (place + round) % leaders.len();
                let said = match self.take(problem, leaders[at], self.spec.block_samples()) {
                    Ok(said) => said,
                    Err(Halt::Interrupted) => return Err(Interrupted),
                    Err(Halt::Invalid(invalid)) => {
                        let why = format!("no final between the best: {}", invalid.why);
                        self.board.problems[problem].note = Some(why);
                        return Ok(());
                    }
                };
                medians[at] = Series::new(said.times.iter().copied()).median();
                times[at].extend(said.times);
            }
            for (ratios, median) in ratios.iter_mut().zip(&medians) {
                ratios.extend(median.zip(medians[0]).map(|(own, first)| own / first));
            }
        }
        self.rank(problem, &leaders, times, ratios);
        Ok(())
    }

    /// The best and those near it, the best first.
    fn leaders(&self, problem: usize) -> Vec<usize> {
        let mut all = self.ratios(problem);
        let baseline = self.board.problems[problem].baseline;
        all.extend(
            baseline.filter(|one| all.iter().all(|known| known.0 != *one)).map(|one| (one, 1.0)),
        );
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
        let best = all.first().map_or(f64::MAX, |first| first.1);
        let near = all.into_iter().filter(|one| one.1 <= best * (1.0 + NEAR));
        near.map(|one| one.0).take(LEADERS).collect()
    }

    fn rank(
        &mut self,
        problem: usize,
        leaders: &[usize],
        times: Vec<Vec<f64>>,
        ratios: Vec<Vec<f64>>,
    ) {
        let limits = (self.limits)(&self.board.problems[problem].key);
        let problem = &mut self.board.problems[problem];
        let Some(first) = leaders.first().and_then(|first| problem.ratio(*first)) else { return };
        let ratios = ratios.into_iter().map(|all| Series::new(all).median());
        let mut ranked: Vec<_> = leaders
            .iter()
            .zip(ratios)
            .zip(times)
            .filter_map(|((leader, ratio), times)| Some((*leader, first * ratio?, times)))
            .collect();
        ranked.sort_by(|one, other| one.1.total_cmp(&other.1));
        problem.finals = ranked.iter().map(|one| (one.0, one.1)).collect();
        if let [winner, second, ..] = &ranked[..] {
            let series = |times: &[f64]| Series::new(times.iter().copied());
            let pair = Pair { times: (series(&second.2), series(&winner.2)), cycles: None };
            problem.runner_up = Some((second.0, judge(&pair, &limits)));
        }
        self.observer.changed(&self.board);
    }
}
