//! How much the same work differs from itself on a machine: the floor below which no difference is called.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::compare::Series;
use crate::runs::samples::Key;

/// Number of the file's format.
pub const NOISE_SCHEMA: u32 = 1;
/// Share of the differences the floor is above.
const QUANTILE: f64 = 0.95;
/// Fewest differences a floor is drawn from.
const FEWEST: usize = 3;

/// The floor of one kernel on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// Difference that 95 % of the repetitions stayed below, as a share.
    pub share: f64,
    /// Repetitions it was drawn from.
    pub blocks: usize,
    /// Milliseconds since 1970.
    pub at_ms: u64,
}

/// Floors of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// [`NOISE_SCHEMA`] of the writer.
    pub schema: u32,
    /// By device, then by kernel.
    pub devices: BTreeMap<String, BTreeMap<String, Floor>>,
}

impl Default for Noise {
    fn default() -> Self {
        Self { schema: NOISE_SCHEMA, devices: BTreeMap::new() }
    }
}

/// What a floor was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This very kernel.
    Kernel,
    /// Other kernels of the device; the largest floor is taken.
    Device,
}

impl Noise {
    /// Reads what a file holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let noise: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if noise.schema != NOISE_SCHEMA {
            return Err(format!("format {}; this warpscope reads {NOISE_SCHEMA}", noise.schema));
        }
        let floors = noise.devices.values().flat_map(BTreeMap::values);
        match floors.map(|floor| floor.share).find(|share| !share.is_finite() || *share < 0.0) {
            Some(bad) => Err(format!("{bad} is not a valid noise level")),
            None => Ok(noise),
        }
    }

    /// Keeps a floor in place of the one before. A kernel of no named device is left out: nobody would find it.
    pub fn set(&mut self, key: &Key, floor: Floor) {
        if let Some(device) = &key.device {
            self.devices.entry(device.clone()).or_default().insert(kernel(key), floor);
        }
    }

    /// The floor of a kernel, else the largest of its device.
    pub fn of(&self, key: &Key) -> Option<(&Floor, Scope)> {
        let device = self.devices.get(key.device.as_deref()?)?;
        if let Some(floor) = device.get(&kernel(key)) {
            return Some((floor, Scope::Kernel));
        }
        let largest = device.values().max_by(|a, b| a.share.total_cmp(&b.share))?;
        Some((largest, Scope::Device))
    }
}

/// A kernel without its device.
fn kernel(key: &Key) -> String {
    Key { device: None, ..key.clone() }.to_string()
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

    fn key(name: &str, device: &str) -> Key {
        Key { name: name.into(), device: Some(device.into()), ..Key::default() }
    }

    #[test]
    fn a_kernel_has_its_own_floor_and_an_unknown_one_the_largest_of_its_device() {
        let mut noise = Noise::default();
        for (name, share) in [("a", 0.01), ("b", 0.03)] {
            noise.set(&key(name, "cpu"), Floor { share, blocks: 10, at_ms: 1 });
        }
        let text = serde_json::to_string(&noise).expect("serialises");
        let noise = Noise::parse(&text).expect("reads back");
        let share =
            |name, device| noise.of(&key(name, device)).map(|(floor, scope)| (floor.share, scope));
        assert_eq!(share("a", "cpu"), Some((0.01, Scope::Kernel)));
        assert_eq!(share("c", "cpu"), Some((0.03, Scope::Device)));
        assert_eq!((share("a", "T4"), noise.of(&Key::default())), (None, None));
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
            r#"{"schema":9,"devices":{}}"#,
            r#"{"schema":1,"devices":{"a":{"k":{"share":-1,"blocks":1,"at_ms":0}}}}"#,
        ] {
            assert!(Noise::parse(text).is_err(), "{text}");
        }
    }
}
