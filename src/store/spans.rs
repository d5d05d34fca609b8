//! A value over spans of time, from a minute to a day, in bounded memory: one ring of means for each span.

use std::collections::VecDeque;

use warpscope_probes::Timestamp;

/// A span of time a graph can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// `15 min`.
    pub label: &'static str,
    /// Its length.
    pub seconds: u64,
}

/// Every span, shortest first.
pub const SPANS: &[Span] = &[
    Span { label: "1 min", seconds: 60 },
    Span { label: "5 min", seconds: 300 },
    Span { label: "15 min", seconds: 900 },
    Span { label: "1 h", seconds: 3600 },
    Span { label: "6 h", seconds: 21_600 },
    Span { label: "24 h", seconds: 86_400 },
];

/// Means kept of each span: two for a cell of the widest graph that is drawn.
pub const MEANS: usize = 320;

/// Frames may be so late, in milliseconds, before a gap is drawn; three times the time between the two before counts as well.
const LATE_MS: u64 = 3000;

/// One value over every span.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    rings: Vec<Ring>,
    last: Option<(Timestamp, Option<f32>)>,
    /// Milliseconds between the last two values.
    pace: u64,
}

impl Spans {
    /// Takes the value of a frame. Where time goes back, as in a recording, what came later is forgotten.
    pub(super) fn push(&mut self, at: Timestamp, value: Option<f32>) {
        let value = value.filter(|value| value.is_finite());
        let before = self.last.filter(|last| last.0 <= at);
        if self.rings.is_empty() {
            self.rings = SPANS.iter().map(Ring::new).collect();
        }
        if before.is_none() {
            self.rings.iter_mut().for_each(|ring| ring.rewind(at));
        }
        let passed = before.map_or(0, |(last, _)| at.0 - last.0);
        let held = before.and_then(|(_, held)| held);
        let held = held.filter(|_| passed <= LATE_MS.max(self.pace * 3));
        for ring in &mut self.rings {
            ring.push(at, value, held);
        }
        (self.last, self.pace) = (Some((at, value)), passed);
    }

    /// Whether there is a value within the span with this place in [`SPANS`].
    pub(super) fn has_values(&self, span: usize) -> bool {
        self.rings.get(span).is_some_and(Ring::has_values)
    }

    /// The span with this place in [`SPANS`] in so many equal steps, oldest first, up to the newest value.
    pub(super) fn steps(&self, span: usize, steps: usize) -> Vec<Option<f32>> {
        self.rings.get(span).map(|ring| ring.steps(steps)).unwrap_or_default()
    }
}

/// Means over equal pieces of time.
#[derive(Clone, Debug)]
struct Ring {
    /// Milliseconds of a piece.
    width: u64,
    /// Number of the newest piece since the epoch.
    newest: Option<u64>,
    sum: f32,
    count: u16,
    /// Means of the pieces before the newest, oldest first; NaN for a gap.
    means: VecDeque<f32>,
}

impl Ring {
    fn new(span: &Span) -> Self {
        let width = span.seconds * 1000 / MEANS as u64;
        Self { width, newest: None, sum: 0.0, count: 0, means: VecDeque::new() }
    }

    fn push(&mut self, at: Timestamp, value: Option<f32>, held: Option<f32>) {
        let piece = at.0 / self.width;
        if let Some(newest) = self.newest.filter(|newest| *newest < piece) {
            let mean = self.mean();
            self.keep(mean);
            let missed = (piece - newest - 1).min(MEANS as u64);
            (0..missed).for_each(|_| self.keep(held));
            (self.sum, self.count) = (0.0, 0);
        }
        self.newest = Some(piece);
        if let Some(value) = value {
            self.sum += value;
            self.count = self.count.saturating_add(1);
        }
    }

    /// Forgets what came after a time.
    fn rewind(&mut self, at: Timestamp) {
        let piece = at.0 / self.width;
        let Some(newest) = self.newest.filter(|newest| *newest > piece) else { return };
        let later = usize::try_from(newest - piece).unwrap_or(usize::MAX);
        let mean =
            self.means.len().checked_sub(later).and_then(|left| self.means.get(left)).copied();
        self.means.truncate(self.means.len().saturating_sub(later));
        self.newest = mean.map(|_| piece);
        let known = mean.filter(|mean| !mean.is_nan());
        (self.sum, self.count) = (known.unwrap_or(0.0), u16::from(known.is_some()));
    }

    fn keep(&mut self, mean: Option<f32>) {
        if self.means.len() == MEANS - 1 {
            self.means.pop_front();
        }
        self.means.push_back(mean.unwrap_or(f32::NAN));
    }

    fn mean(&self) -> Option<f32> {
        (self.count > 0).then(|| self.sum / f32::from(self.count))
    }

    fn has_values(&self) -> bool {
        self.count > 0 || self.means.iter().rev().any(|mean| !mean.is_nan())
    }

    fn steps(&self, steps: usize) -> Vec<Option<f32>> {
        let missing = MEANS - 1 - self.means.len();
        let value = |at: usize| match at.checked_sub(missing) {
            None => None,
            Some(at) if at == self.means.len() => self.mean(),
            Some(at) => self.means.get(at).copied().filter(|mean| !mean.is_nan()),
        };
        let step = |step: usize| {
            let first = step * MEANS / steps;
            let last = ((step + 1) * MEANS / steps).max(first + 1);
            let (sum, count) = (first..last)
                .filter_map(value)
                .fold((0.0, 0_u16), |(sum, count), value| (sum + value, count + 1));
            (count > 0).then(|| sum / f32::from(count))
        };
        (0..steps).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(values: impl IntoIterator<Item = (u64, Option<f32>)>) -> Spans {
        let mut spans = Spans::default();
        for (second, value) in values {
            spans.push(Timestamp(1_700_000_000_000 + second * 1000), value);
        }
        spans
    }

    #[test]
    fn a_ramp_stands_in_its_place_in_every_span() {
        let ramp = spans((0..7200).map(|second| (second, Some(second as f32))));
        let minute = ramp.steps(0, 60);
        assert!((minute[59].expect("now") - 7199.0).abs() < 1.0);
        assert!((minute[0].expect("a minute ago") - 7140.0).abs() < 2.0);
        let hour = ramp.steps(3, 60);
        assert!((hour[0].expect("an hour ago") - 3630.0).abs() < 31.0, "{:?}", hour[0]);
        let day = ramp.steps(5, 24);
        assert_eq!(day.iter().filter(|step| step.is_some()).count(), 2, "two hours");
        assert!(day[..21].iter().all(Option::is_none), "before the start there is nothing");
    }

    #[test]
    fn what_is_not_known_is_a_gap_and_a_late_frame_is_none() {
        let gap =
            spans((0..60).map(|second| (second, (!(20..=40).contains(&second)).then_some(1.0))));
        let steps = gap.steps(0, 60);
        assert_eq!((steps[10], steps[30], steps[50]), (Some(1.0), None, Some(1.0)));
        let late = spans([(0, Some(1.0)), (2, Some(1.0)), (32, Some(1.0)), (33, Some(1.0))]);
        let steps = late.steps(0, 60);
        assert_eq!((steps[27], steps[40]), (Some(1.0), None));
    }

    #[test]
    fn memory_is_bounded() {
        let long = spans((0..200_000).map(|second| (second, Some(1.0))));
        assert!(long.rings.iter().all(|ring| ring.means.len() < MEANS));
    }

    #[test]
    fn a_step_back_in_a_recording_forgets_only_what_came_later() {
        let ramp = || (0..600).map(|second| (second, Some(second as f32)));
        let back = spans(ramp().chain([(570, Some(570.0))]));
        let steps = back.steps(1, 60);
        assert!((steps[59].expect("now") - 570.0).abs() < 3.0, "{:?}", steps[59]);
        assert!((steps[30].expect("before") - 422.0).abs() < 6.0, "{:?}", steps[30]);
        let start = spans(ramp().chain([(0, Some(7.0))]));
        assert!(start.steps(1, 60)[..59].iter().all(Option::is_none));
    }
}
