//! How much processes that run the same command differ from each other, as it was measured on a machine.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::compare::{Series, Spread};
use crate::runs::samples::Key;

/// Number of the file's format.
pub const NOISE_SCHEMA: u32 = 2;
/// Share of the differences a floor is above.
const QUANTILE: f64 = 0.95;
/// Fewest differences a floor is drawn from.
const FEWEST: usize = 3;
/// Degrees of freedom of a noise that was given and not measured.
const GIVEN: f64 = 1000.0;

/// The noise of one kernel of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Standard deviation of the medians of processes, as a share.
    pub deviation: f64,
    /// Processes it was measured on.
    pub processes: usize,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

type Kernels = BTreeMap<String, Measured>;

/// What was measured, by machine, by command, by kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// [`NOISE_SCHEMA`] of the writer.
    pub schema: u32,
    /// By host name, since several machines may share a home.
    pub machines: BTreeMap<String, BTreeMap<String, Kernels>>,
}

impl Default for Noise {
    fn default() -> Self {
        Self { schema: NOISE_SCHEMA, machines: BTreeMap::new() }
    }
}

impl Noise {
    /// Reads what a file holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let noise: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if noise.schema != NOISE_SCHEMA {
            return Err(format!(
                "format {}; this warpscope reads {NOISE_SCHEMA}: move the file away and measure again",
                noise.schema
            ));
        }
        let kernels = noise.machines.values().flat_map(BTreeMap::values);
        let mut all = kernels.flat_map(BTreeMap::values);
        match all.find(|one| !one.deviation.is_finite() || one.deviation < 0.0 || one.processes < 2)
        {
            Some(bad) => Err(format!("{} is not a valid noise level", bad.deviation)),
            None => Ok(noise),
        }
    }

    /// Keeps what was measured in place of what was before.
    pub fn set(&mut self, machine: &str, command: &str, key: &Key, measured: Measured) {
        let commands = self.machines.entry(machine.to_owned()).or_default();
        commands.entry(command.to_owned()).or_default().insert(key.to_string(), measured);
    }
}

/// What is known of the noise between the processes of a comparison.
#[derive(Clone, Debug, Default)]
pub struct KnownNoise {
    given: Option<f64>,
    /// Of the compared commands on this machine.
    measured: Vec<Kernels>,
}

impl KnownNoise {
    /// The noise that was given, else what was measured of these commands on this machine.
    pub fn new(
        given: Option<f64>,
        noise: &Noise,
        machine: &str,
        commands: &BTreeSet<String>,
    ) -> Self {
        let known = noise.machines.get(machine);
        let of = |command| known.and_then(|known| known.get(command)).cloned();
        Self { given, measured: commands.iter().filter_map(of).collect() }
    }

    /// How much processes that measure this kernel differ; of several commands the largest counts.
    pub fn spread(&self, key: &Key) -> Option<Spread> {
        if let Some(given) = self.given {
            return Some(Spread { deviation: given.ln_1p(), freedom: GIVEN });
        }
        // A run log names the GPU of points that name none; those of `warpscope noise` stay without.
        let names = [key.to_string(), Key { device: None, ..key.clone() }.to_string()];
        let of = |kernels: &'_ Kernels| names.iter().find_map(|name| kernels.get(name)).cloned();
        let found: Vec<Measured> = self.measured.iter().filter_map(of).collect();
        let spread = |one: &Measured| Spread {
            deviation: one.deviation.ln_1p(),
            freedom: one.processes as f64 - 1.0,
        };
        found.iter().map(spread).max_by(|one, other| one.deviation.total_cmp(&other.deviation))
    }
}

/// The floor of medians that followed one another while nothing changed: the 95th percentile of the relative difference of neighbours.
/// `None` where there are too few.
pub fn floor_of(medians: &[f64]) -> Option<f64> {
    let differences = medians.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs());
    let sane = differences.filter(|difference| difference.is_finite());
    // A series holds what is above zero; equal medians differ by less than anything.
    let series = Series::new(sane.map(|difference| difference.max(f64::MIN_POSITIVE)));
    (series.len() >= FEWEST).then(|| series.quantile(QUANTILE)).flatten().map(f64::exp_m1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        let (name, device) = name.split_once('@').map_or((name, None), |at| (at.0, Some(at.1)));
        Key { name: name.into(), device: device.map(str::to_owned), ..Key::default() }
    }

    fn measured(deviation: f64) -> Measured {
        Measured { deviation, processes: 10, at_ms: 1 }
    }

    #[test]
    fn noise_counts_for_the_kernel_command_and_machine_it_was_measured_on() {
        let mut noise = Noise::default();
        for (machine, command, kernel, share) in [
            ("here", "old", "a@cpu", 0.01),
            ("here", "new", "a@cpu", 0.03),
            ("here", "new", "b", 0.02),
            ("there", "old", "a@cpu", 0.5),
        ] {
            noise.set(machine, command, &key(kernel), measured(share));
        }
        let text = serde_json::to_string(&noise).expect("serialises");
        let noise = Noise::parse(&text).expect("reads back");
        let share = |given, commands: &[&str], kernel| {
            let commands = commands.iter().map(|one| (*one).to_owned()).collect();
            let known = KnownNoise::new(given, &noise, "here", &commands).spread(&key(kernel));
            known.map(|one| ((one.deviation.exp_m1() * 1e6).round() / 1e6, one.freedom))
        };
        assert_eq!(share(None, &["old"], "a@cpu"), Some((0.01, 9.0)));
        assert_eq!(share(None, &["old", "new"], "a@cpu"), Some((0.03, 9.0)));
        assert_eq!(share(None, &["old"], "b"), None);
        assert_eq!(share(None, &[], "a@cpu"), None);
        assert_eq!(share(None, &["old"], "a@T4"), None);
        assert_eq!(share(None, &["new"], "b@T4"), Some((0.02, 9.0)), "measured without a device");
        assert_eq!(share(Some(0.002), &["old"], "b"), Some((0.002, GIVEN)));
    }

    /// |ln| of 101/100, 99/101 and 99/99: 0.00995, 0.02000 and 0; numpy.percentile(…, 95) = 0.018995.
    #[test]
    fn the_floor_is_the_95th_percentile_of_neighbours() {
        let floor = floor_of(&[100.0, 101.0, 99.0, 99.0]).expect("enough");
        assert!((floor.ln_1p() - 0.018_995).abs() < 1e-5, "{floor}");
        assert_eq!(floor_of(&[1.0, 2.0, 3.0]), None);
        assert!(floor_of(&[5.0; 9]).is_some_and(|floor| floor < 1e-300));
    }

    #[test]
    fn files_of_others_are_refused() {
        for text in [
            "",
            "{}",
            r#"{"schema":1,"devices":{}}"#,
            r#"{"schema":2,"machines":{"h":{"c":{"k":{"deviation":-1,"processes":9,"at_ms":0}}}}}"#,
            r#"{"schema":2,"machines":{"h":{"c":{"k":{"deviation":0.1,"processes":1,"at_ms":0}}}}}"#,
        ] {
            assert!(Noise::parse(text).is_err(), "{text}");
        }
    }
}
