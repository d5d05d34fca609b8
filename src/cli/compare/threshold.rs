//! From where on a difference counts, and who said so.

use super::super::noise_file;
use super::super::options::Options;
use crate::bench::compare::Limits;
use crate::bench::noise::{Noise, Scope};
use crate::bench::points::Key;

/// Noise assumed where nobody measured it: half of the least difference that counts.
const ASSUMED: f64 = 0.005;
/// The same for the micro decoder, which runs on a CPU: no locked clocks, and neighbours. Two unchanged runs on a shared machine of two cores
/// differed by up to 2.3 % in the median.
const ASSUMED_ON_CPU: f64 = 0.025;
/// Names of the micro decoder's kernels begin with this.
const ON_CPU: &str = "m0.";

/// What is known of the machine's noise.
pub(in super::super) struct Thresholds {
    given: Option<f64>,
    measured: Noise,
}

impl Thresholds {
    /// The noise that was given, else the noise that was measured here, else an assumption.
    pub(in super::super) fn of(options: &Options) -> Self {
        let measured = match noise_file::read(&options.env) {
            Ok(noise) => noise,
            Err(why) => {
                eprintln!("warpscope: {}", crate::sink::text::clean(&why.to_string(), false));
                Noise::default()
            }
        };
        Self { given: options.compare.noise, measured }
    }

    fn noise(&self, key: &Key) -> (f64, &'static str) {
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
    pub(in super::super) fn limits(&self, key: &Key) -> Limits {
        Limits::for_noise(self.noise(key).0)
    }

    /// The threshold of a kernel and where it is from, in words.
    pub(in super::super) fn words(&self, key: &Key) -> String {
        let (noise, from) = self.noise(key);
        let practical = self.limits(key).practical * 100.0;
        format!("counts from {practical:.1} %: noise {:.2} %, {from}", noise * 100.0)
    }

    /// Where the noise of a kernel is from.
    pub(super) fn from(&self, key: &Key) -> &'static str {
        self.noise(key).1
    }
}
