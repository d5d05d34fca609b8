//! When a long measurement has samples enough: nvbench's criterion `stdrel` with its own limits (`stdrel_criterion.cxx` and `benchmark_base.cuh`,
//! read on 2026-11-25), and a limit of samples and of time. nvbench tells of nothing but the mean; an interval of the median is added, which one
//! preempted sample does not move.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::runs::statistics::median_interval;
use crate::worker::protocol::{Convergence, StopReason};

/// Fewest samples, and the fewest of which noise is told.
const LEAST: usize = 10;
const LEAST_NOISE: usize = 5;
/// Time on the device that samples take together at least, nanoseconds.
const LEAST_NS: f64 = 500e6;
/// Noise that is low enough: relative standard deviation.
const NOISE: f64 = 0.005;
/// The newest values of the noise that are looked at, how many there must be, and after how many samples each.
const WINDOW: usize = 512;
const LEAST_WINDOW: usize = 64;
const EVERY: usize = 16;
/// Relative standard deviation of these values below which the noise is what it is.
const STEADY: f64 = 0.05;
/// Most samples, and most time.
const MOST: usize = 5000;
const TIME: Duration = Duration::from_secs(15);

/// Samples of a measurement, and how their noise went.
pub(super) struct Stopping {
    /// Times on the device that make one sample of the repeated work.
    repetitions: f64,
    begin: Instant,
    samples: Vec<f64>,
    noise: VecDeque<f64>,
    running: Running,
}

impl Stopping {
    /// Of samples that are means of so many repetitions.
    pub(super) fn new(repetitions: usize) -> Self {
        Self {
            repetitions: repetitions as f64,
            begin: Instant::now(),
            samples: Vec::new(),
            noise: VecDeque::new(),
            running: Running::default(),
        }
    }

    /// One sample more, nanoseconds for one repetition.
    pub(super) fn add(&mut self, ns: f64) {
        self.samples.push(ns);
        self.running.add(ns);
        if self.samples.len() >= LEAST_NOISE {
            self.noise.extend(self.running.relative_deviation());
            self.noise.drain(..self.noise.len().saturating_sub(WINDOW));
        }
    }

    /// Why it is enough; nothing while it is not.
    pub(super) fn reason(&self) -> Option<StopReason> {
        self.settled().or_else(|| match () {
            () if self.samples.len() >= MOST => Some(StopReason::SampleLimit),
            () if self.begin.elapsed() > TIME => Some(StopReason::TimeLimit),
            () => None,
        })
    }

    fn settled(&self) -> Option<StopReason> {
        let total = self.running.mean * self.samples.len() as f64 * self.repetitions;
        if self.samples.len() < LEAST || total <= LEAST_NS {
            return None;
        }
        if self.noise.back().is_some_and(|noise| *noise < NOISE) {
            return Some(StopReason::NoiseReached);
        }
        if self.noise.len() <= LEAST_WINDOW || !self.samples.len().is_multiple_of(EVERY) {
            return None;
        }
        let mut of_noise = Running::default();
        self.noise.iter().for_each(|noise| of_noise.add(*noise));
        let steady = of_noise.relative_deviation().is_some_and(|deviation| deviation < STEADY);
        steady.then_some(StopReason::NoiseSteady)
    }

    /// How it ended.
    pub(super) fn convergence(&self, stopped_by: StopReason) -> Convergence {
        let noise = self.noise.back().copied();
        Convergence { noise, interval_ns: median_interval(self.samples.clone()), stopped_by }
    }
}

/// Mean and variance of what came so far (Welford 1962).
#[derive(Default)]
struct Running {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Running {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let apart = value - self.mean;
        self.mean += apart / self.count;
        self.squares += apart * (value - self.mean);
    }

    /// Unbiased standard deviation by the mean.
    fn relative_deviation(&self) -> Option<f64> {
        let relative = (self.squares / (self.count - 1.0)).sqrt() / self.mean;
        Some(relative).filter(|relative| relative.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds samples until it is enough.
    fn run(repetitions: usize, mut sample: impl FnMut(usize) -> f64) -> (usize, StopReason) {
        let mut stopping = Stopping::new(repetitions);
        (1..)
            .find_map(|count| {
                stopping.add(sample(count));
                stopping.reason().map(|why| (count, why))
            })
            .expect("samples are limited")
    }

    /// Half a second of samples of 2 ms is 250 of them, and one more is more than that.
    #[test]
    fn quiet_samples_are_enough_after_half_a_second() {
        assert_eq!(run(1, |_| 2e6), (251, StopReason::NoiseReached));
        assert_eq!(run(100, |_| 20e3), (251, StopReason::NoiseReached), "of 100 repetitions each");
        assert_eq!(run(1, |_| 100e6), (10, StopReason::NoiseReached), "ten at the least");
    }

    /// Two times that take turns have 1% noise for ever: it stands still at once, and is looked at every 16 samples.
    #[test]
    fn steady_noise_ends_it_too() {
        let (count, why) = run(1, |count| if count % 2 == 0 { 2.02e6 } else { 1.98e6 });
        assert_eq!((count, why), (256, StopReason::NoiseSteady));
    }

    /// 5000 samples of 1 µs are 5 ms.
    #[test]
    fn samples_too_short_for_half_a_second_meet_the_limit() {
        assert_eq!(run(1, |_| 1e3), (MOST, StopReason::SampleLimit));
    }

    /// 1, 2, 3, 4, 5: variance 2.5, mean 3.
    #[test]
    fn noise_is_the_relative_standard_deviation() {
        let mut stopping = Stopping::new(1);
        (1..=4).for_each(|sample| stopping.add(f64::from(sample)));
        assert_eq!(stopping.convergence(StopReason::TimeLimit).noise, None, "of four");
        stopping.add(5.0);
        let told = stopping.convergence(StopReason::TimeLimit);
        assert!((told.noise.expect("of five") - 2.5_f64.sqrt() / 3.0).abs() < 1e-12);
        assert_eq!(told.interval_ns, Some((1.0, 5.0)));
    }
}
