//! One path: a number format on a profile, run again and again, step by step.

use std::time::Instant;

use warpscope_kernels::cpu::interruptions;
use warpscope_kernels::model::{
    Decoder, M0, Profile, argmax, error_limit, golden_of, prompt, text,
};

use super::options::CPU;
use crate::runs::statistics::Window;
use crate::worker::protocol::{
    Ceiling, FirstBad, PathDtype, PathReport, PathSamples, SampleClocks,
};

/// Decode steps that make up the median: four runs.
const DECODE_WINDOW: usize = 4 * M0.decode;
/// Prompts that make up the median.
const PREFILL_WINDOW: usize = 9;

/// What is known of a path from all its runs, and where the present run stands.
pub(super) struct Path {
    pub(super) dtype: PathDtype,
    pub(super) profile: Profile,
    step_seconds: Window,
    step_bytes_per_s: Window,
    prefill_seconds: Window,
    step_bytes: usize,
    run: Run,
    /// Every sample, where they are wanted.
    raw: Option<Raw>,
}

/// Every sample of a path.
#[derive(Clone, Default)]
struct Raw {
    decode: Samples,
    prefill: Samples,
}

/// Times, and the places of those that were interrupted.
#[derive(Clone, Default)]
struct Samples {
    ns: Vec<f64>,
    preempted: Vec<usize>,
}

impl Samples {
    fn push(&mut self, taken: &Clocked) {
        if taken.preempted {
            self.preempted.push(self.ns.len());
        }
        self.ns.push(taken.seconds * 1e9);
    }
}

/// How long a piece of work took.
struct Clocked {
    seconds: f64,
    preempted: bool,
}

/// Does a piece of work and times it. The scheduler is asked outside the time that is measured.
fn clocked<T>(work: impl FnOnce() -> T) -> (T, Clocked) {
    let before = interruptions();
    let start = Instant::now();
    let done = work();
    let seconds = start.elapsed().as_secs_f64();
    (done, Clocked { seconds, preempted: interruptions() != before })
}

/// The present run.
#[derive(Default)]
struct Run {
    tokens: Vec<u32>,
    distance: f64,
    size: f64,
    agrees: bool,
    non_finite: u64,
    first_bad: Option<FirstBad>,
}

impl Run {
    /// Takes the logits of a step. The error counts as long as the tokens before are the reference's.
    fn take(&mut self, profile: Profile, logits: &[f32], decoder: &Decoder) {
        let steps = &golden_of(profile).steps;
        if let (true, Some(step)) = (self.agrees, steps.get(self.tokens.len())) {
            let (distance, size) = step.distance(logits);
            self.distance += distance;
            self.size += size;
            self.agrees = step.token == argmax(logits);
        }
        self.tokens.push(argmax(logits));
        let health = decoder.health();
        self.non_finite = health.non_finite;
        self.first_bad = health.first_bad.map(FirstBad::from);
    }

    fn is_complete(&self) -> bool {
        self.tokens.len() >= M0.decode
    }

    fn error(&self) -> Option<f64> {
        let error = (self.distance / self.size).sqrt();
        error.is_finite().then_some(error)
    }
}

impl Path {
    pub(super) fn new(dtype: PathDtype, profile: Profile) -> Self {
        Self {
            dtype,
            profile,
            step_seconds: Window::new(DECODE_WINDOW),
            step_bytes_per_s: Window::new(DECODE_WINDOW),
            prefill_seconds: Window::new(PREFILL_WINDOW),
            step_bytes: 0,
            run: Run::default(),
            raw: None,
        }
    }

    /// Keeps every sample from here on.
    pub(super) fn keep_samples(&mut self) {
        self.raw.get_or_insert_default();
    }

    /// The samples kept so far.
    pub(super) fn samples(&self) -> Option<PathSamples> {
        let Raw { decode, prefill } = self.raw.clone()?;
        Some(PathSamples {
            decode_clocks: SampleClocks::default(),
            prefill_clocks: SampleClocks::default(),
            dtype: self.dtype,
            path: None,
            profile: self.profile.id().to_owned(),
            decode_ns: decode.ns,
            prefill_ns: prefill.ns,
            decode_preempted: decode.preempted,
            prefill_preempted: prefill.preempted,
            prefill_flop: M0.prefill_flop(),
            decode_bytes: self.step_bytes as f64,
        })
    }

    /// Reads the prompt and gives the first token.
    pub(super) fn start(&mut self, decoder: &mut Decoder) {
        decoder.reset();
        self.run = Run { agrees: true, ..Run::default() };
        let (logits, taken) = clocked(|| decoder.forward(&prompt()));
        self.prefill_seconds.push(taken.seconds);
        if let Some(raw) = &mut self.raw {
            raw.prefill.push(&taken);
        }
        self.run.take(self.profile, &logits, decoder);
    }

    /// Gives one more token; false when the run is complete.
    pub(super) fn step(&mut self, decoder: &mut Decoder) -> bool {
        let Some(&token) = self.run.tokens.last().filter(|_| !self.run.is_complete()) else {
            return false;
        };
        self.step_bytes = decoder.bytes_per_step();
        let (logits, taken) = clocked(|| decoder.forward(&[token]));
        self.step_seconds.push(taken.seconds);
        if let Some(raw) = &mut self.raw {
            raw.decode.push(&taken);
        }
        self.step_bytes_per_s.push(self.step_bytes as f64 / taken.seconds);
        self.run.take(self.profile, &logits, decoder);
        true
    }

    /// The newest state.
    pub(super) fn report(&self, ceiling: Ceiling, cache: Option<usize>) -> PathReport {
        let step = self.step_seconds.spread();
        let bytes_per_s = self.step_bytes_per_s.spread().map(|s| s.median);
        let prefill = self.prefill_seconds.spread();
        let read = ceiling.read_bytes_per_s.filter(|read| *read > 0.0);
        let fits = |cache| (self.step_bytes > 0).then_some(self.step_bytes <= cache);
        let cache_resident = cache.and_then(fits);
        PathReport {
            dtype: self.dtype,
            path: None,
            profile: self.profile.id().to_owned(),
            device: CPU.to_owned(),
            tokens: self.run.tokens.clone(),
            expected_tokens: golden_of(self.profile).tokens(),
            text: text(&self.run.tokens),
            complete: self.run.is_complete(),
            non_finite: self.run.non_finite,
            first_bad: self.run.first_bad.clone(),
            error: self.run.error(),
            error_limit: error_limit(self.dtype),
            decode_tokens_per_s: step.map(|s| s.median.recip()),
            decode_mad_tokens_per_s: step.map(|s| s.mad / s.median.powi(2)),
            prefill_gflop_per_s: prefill.map(|s| M0.prefill_flop() / s.median / 1e9),
            gb_per_s: bytes_per_s.map(|b| b / 1e9),
            decode_bytes: (self.step_bytes > 0).then_some(self.step_bytes as f64),
            read_gb_per_s: read.map(|read| read / 1e9),
            read_bandwidth_share: share(bytes_per_s, read, cache_resident),
            cache_resident,
        }
    }
}

/// What is read of what can be. More than all of it is a share only where a cache explains it; else the ceiling was measured too low.
fn share(bytes_per_s: Option<f64>, read: Option<f64>, cache_resident: Option<bool>) -> Option<f64> {
    let share = bytes_per_s? / read?;
    (share <= 1.0 || cache_resident == Some(true)).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.92 of a ceiling that was measured on a busy machine was printed once.
    #[test]
    fn only_a_cache_explains_more_than_everything() {
        for (bytes, read, cached, want) in [
            (Some(7e9), Some(10e9), Some(false), Some(0.7)),
            (Some(20e9), Some(5.1e9), Some(false), None),
            (Some(20e9), Some(5.1e9), None, None),
            (Some(20e9), Some(10e9), Some(true), Some(2.0)),
            (Some(20e9), None, Some(true), None),
            (None, Some(10e9), Some(true), None),
        ] {
            assert_eq!(share(bytes, read, cached), want, "{bytes:?} of {read:?}, {cached:?}");
        }
    }
}
