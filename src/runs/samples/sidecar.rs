//! Files beside a result that hold its samples or its name.

use super::harnesses::criterion_name;
use super::{Points, gather::good};

/// A file that says more of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sidecar {
    /// Which of the points.
    pub point: usize,
    /// Its path, as the result names it.
    pub file: String,
    /// What it holds.
    pub kind: SidecarKind,
}

/// What a sidecar holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SidecarKind {
    /// Little-endian 32-bit floats: the time of each sample.
    Seconds,
    /// Little-endian 32-bit floats: the clock of each sample.
    Hertz,
    /// Criterion's `benchmark.json`.
    CriterionName,
}

impl Points {
    /// Puts what a sidecar holds in the place of what the result said; one that is damaged or holds nothing changes nothing.
    pub fn fill(&mut self, sidecar: &Sidecar, bytes: &[u8]) {
        let Some(point) = self.points.get_mut(sidecar.point) else { return };
        match sidecar.kind {
            SidecarKind::Seconds => {
                let times = floats(bytes, 1e9);
                if !times.is_empty() {
                    point.t_ns = times;
                    point.sm_mhz.clear();
                }
            }
            SidecarKind::Hertz => {
                let clocks = floats(bytes, 1e-6);
                if clocks.len() == point.t_ns.len() {
                    point.sm_mhz = clocks;
                }
            }
            SidecarKind::CriterionName => {
                let name = std::str::from_utf8(bytes).ok().and_then(criterion_name);
                point.key.name = name.unwrap_or_else(|| point.key.name.clone());
            }
        }
    }
}

/// Floats in another unit; none where one of them is no measurement.
fn floats(bytes: &[u8], unit: f64) -> Vec<f64> {
    let (floats, rest) = bytes.as_chunks::<4>();
    let floats: Vec<f64> =
        floats.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)) * unit).collect();
    let sound = rest.is_empty() && floats.iter().copied().all(good);
    if sound { floats } else { Vec::new() }
}
