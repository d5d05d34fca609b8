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
///
/// What a frame changes lies together: of a ring only its end is written, when a piece of time is over.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    last: Option<(Timestamp, Option<f32>)>,
    /// Milliseconds between the last two values.
    pace: u64,
    /// The newest piece of each span.
    open: [Open; SPANS.len()],
    /// Means of the pieces before it, oldest first; NaN for a gap.
    rings: [VecDeque<f32>; SPANS.len()],
}

/// The piece of time that is not over.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    sum: f32,
    count: u16,
}

impl Open {
    fn mean(self) -> Option<f32> {
        (self.count > 0).then(|| self.sum / f32::from(self.count))
    }
}

/// Milliseconds of a piece of a span.
fn width(span: &Span) -> u64 {
    span.seconds * 1000 / MEANS as u64
}

impl Spans {
    /// Takes the value of a frame. Where time goes back, as in a recording, what came later is forgotten.
    pub(super) fn push(&mut self, at: Timestamp, value: Option<f32>) {
        let value = value.filter(|value| value.is_finite());
        let before = self.last.filter(|last| last.0 <= at);
        if before.is_none() {
            self.rewind(at);
        }
        let passed = before.map_or(0, |(last, _)| at.0 - last.0);
        let held = before.and_then(|(_, held)| held);
        let held = held.filter(|_| passed <= LATE_MS.max(self.pace * 3));
        for (at_span, span) in SPANS.iter().enumerate() {
            let pieces = before.map_or(0, |(last, _)| at.0 / width(span) - last.0 / width(span));
            let open = &mut self.open[at_span];
            if pieces > 0 {
                let mean = std::mem::take(open).mean();
                let missed = (pieces - 1).min(MEANS as u64);
                let ring = &mut self.rings[at_span];
                keep(ring, mean);
                (0..missed).for_each(|_| keep(ring, held));
            }
            if let Some(value) = value {
                open.sum += value;
                open.count = open.count.saturating_add(1);
            }
        }
        (self.last, self.pace) = (Some((at, value)), passed);
    }

    /// Forgets what came after a time.
    fn rewind(&mut self, at: Timestamp) {
        let Some((last, _)) = self.last else { return };
        for ((span, ring), open) in SPANS.iter().zip(&mut self.rings).zip(&mut self.open) {
            let later = last.0 / width(span) - at.0 / width(span);
            let Ok(later @ 1..) = usize::try_from(later) else { continue };
            let left = ring.len().checked_sub(later);
            let mean = left.and_then(|left| ring.get(left)).copied().filter(|mean| !mean.is_nan());
            ring.truncate(left.unwrap_or_default());
            *open = Open { sum: mean.unwrap_or_default(), count: u16::from(mean.is_some()) };
        }
    }

    /// Whether there is a value within the span with this place in [`SPANS`].
    pub(super) fn has_values(&self, span: usize) -> bool {
        let is_known = |mean: &f32| !mean.is_nan();
        self.open.get(span).is_some_and(|open| open.count > 0)
            || self.rings.get(span).is_some_and(|ring| ring.iter().rev().any(is_known))
    }

    /// The span with this place in [`SPANS`] in so many equal steps, oldest first, up to the newest value.
    ///
    /// Steps stand still in time, so that what is over keeps its value while others follow, and move on by `group`: the last ones may
    /// be empty.
    pub(super) fn steps(&self, span: usize, (steps, group): (usize, usize)) -> Vec<Option<f32>> {
        let (Some(ring), Some(open)) = (self.rings.get(span), self.open.get(span)) else {
            return Vec::new();
        };
        let grid = self.grid(span, (steps, group));
        let value = |piece: u64| match grid.newest.checked_sub(piece)? {
            0 => open.mean(),
            back => {
                let at = ring.len().checked_sub(usize::try_from(back).ok()?)?;
                ring.get(at).copied().filter(|mean| !mean.is_nan())
            }
        };
        let step = |step: u64| {
            let (sum, count) = (grid.pieces(step))
                .filter_map(value)
                .fold((0.0, 0_u16), |(sum, count), value| (sum + value, count + 1));
            (count > 0).then(|| sum / f32::from(count))
        };
        (0..grid.steps).map(|at| step(grid.last + 1 + at - grid.steps)).collect()
    }

    /// How many steps of [`Self::steps`] lie behind the one with the mean, of [`MEANS`], so many before the newest.
    pub(super) fn steps_behind(
        &self,
        span: usize,
        (steps, group): (usize, usize),
        back: usize,
    ) -> usize {
        let grid = self.grid(span, (steps, group));
        (grid.last - grid.step_of(grid.newest.saturating_sub(back as u64))) as usize
    }

    fn grid(&self, span: usize, (steps, group): (usize, usize)) -> Grid {
        let time = self.last.map_or(0, |(at, _)| at.0);
        // One span later than it is, so that no step lies before the beginning of time.
        let newest = SPANS.get(span).map_or(0, |span| time / width(span)) + MEANS as u64;
        let (steps, group) = (steps as u64, group as u64);
        let mut grid = Grid { newest, steps, last: 0 };
        grid.last = grid.step_of(newest) / group * group + group - 1;
        grid
    }
}

/// Where steps lie among the pieces of a span.
struct Grid {
    /// The newest piece, numbered from the beginning of time.
    newest: u64,
    /// Steps of a span.
    steps: u64,
    /// The last step, numbered likewise.
    last: u64,
}

impl Grid {
    fn pieces(&self, step: u64) -> std::ops::Range<u64> {
        let first = step * MEANS as u64 / self.steps;
        first..((step + 1) * MEANS as u64 / self.steps).max(first + 1)
    }

    fn step_of(&self, piece: u64) -> u64 {
        ((piece + 1) * self.steps).saturating_sub(1) / MEANS as u64
    }
}

fn keep(ring: &mut VecDeque<f32>, mean: Option<f32>) {
    if ring.len() == MEANS - 1 {
        ring.pop_front();
    }
    ring.push_back(mean.unwrap_or(f32::NAN));
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
        let minute = ramp.steps(0, (60, 1));
        assert!((minute[59].expect("now") - 7199.0).abs() < 1.0);
        assert!((minute[0].expect("a minute ago") - 7140.0).abs() < 2.0);
        let hour = ramp.steps(3, (60, 1));
        // The first step begins up to a step after the span does, since the newest one is not over.
        let later = hour[0].expect("an hour ago") - 3630.0;
        assert!((-1.0..61.0).contains(&later), "{later}");
        let day = ramp.steps(5, (24, 1));
        assert_eq!(
            day.iter().filter(|step| step.is_some()).count(),
            3,
            "two hours, which begin within one"
        );
        assert!(day[..21].iter().all(Option::is_none), "before the start there is nothing");
    }

    #[test]
    fn what_is_not_known_is_a_gap_and_a_late_frame_is_none() {
        let gap =
            spans((0..60).map(|second| (second, (!(20..=40).contains(&second)).then_some(1.0))));
        let steps = gap.steps(0, (60, 1));
        assert_eq!((steps[10], steps[30], steps[50]), (Some(1.0), None, Some(1.0)));
        let late = spans([(0, Some(1.0)), (2, Some(1.0)), (32, Some(1.0)), (33, Some(1.0))]);
        let steps = late.steps(0, (60, 1));
        assert_eq!((steps[27], steps[40]), (Some(1.0), None));
    }

    #[test]
    fn pairs_keep_their_values_while_they_go_left() {
        let mut spans = Spans::default();
        let mut before: Vec<Option<f32>> = Vec::new();
        for second in 0..200 {
            let value = (second * 37 % 100) as f32;
            spans.push(Timestamp(1_700_000_000_000 + second * 1000), Some(value));
            let now = spans.steps(0, (86, 2));
            assert_eq!(now.len(), 86);
            let over = 86 - 4;
            let mut went = (0..=4).step_by(2);
            assert!(
                before.is_empty() || went.any(|by| now[..over - by] == before[by..over]),
                "after {second} s: {before:?}, {now:?}"
            );
            before = now;
        }
    }

    #[test]
    fn a_value_is_found_in_its_step() {
        let ramp = spans((0..60).map(|second| (second, Some(second as f32))));
        let (fine, pairs) = (ramp.steps(0, (MEANS, 1)), ramp.steps(0, (86, 2)));
        for back in [0, 1, 7, 100, 200, 300] {
            let behind = ramp.steps_behind(0, (86, 2), back);
            let step = pairs[pairs.len() - 1 - behind].expect("known");
            let value = fine[MEANS - 1 - back].expect("known");
            assert!((step - value).abs() <= 1.0, "{back}: {step} and {value}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let long = spans((0..200_000).map(|second| (second, Some(1.0))));
        assert!(long.rings.iter().all(|ring| ring.len() < MEANS));
    }

    #[test]
    fn a_step_back_in_a_recording_forgets_only_what_came_later() {
        let ramp = || (0..600).map(|second| (second, Some(second as f32)));
        let back = spans(ramp().chain([(570, Some(570.0))]));
        let steps = back.steps(1, (60, 1));
        assert!((steps[59].expect("now") - 570.0).abs() < 3.0, "{:?}", steps[59]);
        assert!((steps[30].expect("before") - 422.0).abs() < 6.0, "{:?}", steps[30]);
        let start = spans(ramp().chain([(0, Some(7.0))]));
        assert!(start.steps(1, (60, 1))[..59].iter().all(Option::is_none));
    }
}
