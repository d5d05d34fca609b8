//! A verdict in a cell of a matrix.

use super::{CellWriter, Look};
use crate::engine::{Cell, Level, Outcome};
use crate::widgets::theme::Role;

/// The colour of an outcome.
pub fn outcome_role(outcome: Outcome) -> Role {
    match outcome {
        Outcome::Works => Role::Works,
        Outcome::Fallback => Role::Fallback,
        Outcome::Slow => Role::Slow,
        Outcome::NoObstacle => Role::Info,
        Outcome::Partial => Role::Partial,
        Outcome::WrongOutput => Role::WrongOutput,
        Outcome::Fails => Role::Fails,
        Outcome::Unknown => Role::Unknown,
    }
}

/// Writes symbol and letter of evidence, `✔m`, and a mark after it where the verdict is less than sure.
pub fn verdict_cell(look: Look<'_>, pen: &mut CellWriter<'_>, cell: &Cell) {
    let (outcome, mark) = (cell.outcome, cell.mark());
    if pen.align == super::Align::Center {
        // Symbols stand below each other; the mark hangs over where there is room for it.
        let rest = pen.rest();
        let spare = rest.saturating_sub(2) / 2;
        pen.skip(spare.min(rest.saturating_sub(2 + mark.len() as u16)));
    }
    pen.glyph(outcome.symbol(!look.glyphs.is_unicode), look.style(outcome_role(outcome)));
    if outcome != Outcome::Unknown {
        pen.put(cell.level.map_or("", Level::letter), look.style(Role::Muted));
    }
    pen.put(mark, look.style(if cell.disputed { Role::Warn } else { Role::Muted }));
}
