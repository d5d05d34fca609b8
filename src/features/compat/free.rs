//! Free memory as plans take it: the least of the last minute, so that what comes and goes every second turns no answer around.

use warpscope_probes::Timestamp;

use crate::engine::Target;

/// What differs from the least by less than this part of all the memory is the same.
const STEADY: u64 = 64;
/// So long must more be free before it counts, seconds.
const LASTING_S: f64 = 60.0;

/// The least that was free on each GPU.
#[derive(Clone, Debug, Default)]
pub(super) struct LeastFree(Vec<Least>);

/// The least that was free on one GPU, when it was last as little, and the least since then.
#[derive(Clone, Debug)]
struct Least {
    uuid: Option<String>,
    bytes: u64,
    at: Timestamp,
    since: u64,
}

impl LeastFree {
    /// Puts the least of the last minute in the place of what is free now.
    pub(super) fn steady(&mut self, gpus: &mut [Target], now: Timestamp) {
        let before = std::mem::take(&mut self.0);
        for gpu in gpus.iter_mut() {
            let (Some(free), true) = (gpu.memory_free_bytes, gpu.uuid.is_some()) else { continue };
            let step = gpu.memory_bytes.unwrap_or(0) / STEADY;
            let known = before.iter().find(|one| one.uuid == gpu.uuid).cloned();
            let new = Least { uuid: gpu.uuid.clone(), bytes: free, at: now, since: u64::MAX };
            let least = known.map_or(new, |known| known.with(free, now, step));
            gpu.memory_free_bytes = Some(least.bytes);
            self.0.push(least);
        }
    }

    /// The same, of what was seen last.
    pub(super) fn recall(&self, gpus: &mut [Target]) {
        for gpu in gpus.iter_mut() {
            if let Some(least) = self.0.iter().find(|one| one.uuid == gpu.uuid) {
                gpu.memory_free_bytes = Some(least.bytes);
            }
        }
    }
}

impl Least {
    fn with(self, free: u64, now: Timestamp, step: u64) -> Self {
        let passed = now.seconds_since(self.at);
        let since = self.since.min(free);
        match () {
            // A recording went back, or less is free than ever.
            () if passed < 0.0 || free.saturating_add(step) < self.bytes => {
                Self { bytes: free, at: now, since: u64::MAX, ..self }
            }
            () if free <= self.bytes.saturating_add(step) => {
                Self { at: now, since: u64::MAX, ..self }
            }
            () if passed >= LASTING_S => Self { bytes: since, at: now, since: u64::MAX, ..self },
            () => Self { since, ..self },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What counts as free after each pair of seconds and GiB.
    fn counted(seen: &[(u64, u64)]) -> Vec<u64> {
        let mut least = LeastFree::default();
        let target = |gib: u64| Target {
            memory_bytes: Some(80 << 30),
            memory_free_bytes: Some(gib << 30),
            uuid: Some("GPU-1".to_owned()),
            ..Target::of_sm("T".to_owned(), warpscope_kernels::Sm::new(9, 0))
        };
        let count = |(second, gib): &(u64, u64)| {
            let mut gpus = [target(*gib)];
            least.steady(&mut gpus, Timestamp(second * 1000));
            gpus[0].memory_free_bytes.map_or(0, |bytes| bytes >> 30)
        };
        seen.iter().map(count).collect()
    }

    #[test]
    fn less_counts_at_once_and_more_once_it_has_lasted() {
        for (seen, want) in [
            (&[(0, 40), (1, 41), (2, 39), (3, 40)][..], &[40, 40, 40, 40][..]),
            (&[(0, 40), (1, 10), (2, 40), (3, 10), (62, 40), (64, 40)], &[40, 10, 10, 10, 10, 40]),
            (&[(0, 10), (30, 60), (40, 40), (60, 50)], &[10, 10, 10, 40]),
            (&[(100, 10), (5, 60)], &[10, 60]),
        ] {
            assert_eq!(counted(seen), want, "{seen:?}");
        }
    }
}
