//! One candidate: checked, timed in turn with the baseline, given up where it is hopeless.

use super::{End, Fault, Halt, Invalid, Job, RESAMPLES, Search};
use crate::runs::compare::{Series, ratio_of_medians};
use crate::tuner::output::ParsedOutput;

impl Search<'_> {
    /// Checks and times one candidate; the first that is right becomes the baseline.
    pub(super) fn attempt(&mut self, problem: usize, candidate: usize) -> Result<(), End> {
        for _ in 0..self.spec.warmup.max(1) {
            let said = self.run(problem, candidate, 1).map_err(End::of)?;
            if said.untimed {
                self.trial(problem, candidate).said = said;
                return Err(End::Untimed);
            }
            // What is measured once only is measured in the first run.
            self.trial(problem, candidate).said.numbers.extend(said.numbers);
        }
        let Some(baseline) = self.board.problems[problem].baseline else {
            let samples = self.spec.samples;
            self.gather(problem, candidate, samples).map_err(End::of)?;
            self.board.problems[problem].baseline = Some(candidate);
            return Ok(());
        };
        for block in 0..self.spec.blocks {
            self.pair(problem, [baseline, candidate], block % 2 == 1)?;
            self.observer.changed(&self.board);
            if block == 1
                && self.spec.blocks > 2
                && let Some(why) = self.hopeless(problem, candidate)
            {
                return Err(End::Stopped(why));
            }
        }
        Ok(())
    }

    /// One block of each side. The order turns round with every pair, so that a steady drift cancels.
    fn pair(
        &mut self,
        problem: usize,
        [baseline, candidate]: [usize; 2],
        turned: bool,
    ) -> Result<(), End> {
        let samples = self.spec.block_samples();
        let mut medians = [None; 2];
        for is_candidate in [turned, !turned] {
            let said = if is_candidate {
                self.take(problem, candidate, samples).map_err(End::of)?
            } else {
                self.take(problem, baseline, samples).map_err(End::of_baseline)?
            };
            medians[usize::from(is_candidate)] = Series::new(said.times.iter().copied()).median();
            if is_candidate {
                self.trial(problem, candidate).said.join(said);
            } else {
                self.trial(problem, candidate).beside.join(said.clone());
                self.trial(problem, baseline).said.join(said);
            }
        }
        let ratio = medians[1].zip(medians[0]).map(|(own, beside)| own / beside);
        self.trial(problem, candidate).blocks.extend(ratio);
        Ok(())
    }

    fn gather(&mut self, problem: usize, candidate: usize, samples: usize) -> Result<(), Halt> {
        let said = self.take(problem, candidate, samples)?;
        self.trial(problem, candidate).said.join(said);
        Ok(())
    }

    /// So many samples, or as many as one run gives where that is more.
    pub(super) fn take(
        &mut self,
        problem: usize,
        candidate: usize,
        samples: usize,
    ) -> Result<ParsedOutput, Halt> {
        let mut all = ParsedOutput::default();
        while all.samples() < samples {
            let missing = samples - all.samples();
            all.join(self.run(problem, candidate, missing)?);
        }
        Ok(all)
    }

    fn run(
        &mut self,
        problem: usize,
        candidate: usize,
        samples: usize,
    ) -> Result<ParsedOutput, Halt> {
        let said = self.runner.run(&self.board, Job { problem, candidate, samples })?;
        if let Some(invalid) = said.invalid {
            return Err(Halt::Invalid(invalid));
        }
        if said.samples() == 0 && !said.untimed {
            let why = "it prints no line with name= and t_us=".to_owned();
            return Err(Halt::Invalid(Invalid { fault: Fault::Runtime, why }));
        }
        Ok(said)
    }

    /// Whether a candidate is so slow in its first two blocks that the rest is not worth the time: by the factor of the spec in each, and not by
    /// chance. One block does not do: a neighbour who takes the processor for its length makes anybody hopeless.
    fn hopeless(&self, problem: usize, candidate: usize) -> Option<String> {
        // A slow candidate may still be the best by another objective.
        let factor = self.spec.early_stop.filter(|_| self.spec.objective.is_none())?;
        let problem = &self.board.problems[problem];
        let best = problem.best()?;
        let best_ratio = problem.ratio(best)?;
        let trial = &problem.trials[candidate];
        let (times, beside) = (trial.series(), Series::new(trial.beside.times.iter().copied()));
        let (_, interval) = ratio_of_medians(&beside, &times, 0.95, RESAMPLES)?;
        let [first, second] = trial.blocks[..] else { return None };
        let slower = first.min(second) / best_ratio;
        (slower >= factor && interval.low.exp() > best_ratio)
            .then(|| format!("{slower:.1}x the best in two blocks; given up from {factor:.2}x on"))
    }
}
