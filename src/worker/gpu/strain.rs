//! What a device says of itself while it is timed.

use std::time::{Duration, Instant};

use warpscope_probes::nvml::{Strained, Watch};

use crate::worker::protocol::Strain;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(200);

/// Looks at clocks, power and what holds the clock down, now and then.
pub(super) struct StrainWatch {
    watch: Option<Watch>,
    looked: Option<Instant>,
    /// The worst so far.
    pub(super) seen: Strain,
}

impl StrainWatch {
    /// Of a device; one that NVML does not know says nothing.
    pub(super) fn open(uuid: &str) -> Self {
        Self { watch: Watch::open(None, uuid).ok(), looked: None, seen: Strain::default() }
    }

    /// Looks, unless it did a moment ago.
    pub(super) fn look(&mut self) {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            note(&mut self.seen, &self.watch.as_ref().map(Watch::strain).unwrap_or_default());
            self.looked = Some(Instant::now());
        }
    }
}

/// Widens what was seen by one more look.
fn note(strain: &mut Strain, seen: &Strained) {
    if let Some(mhz) = seen.sm_mhz.map(f64::from) {
        let (low, high) = strain.sm_mhz.unwrap_or((mhz, mhz));
        strain.sm_mhz = Some((low.min(mhz), high.max(mhz)));
    }
    if let Some(watts) = seen.power_w {
        strain.power_w = Some(strain.power_w.map_or(watts, |most| most.max(watts)));
    }
    for reason in seen.reasons.iter().flatten().filter(|reason| reason.slows()) {
        let words = reason.words().to_owned();
        if !strain.held_by.contains(&words) {
            strain.held_by.push(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::gpu::ClockReason;

    use super::*;

    #[test]
    fn looks_add_up_to_the_worst() {
        let mut strain = Strain::default();
        for (mhz, watts, reasons) in [
            (1755, 400.0, vec![ClockReason::Idle]),
            (1410, 690.0, vec![ClockReason::SwPowerCap]),
            (1500, 500.0, vec![ClockReason::SwPowerCap]),
        ] {
            let seen = Strained { sm_mhz: Some(mhz), power_w: Some(watts), reasons: Some(reasons) };
            note(&mut strain, &seen);
        }
        note(&mut strain, &Strained::default());
        let held_by = vec!["power cap".to_owned()];
        let want = Strain { sm_mhz: Some((1410.0, 1755.0)), power_w: Some(690.0), held_by };
        assert_eq!(strain, want);
    }
}
