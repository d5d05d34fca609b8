use std::time::Duration;

use warpscope_probes::Timestamp;

use super::{Position, Seek};

/// Slowest and fastest a recording is played.
const SPEED_MIN: f64 = 0.01;
const SPEED_MAX: f64 = 1000.0;
/// A hole longer than so many intervals is not waited out: nothing was recorded there.
const HOLE_INTERVALS: f64 = 3.0;
/// Holes shorter than this are always waited out.
const HOLE_MIN_S: f64 = 3.0;

/// One frame of a recording: where its line stands, and when it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) at: Timestamp,
    pub(super) interval_s: f64,
}

/// Where a replay stands and when its next frame is due. Knows no clock and no file.
#[derive(Debug)]
pub(super) struct Player {
    entries: Vec<Entry>,
    /// Milliseconds from the first frame to each, never falling: a clock set back stands still here.
    timeline: Vec<u64>,
    current: usize,
    paused: bool,
    speed: f64,
}

impl Player {
    /// `None` for a recording without frames.
    pub(super) fn new(entries: Vec<Entry>) -> Option<Self> {
        let mut elapsed = 0u64;
        let mut before = entries.first()?.at;
        let timeline = entries.iter().map(|entry| {
            elapsed = elapsed.saturating_add(entry.at.0.saturating_sub(before.0));
            before = entry.at;
            elapsed
        });
        let timeline = timeline.collect();
        Some(Self { entries, timeline, current: 0, paused: false, speed: 1.0 })
    }

    pub(super) fn entry(&self) -> Entry {
        self.entries[self.current]
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.current + 1 == self.entries.len()
    }

    /// Time from showing this frame to showing the next; `None` while paused and at the end.
    pub(super) fn due(&self) -> Option<Duration> {
        if self.paused || self.is_at_end() {
            return None;
        }
        let gap = self.seconds(self.current + 1) - self.seconds(self.current);
        let interval = self.entry().interval_s;
        let usual = if interval.is_finite() { interval.clamp(0.0, 60.0) } else { 0.0 };
        let hole = gap > (HOLE_INTERVALS * usual).max(HOLE_MIN_S);
        let wait = if hole { usual } else { gap };
        Some(Duration::from_secs_f64(wait / self.speed))
    }

    /// Goes to the next frame; false at the end.
    pub(super) fn advance(&mut self) -> bool {
        let more = !self.is_at_end();
        self.current += usize::from(more);
        more
    }

    pub(super) fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// A speed that is no number changes nothing.
    pub(super) fn set_speed(&mut self, speed: f64) {
        if !speed.is_nan() {
            self.speed = speed.clamp(SPEED_MIN, SPEED_MAX);
        }
    }

    /// Goes to the last frame at or before the moment asked for, and at least one frame on or back
    /// when any way is asked for at all.
    pub(super) fn seek(&mut self, to: Seek) {
        if to == Seek::By(0.0) {
            return;
        }
        let here = self.seconds(self.current);
        let (target, way) = match to {
            Seek::By(seconds) => (here + seconds, seconds),
            Seek::To(share) => (share * self.length(), 0.0),
        };
        if target.is_nan() {
            return;
        }
        let millis = (target * 1000.0).round().clamp(0.0, u64::MAX as f64) as u64;
        let reached = self.timeline.partition_point(|at| *at <= millis).saturating_sub(1);
        self.current = if way > 0.0 {
            reached.max(self.current + 1).min(self.entries.len() - 1)
        } else if way < 0.0 {
            reached.min(self.current.saturating_sub(1))
        } else {
            reached
        };
    }

    pub(super) fn position(&self, damaged: u64) -> Position {
        Position {
            at_s: self.seconds(self.current),
            length_s: self.length(),
            paused: self.paused,
            speed: self.speed,
            damaged,
        }
    }

    fn length(&self) -> f64 {
        self.seconds(self.entries.len() - 1)
    }

    fn seconds(&self, place: usize) -> f64 {
        self.timeline[place] as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn player(seconds: &[u64]) -> Player {
        let entry =
            |at: &u64| Entry { offset: 0, length: 0, at: Timestamp(at * 1000), interval_s: 1.0 };
        Player::new(seconds.iter().map(entry).collect()).expect("has frames")
    }

    #[test]
    fn a_frame_is_due_after_the_recorded_time_by_the_speed() {
        let mut player = player(&[100, 101, 103]);
        assert_eq!(player.due(), Some(Duration::from_secs(1)));
        player.set_speed(4.0);
        assert_eq!(player.due(), Some(Duration::from_millis(250)));
        assert!(player.advance());
        assert_eq!(player.due(), Some(Duration::from_millis(500)));
        assert!(player.advance() && !player.advance());
        assert_eq!(player.due(), None);
    }

    #[test]
    fn nothing_is_due_while_paused() {
        let mut player = player(&[0, 1]);
        player.set_paused(true);
        assert_eq!((player.due(), player.position(0).paused), (None, true));
        player.set_paused(false);
        assert!(player.due().is_some());
    }

    #[test]
    fn holes_are_skipped_and_a_clock_set_back_stands_still() {
        let mut player = player(&[100, 10_000, 50, 51]);
        assert_eq!(player.due(), Some(Duration::from_secs(1)));
        player.advance();
        assert_eq!(player.due(), Some(Duration::ZERO));
        assert_eq!(player.position(0).length_s, 9901.0);
    }

    #[test]
    fn seeking_finds_the_frame_at_or_before() {
        let mut player = player(&[0, 10, 20, 30]);
        for (to, at) in [
            (Seek::To(0.5), 10.0),
            (Seek::To(1.0), 30.0),
            (Seek::By(-15.0), 10.0),
            (Seek::By(1.0), 20.0),
            (Seek::By(-1.0), 10.0),
            (Seek::By(1e300), 30.0),
            (Seek::By(f64::NEG_INFINITY), 0.0),
            (Seek::By(f64::NAN), 0.0),
            (Seek::By(0.0), 0.0),
        ] {
            player.seek(to);
            assert_eq!(player.position(0).at_s, at, "{to:?}");
        }
    }

    proptest! {
        #[test]
        fn no_times_and_moves_make_it_panic(
            times in prop::collection::vec(any::<u64>(), 1..8), intervals in any::<f64>(),
            moves in prop::collection::vec((any::<f64>(), any::<bool>()), 0..8), speed in any::<f64>(),
        ) {
            let entries = times.iter().map(|at| Entry { offset: 0, length: 0, at: Timestamp(*at), interval_s: intervals });
            let mut player = Player::new(entries.collect()).expect("has frames");
            player.set_speed(speed);
            for (by, share) in moves {
                player.seek(if share { Seek::To(by) } else { Seek::By(by) });
                let _ = player.due();
                player.advance();
            }
        }
    }
}
