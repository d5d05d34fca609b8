//! Changed cells beside each other, and the order in which they are sent.

use super::shown::Shown;
use super::style::{CellStyle, VISIBLE_ON_BLANK};

/// How cells are brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// Written one after the other.
    Text,
    /// Erased, so many.
    EraseCells,
    /// Erased with all that follows in the row.
    EraseRest,
}

/// Cells of one row and one style.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) x: usize,
    pub(super) y: u16,
    pub(super) columns: usize,
    pub(super) style: CellStyle,
    /// Whether only the background can be seen.
    pub(super) is_blank: bool,
    pub(super) means: Means,
}

impl Run {
    pub(super) fn new((x, y): (usize, u16), columns: usize, wanted: Shown, means: Means) -> Self {
        let (style, is_blank) = (wanted.style, wanted.is_blank());
        Self { x, y, columns, style, is_blank, means }
    }

    /// Whether a style shows these cells as they should be.
    pub(super) fn fits(&self, style: CellStyle) -> bool {
        let plain = !style.modifier.intersects(VISIBLE_ON_BLANK);
        self.style == style || self.is_blank && self.style.bg == style.bg && plain
    }

    /// Takes over the cells behind this run, if one style does for both.
    fn join(&mut self, next: &Self) -> bool {
        let beside = self.y == next.y && self.x + self.columns == next.x;
        if !beside || self.means != Means::Text || next.means != Means::Text {
            return false;
        }
        if self.is_blank && self.fits(next.style) {
            (self.style, self.is_blank) = (next.style, next.is_blank);
        } else if self.is_blank || !next.fits(self.style) {
            return false;
        }
        self.columns += next.columns;
        true
    }
}

/// What is to be sent, row by row.
#[derive(Debug, Default)]
pub(super) struct Runs(Vec<Run>);

impl Runs {
    pub(super) fn push(&mut self, run: Run) {
        if !self.0.last_mut().is_some_and(|last| last.join(&run)) {
            self.0.push(run);
        }
    }

    /// Hands out everything of one style before the next: a move of the cursor is shorter than a change of colours.
    pub(super) fn drain(&mut self, mut style: Option<CellStyle>, mut send: impl FnMut(&Run)) {
        while let Some(first) = self.0.first() {
            let is_near = |run: &&Run| style.is_some_and(|style| run.style.bg == style.bg);
            let next = self.0.iter().find(is_near).unwrap_or(first).style;
            self.0.retain(|run| {
                let fits = run.fits(next);
                if fits {
                    send(run);
                }
                !fits
            });
            style = Some(next);
        }
    }
}
