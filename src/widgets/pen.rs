//! Writing along one line, within bounds.
//!
//! ASCII goes to the cells directly; only other text pays for finding grapheme clusters.

use ratatui::buffer::{Buffer, Cell, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpscope_probes::text::shown_as;

use crate::text::clean;
use crate::widgets::glyphs::Glyphs;

/// A text and how it is drawn.
pub type StyledText<'a> = (&'a str, Style);

/// Which side of its column a text keeps to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Text.
    #[default]
    Left,
    /// Numbers.
    Right,
    /// Symbols.
    Center,
}

/// Columns that a text takes on the screen.
pub fn text_width(text: &str) -> u16 {
    if text.is_ascii() {
        return text.len().min(usize::from(u16::MAX)) as u16;
    }
    clean(text, false).cell_width()
}

/// Columns that pieces take together.
pub fn pieces_width(pieces: &[StyledText<'_>]) -> u16 {
    pieces.iter().fold(0, |sum, (text, _)| sum.saturating_add(text_width(text)))
}

/// The style without the modifiers of what was there before; its background stays.
fn exactly(style: Style) -> Style {
    Style { sub_modifier: Modifier::all().difference(style.add_modifier), ..style }
}

/// Writes from left to right on one line and stops at the end of its area.
#[derive(Debug)]
pub struct CellWriter<'b> {
    buffer: &'b mut Buffer,
    glyphs: &'static Glyphs,
    x: u16,
    end: u16,
    y: u16,
    /// Which side [`CellWriter::fit`] keeps to.
    pub align: Align,
}

impl<'b> CellWriter<'b> {
    /// A pen on the first line of `area`, as far as the buffer goes.
    pub fn new(buffer: &'b mut Buffer, area: Rect, glyphs: &'static Glyphs) -> Self {
        let area = area.intersection(buffer.area);
        let end = if area.height == 0 { area.x } else { area.right() };
        Self { buffer, glyphs, x: area.x, end, y: area.y, align: Align::Left }
    }

    /// Columns that are left.
    pub fn rest(&self) -> u16 {
        self.end - self.x
    }

    /// Column of the next character.
    pub fn x(&self) -> u16 {
        self.x
    }

    /// Leaves columns as they are.
    pub fn skip(&mut self, columns: u16) -> &mut Self {
        self.x = self.x.saturating_add(columns).min(self.end);
        self
    }

    /// Moves so far that `columns` are left, if more were.
    pub fn skip_to_last(&mut self, columns: u16) -> &mut Self {
        self.skip(self.rest().saturating_sub(columns))
    }

    /// Writes a text; what does not fit is cut, and hostile characters are replaced.
    pub fn put(&mut self, text: &str, style: Style) -> &mut Self {
        let rest = self.rest();
        self.put_within(text, rest, style)
    }

    fn put_within(&mut self, text: &str, columns: u16, style: Style) -> &mut Self {
        let columns = columns.min(self.rest());
        let style = exactly(style);
        if !text.is_ascii() {
            let text = clean(text, false);
            self.x = self.buffer.set_stringn(self.x, self.y, text, columns.into(), style).0;
            return self;
        }
        let mut written = 0;
        for (cell, letter) in self.cells(columns).iter_mut().zip(text.chars()) {
            cell.set_char(shown_as(letter)).set_style(style);
            written += 1;
        }
        self.x += written;
        self
    }

    /// The next cells of the line.
    fn cells(&mut self, columns: u16) -> &mut [Cell] {
        let columns = columns.min(self.rest());
        if columns == 0 {
            return &mut [];
        }
        let start = self.buffer.index_of(self.x, self.y);
        &mut self.buffer.content[start..start + usize::from(columns)]
    }

    /// Writes one glyph, which is known to be one cell wide.
    pub fn glyph(&mut self, glyph: &str, style: Style) -> &mut Self {
        self.repeat(glyph, 1, style)
    }

    /// Writes one glyph several times.
    pub fn repeat(&mut self, glyph: &str, times: u16, style: Style) -> &mut Self {
        let style = exactly(style);
        let cells = self.cells(times);
        for cell in cells.iter_mut() {
            cell.set_symbol(glyph).set_style(style);
        }
        self.x += cells.len() as u16;
        self
    }

    /// Writes pieces one after the other.
    pub fn pieces(&mut self, pieces: &[StyledText<'_>]) -> &mut Self {
        for (text, style) in pieces {
            self.put(text, *style);
        }
        self
    }

    /// Writes a text into exactly `columns`, with an ellipsis where it is cut.
    pub fn elide(&mut self, text: &str, columns: u16, style: Style) -> &mut Self {
        let columns = columns.min(self.rest());
        let end = self.x + columns;
        if text_width(text) <= columns {
            self.put_within(text, columns, style);
        } else if columns > 0 {
            let ellipsis = self.glyphs.ellipsis;
            self.put_within(text, columns - 1, style).glyph(ellipsis, style);
        }
        self.x = end;
        self
    }

    /// Writes a text into all that is left, on the side of [`CellWriter::align`].
    pub fn fit(&mut self, text: &str, style: Style) -> &mut Self {
        let spare = self.rest().saturating_sub(text_width(text));
        match self.align {
            Align::Left => {}
            Align::Right => _ = self.skip(spare),
            Align::Center => _ = self.skip(spare / 2),
        }
        let rest = self.rest();
        self.elide(text, rest, style)
    }
}
