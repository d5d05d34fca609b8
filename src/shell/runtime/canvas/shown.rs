//! Cells as the terminal shows them.

use ratatui::buffer::{Cell, CellWidth};
use ratatui::style::{Color, Modifier};
use warpscope_probes::text::is_hostile;

use super::style::{CellStyle, VISIBLE_ON_BLANK};

/// One cell as the terminal shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// `None`: not known, or more than one character; never the same as anything.
    pub(super) glyph: Option<char>,
    pub(super) style: CellStyle,
}

impl Shown {
    pub(super) const UNKNOWN: Self = Self {
        glyph: None,
        style: CellStyle { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() },
    };
    /// The right half of a wide character.
    pub(super) const COVERED: Self = Self { glyph: Some('\0'), ..Self::UNKNOWN };

    // Ten thousand times a frame.
    #[inline(always)]
    pub(super) fn of(cell: &Cell) -> Self {
        let glyph = match cell.symbol().as_bytes() {
            // Most of a screen.
            [ascii] => Some(char::from(*ascii)),
            _ => {
                let mut symbol = cell.symbol().chars();
                symbol.next().filter(|_| symbol.next().is_none())
            }
        };
        let style = CellStyle { fg: cell.fg, bg: cell.bg, modifier: cell.modifier };
        if glyph == Some(' ') && !cell.modifier.intersects(VISIBLE_ON_BLANK) {
            // What nobody can see must not count as a change.
            return Self { glyph, style: CellStyle { bg: cell.bg, ..CellStyle::default() } };
        }
        Self { glyph, style }
    }

    pub(super) fn is_covered(self) -> bool {
        self.glyph == Self::COVERED.glyph
    }

    pub(super) fn is_blank(self) -> bool {
        self.glyph == Some(' ') && !self.style.modifier.intersects(VISIBLE_ON_BLANK)
    }

    pub(super) fn is(self, other: Self) -> bool {
        self.glyph.is_some() && self == other
    }
}

/// What is sent for a cell, and the columns that takes.
pub(super) fn printed(cell: &Cell) -> (&str, usize) {
    let hostile = cell.symbol().contains(is_hostile);
    // A control character has no width to ask for.
    let controls = hostile && cell.symbol().contains(char::is_control);
    let columns = if controls { 1 } else { usize::from(cell.cell_width()) };
    let symbol = match columns {
        2.. if hostile => "\u{fffd} ",
        _ if hostile => "\u{fffd}",
        0 => " ",
        _ => cell.symbol(),
    };
    (symbol, columns.max(1))
}
