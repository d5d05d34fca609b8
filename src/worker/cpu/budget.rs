//! How much of the machine a CPU worker may take. Pure arithmetic.

use std::time::Duration;

use super::options::Mode;

/// Share of the machine's CPU time in live mode.
const LIVE_SHARE: f64 = 0.25;
/// Share once every path has been measured: enough to keep tokens coming.
const SETTLED_SHARE: f64 = 0.05;
/// Niceness in live mode: everything else goes first.
const LIVE_NICE: i32 = 19;

/// Threads of a CPU worker, and how long they work before they pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CpuBudget {
    /// Threads to compute on: a quarter of the cores in either mode, so that both measure the same thing.
    pub threads: usize,
    /// Cores of the machine.
    pub cores: usize,
    /// Share of the machine's CPU time that may be used, 0–1.
    pub share: f64,
    /// Niceness to ask for; null to leave it alone.
    pub nice: Option<i32>,
}

impl CpuBudget {
    /// The budget of a mode on so many cores.
    pub(super) fn new(mode: Mode, cores: usize) -> Self {
        let cores = cores.max(1);
        let threads = (cores / 4).max(1);
        let all = threads as f64 / cores as f64;
        match mode {
            Mode::Live => {
                Self { threads, cores, share: LIVE_SHARE.min(all), nice: Some(LIVE_NICE) }
            }
            Mode::Once => Self { threads, cores, share: all, nice: None },
        }
    }

    /// The budget of the rounds after the first.
    pub(super) fn settled(self) -> Self {
        Self { share: self.share.min(SETTLED_SHARE), ..self }
    }

    /// Share of the time the threads work, 0–1.
    pub(super) fn duty(&self) -> f64 {
        (self.share * self.cores as f64 / self.threads as f64).min(1.0)
    }

    /// How long to pause after working so long. Wall time counts as CPU time, which errs on the quiet side.
    pub(super) fn pause_after(&self, worked: Duration) -> Duration {
        worked.mul_f64((1.0 - self.duty()) / self.duty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_never_takes_more_than_a_quarter_of_any_machine() {
        for cores in 1..=256 {
            for budget in
                [CpuBudget::new(Mode::Live, cores), CpuBudget::new(Mode::Live, cores).settled()]
            {
                let worked = Duration::from_millis(20);
                let cycle = worked + budget.pause_after(worked);
                let used = worked.as_secs_f64() * budget.threads as f64;
                let share = used / (cycle.as_secs_f64() * cores as f64);
                assert!(share <= 0.25 + 1e-6, "{cores} cores: {share}");
                assert!((share - budget.share).abs() < 1e-6, "{cores} cores: {share}");
            }
        }
    }

    #[test]
    fn two_cores_give_one_thread_half_the_time() {
        let budget = CpuBudget::new(Mode::Live, 2);
        assert_eq!((budget.threads, budget.duty(), budget.nice), (1, 0.5, Some(19)));
        assert_eq!(budget.pause_after(Duration::from_millis(20)), Duration::from_millis(20));
        assert_eq!(CpuBudget::new(Mode::Live, 64).threads, 16);
        assert_eq!(CpuBudget::new(Mode::Live, 0).threads, 1);
    }

    #[test]
    fn once_does_not_pause() {
        let budget = CpuBudget::new(Mode::Once, 2);
        assert_eq!(budget.pause_after(Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(budget.nice, None);
    }
}
