//! Dots finer than cells, for plots with lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Look;
use super::graph::{DOTS, braille};
use super::theme::Role;

/// Dots, 2×4 a cell with Braille and one a cell without; rows count from the bottom.
pub(super) struct Canvas {
    area: Rect,
    pub(super) width: u16,
    pub(super) height: u16,
    per_cell: (u16, u16),
    bits: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(area: Rect, fine: bool) -> Self {
        let per_cell = if fine { (2, 4) } else { (1, 1) };
        let (width, height) = (area.width * per_cell.0, area.height * per_cell.1);
        Self { area, width, height, per_cell, bits: vec![0; area.area() as usize] }
    }

    /// Sets the dots of a column that lead from one row to another.
    pub(super) fn set_column(&mut self, x: u16, from: u16, to: u16) {
        for y in to.min(from + 1)..=to.max(from.saturating_sub(1)) {
            let (column, row) = (x / self.per_cell.0, y / self.per_cell.1);
            let index = usize::from(row) * usize::from(self.area.width) + usize::from(column);
            let dot = DOTS[usize::from(x % self.per_cell.0)][usize::from(y % self.per_cell.1)];
            self.bits[index] |= dot;
        }
    }

    /// Draws what is set; without Braille, `plain` in every cell that has a dot.
    pub(super) fn draw(&self, look: Look<'_>, role: Role, plain: &str, buffer: &mut Buffer) {
        for (index, bits) in self.bits.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let row = (index / usize::from(self.area.width)) as u16;
            let column = (index % usize::from(self.area.width)) as u16;
            let cell = &mut buffer[(self.area.x + column, self.area.bottom() - 1 - row)];
            cell.set_style(look.style(role));
            match look.glyphs.is_unicode {
                true => cell.set_char(braille(*bits)),
                false => cell.set_symbol(plain),
            };
        }
    }
}
