//! Parts of a row that stand a few columns further left than before, as a history does when time goes on.

use super::shown::Shown;

/// A part that moved left: what stood in `begin + by..end + by` now stands in `begin..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    pub(super) begin: usize,
    pub(super) end: usize,
    pub(super) by: usize,
}

/// Most columns a part is looked for further left.
const FARTHEST: usize = 2;
/// Bytes that moving a part takes: going to both of its ends, a sequence at each, and what comes in.
const COST: usize = 22;
/// Bytes that going to a stretch of changes takes.
const GOING: usize = 4;

/// The parts of a row that are cheaper to move than to write, by the columns that differ, in order; they do not overlap.
pub(super) fn find(shown: &[Shown], wanted: &[Shown], stale: &[usize]) -> Vec<Shift> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < stale.len() {
        let by_any = (1..=FARTHEST).filter_map(|by| Shift::at(shown, wanted, &stale[at..], by));
        match by_any.max_by_key(|part| part.end) {
            Some(part) => {
                at += stale[at..].partition_point(|x| *x < part.end + part.by);
                parts.push(part);
            }
            None => at += 1,
        }
    }
    parts
}

impl Shift {
    /// The part that begins with the first of the columns that differ, if it is worth moving.
    fn at(shown: &[Shown], wanted: &[Shown], stale: &[usize], by: usize) -> Option<Self> {
        let begin = *stale.first()?;
        let is_moved = |x: &usize| wanted[*x].is(shown[*x + by]);
        let most = (begin..shown.len().saturating_sub(by)).take_while(is_moved).count();
        let moved = &stale[..stale.partition_point(|x| *x < begin + most)];
        let bytes = |x: &usize| wanted[*x].glyph.map_or(0, char::len_utf8);
        let stretches = 1 + moved.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        let spared = moved.iter().map(bytes).sum::<usize>() + stretches * GOING;
        let end = moved.last()? + 1;
        (spared > COST).then_some(Self { begin, end, by })
    }

    /// Moves the part in what is shown; what comes in is not known.
    pub(super) fn apply(self, shown: &mut [Shown]) {
        shown.copy_within(self.begin + self.by..self.end + self.by, self.begin);
        shown[self.end..self.end + self.by].fill(Shown::UNKNOWN);
    }
}
