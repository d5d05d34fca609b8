//! From where on a difference counts, and who said so.

use std::collections::BTreeMap;

use super::compare::Limits;
use super::noise::{Noise, Scope};
use crate::runs::samples::Key;

/// Noise assumed where nobody measured it: half of the least difference that counts.
const ASSUMED: f64 = 0.005;
/// The same for the micro decoder, which runs on a CPU: no locked clocks, and neighbours on every channel of memory.
const ASSUMED_ON_CPU: f64 = 0.025;
/// What is called of it all the same. Unchanged runs of the memory-bound path differed by up to 5.8 % in the median on a shared machine of
/// two cores, each time with a narrow interval: a process is one sample of what differs between processes.
const CALLED_ON_CPU: f64 = 0.25;
/// Names of the micro decoder's kernels begin with this.
const ON_CPU: &str = "m0.";

/// What is known of the machine's noise.
pub struct Thresholds {
    given: Option<f64>,
    /// Of the very blocks that are compared.
    between_blocks: BTreeMap<Key, f64>,
    measured: Noise,
}

impl Thresholds {
    /// The noise that was given, else the noise that was measured here, else an assumption.
    pub fn new(given: Option<f64>, measured: Noise) -> Self {
        Self { given, between_blocks: BTreeMap::new(), measured }
    }

    /// The same, with the noise between blocks that took turns: what the machine does now beats what it did when it was measured.
    pub fn between(self, blocks: BTreeMap<Key, f64>) -> Self {
        Self { between_blocks: blocks, ..self }
    }

    fn noise(&self, key: &Key) -> (f64, &'static str) {
        if let (None, Some(share)) = (self.given, self.between_blocks.get(key)) {
            return (*share, "measured between these blocks");
        }
        match (self.given, self.measured.of(key)) {
            (Some(given), _) => (given, "given with --noise"),
            (None, Some((floor, Scope::Kernel))) => (floor.share, "measured for this kernel"),
            (None, Some((floor, Scope::Device))) => {
                (floor.share, "measured for other kernels of this device, the largest")
            }
            (None, None) if key.name.starts_with(ON_CPU) => {
                (ASSUMED_ON_CPU, "assumed for a CPU; `warpscope noise` measures it")
            }
            (None, None) => (ASSUMED, "assumed; say --noise where it is known"),
        }
    }

    /// How a kernel is judged.
    pub fn limits(&self, key: &Key) -> Limits {
        let (noise, _) = self.noise(key);
        let known = self.given.is_some() || self.between_blocks.contains_key(key);
        let assumed = !known && self.measured.of(key).is_none();
        let called = if assumed && key.name.starts_with(ON_CPU) { CALLED_ON_CPU } else { 0.0 };
        Limits { called, ..Limits::for_noise(noise) }
    }

    /// The threshold of a kernel and where it is from, in words.
    pub fn words(&self, key: &Key) -> String {
        let (noise, from) = self.noise(key);
        let practical = self.limits(key).practical * 100.0;
        format!("counts from {practical:.1} %: noise {:.2} %, {from}", noise * 100.0)
    }

    /// Where the noise of a kernel is from.
    pub fn from(&self, key: &Key) -> &'static str {
        self.noise(key).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::noise::Floor;

    #[test]
    fn what_is_given_beats_what_was_measured_and_that_what_is_assumed() {
        let key =
            |name: &str| Key { name: name.into(), device: Some("cpu".into()), ..Key::default() };
        let mut measured = Noise::default();
        let limits = |given, measured: &Noise, name| {
            let between_blocks = BTreeMap::from([(key("between"), 0.02)]);
            let thresholds = Thresholds { given, between_blocks, measured: measured.clone() };
            let limits = thresholds.limits(&key(name));
            (limits.practical, limits.called)
        };
        assert_eq!(limits(None, &measured, "gemm"), (0.01, 0.0));
        assert_eq!(limits(None, &measured, "between"), (0.04, 0.0));
        assert_eq!(limits(None, &measured, "m0.decode"), (0.05, CALLED_ON_CPU));
        measured.set(&key("m0.decode"), Floor { share: 0.03, blocks: 9, at_ms: 1 });
        assert_eq!(limits(None, &measured, "m0.decode"), (0.06, 0.0));
        assert_eq!(limits(Some(0.01), &measured, "m0.decode"), (0.02, 0.0));
    }
}
