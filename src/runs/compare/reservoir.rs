//! So many samples of a stream, each as likely as any other.
//!
//! Algorithm R of Vitter, "Random Sampling with a Reservoir", ACM TOMS 11 (1985). Keeping everything was rejected: a journal of 1 GB holds a
//! hundred million samples, and beyond some ten thousand the interval is far narrower than any change that counts. Averaging
//! blocks was rejected: it hides the spread.

use super::random::SplitMix;

/// Samples held of one kernel in one run.
pub const DRAWN: usize = 1 << 15;

/// Seed of the draw: the same journal gives the same answer.
const SEED: u64 = 20_261_121;

/// So many samples of a stream, with their cycles where every one has them.
#[derive(Clone, Debug)]
pub(super) struct Reservoir {
    times: Vec<f64>,
    /// `None` once a sample came without.
    cycles: Option<Vec<f64>>,
    seen: usize,
    most: usize,
    random: SplitMix,
}

impl Default for Reservoir {
    fn default() -> Self {
        Self::new(DRAWN)
    }
}

impl Reservoir {
    /// One that holds at most so many.
    pub(super) fn new(most: usize) -> Self {
        let random = SplitMix::new(SEED);
        Self { times: Vec::new(), cycles: Some(Vec::new()), seen: 0, most, random }
    }

    /// Takes what another one holds.
    pub(super) fn absorb(&mut self, other: Self) {
        let held = other.times.len();
        let cycles = other.cycles.filter(|cycles| cycles.len() == held);
        for (at, time) in other.times.into_iter().enumerate() {
            self.add(time, cycles.as_ref().map(|cycles| cycles[at]));
        }
        self.seen += other.seen - held;
    }

    /// Takes the next sample of the stream.
    pub(super) fn add(&mut self, time: f64, cycles: Option<f64>) {
        self.seen += 1;
        let all = self.cycles.take().zip(cycles);
        let place = if self.times.len() < self.most {
            self.times.push(time);
            self.times.len() - 1
        } else {
            (self.random.bits() % self.seen as u64) as usize
        };
        if let Some(slot) = self.times.get_mut(place) {
            *slot = time;
        }
        self.cycles = all.map(|(mut kept, cycles)| {
            match kept.get_mut(place) {
                Some(slot) => *slot = cycles,
                None if place < self.most => kept.push(cycles),
                None => {}
            }
            kept
        });
    }

    /// Samples that went by.
    pub(super) fn seen(&self) -> usize {
        self.seen
    }

    /// Times, and cycles where every sample had them.
    pub(super) fn into_parts(self) -> (Vec<f64>, Option<Vec<f64>>) {
        (self.times, self.cycles.filter(|cycles| !cycles.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_streams_are_kept_whole_and_in_order() {
        let mut reservoir = Reservoir::default();
        (0..DRAWN).for_each(|i| reservoir.add(i as f64, Some(2.0 * i as f64)));
        let (times, cycles) = reservoir.into_parts();
        assert!(times.iter().enumerate().all(|(i, time)| *time == i as f64));
        assert_eq!(cycles.map(|cycles| cycles[7]), Some(14.0));
    }

    /// Of 8 · DRAWN numbers each eighth of the stream keeps its share; the standard deviation of a count is below √(DRAWN / 8) = 64.
    #[test]
    fn every_part_of_a_long_stream_is_drawn_alike_and_pairs_stay_together() {
        let mut reservoir = Reservoir::default();
        (0..8 * DRAWN).for_each(|i| reservoir.add(i as f64, Some(i as f64 + 0.5)));
        assert_eq!(reservoir.seen(), 8 * DRAWN);
        let (times, cycles) = reservoir.into_parts();
        let cycles = cycles.expect("every sample had them");
        assert_eq!((times.len(), cycles.len()), (DRAWN, DRAWN));
        assert!(times.iter().zip(&cycles).all(|(time, cycles)| time + 0.5 == *cycles));
        let mut counts = [0_i64; 8];
        times.iter().for_each(|time| counts[*time as usize / DRAWN] += 1);
        let want = DRAWN as i64 / 8;
        assert!(counts.iter().all(|count| (count - want).abs() < 5 * 64), "{counts:?}");
    }

    #[test]
    fn one_sample_without_cycles_takes_the_cycles_from_all() {
        let mut reservoir = Reservoir::default();
        reservoir.add(1.0, Some(1.0));
        reservoir.add(2.0, None);
        reservoir.add(3.0, Some(3.0));
        assert_eq!(reservoir.into_parts(), (vec![1.0, 2.0, 3.0], None));
    }
}
