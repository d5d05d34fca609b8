//! The final: candidates that are close to the best, timed against each other.
//!
//! Each was timed beside the baseline, at another time than its rivals, and the best of many is best by luck too. So the leaders take turns once
//! more, and what they were before counts no longer among them.

use super::{Halt, Interrupted, Search};
use crate::runs::compare::{Limits, Pair, Series, judge};
use crate::tuner::output::ParsedOutput;

/// Most leaders.
const LEADERS: usize = 4;
/// A candidate is a leader within this share of the best.
const NEAR: f64 = 0.05;

/// What the leaders said in the final, and their medians as shares of one of them, round by round.
struct Rounds {
    said: Vec<ParsedOutput>,
    ratios: Vec<Vec<f64>>,
}

impl Search<'_> {
    /// Times the leaders of a problem in turn and ranks them by that.
    pub(super) fn decide(&mut self, problem: usize) -> Result<(), Interrupted> {
        let leaders = self.leaders(problem);
        if leaders.len() < 2 || self.spec.objective.is_some() {
            return Ok(());
        }
        let count = leaders.len();
        // Beside the baseline itself nothing has to be taken from the search.
        let is_baseline = |leader: &usize| self.board.problems[problem].baseline == Some(*leader);
        let anchor = leaders.iter().position(is_baseline).unwrap_or(0);
        let mut rounds =
            Rounds { said: vec![ParsedOutput::default(); count], ratios: vec![Vec::new(); count] };
        let ended = self.play(problem, &leaders, anchor, &mut rounds);
        for (leader, said) in leaders.iter().zip(&rounds.said) {
            self.observer.timed_again(&self.board, problem, *leader, said);
        }
        match ended {
            Ok(()) => self.rank(problem, &leaders, anchor, rounds),
            Err(Halt::Interrupted) => return Err(Interrupted),
            Err(Halt::Invalid(invalid)) => {
                let why = format!("no final between the best: {}", invalid.why);
                self.board.problems[problem].note = Some(why);
            }
        }
        Ok(())
    }

    fn play(
        &mut self,
        problem: usize,
        leaders: &[usize],
        anchor: usize,
        rounds: &mut Rounds,
    ) -> Result<(), Halt> {
        for round in 0..self.spec.blocks {
            let mut medians = vec![None; leaders.len()];
            for place in 0..leaders.len() {
                // Who begins changes, so that a steady drift cancels.
                let at = (place + round) % leaders.len();
                let said = self.take(problem, leaders[at], self.spec.block_samples())?;
                medians[at] = Series::new(said.times.iter().copied()).median();
                rounds.said[at].join(said);
            }
            for (ratios, median) in rounds.ratios.iter_mut().zip(&medians) {
                ratios.extend(median.zip(medians[anchor]).map(|(own, anchor)| own / anchor));
            }
        }
        Ok(())
    }

    /// The best and those near it, the best first.
    fn leaders(&self, problem: usize) -> Vec<usize> {
        let mut all = self.ratios(problem);
        all.sort_by(|one, other| one.1.total_cmp(&other.1));
        let best = all.first().map_or(f64::MAX, |first| first.1);
        let near = all.into_iter().filter(|one| one.1 <= best * (1.0 + NEAR));
        near.map(|one| one.0).take(LEADERS).collect()
    }

    /// The anchor keeps what it is against the baseline, and the others follow from it.
    fn rank(&mut self, problem: usize, leaders: &[usize], anchor: usize, rounds: Rounds) {
        let problem = &mut self.board.problems[problem];
        let Some(known) = problem.ratio(leaders[anchor]) else { return };
        let ratios = rounds.ratios.into_iter().map(|all| Series::new(all).median());
        let mut ranked: Vec<_> = leaders
            .iter()
            .zip(ratios)
            .zip(rounds.said)
            .filter_map(|((leader, ratio), said)| Some((*leader, known * ratio?, said.times)))
            .collect();
        ranked.sort_by(|one, other| one.1.total_cmp(&other.1));
        problem.finals = ranked.iter().map(|one| (one.0, one.1)).collect();
        if let [winner, second, ..] = &ranked[..] {
            let series = |times: &[f64]| Series::new(times.iter().copied());
            let pair = Pair { times: (series(&second.2), series(&winner.2)), cycles: None };
            problem.runner_up = Some((second.0, judge(&pair, &Limits::default())));
        }
        self.observer.changed(&self.board);
    }
}
