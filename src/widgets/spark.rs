//! A history on one line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Look, Paint, highest, position};
use crate::widgets::theme::Role;

/// One column per value, the newest on the right. A value that is missing leaves a gap; a zero does not.
#[derive(Clone, Copy, Debug)]
pub struct Spark<'a> {
    look: Look<'a>,
    values: &'a [Option<f32>],
    paint: Paint,
    max: Option<f32>,
}

impl<'a> Spark<'a> {
    /// A history from zero to its own highest value.
    pub fn new(look: Look<'a>, values: &'a [Option<f32>], paint: Paint) -> Self {
        Self { look, values, paint, max: None }
    }

    /// Fixes the upper end.
    #[must_use]
    pub fn max(mut self, max: f32) -> Self {
        self.max = Some(max);
        self
    }
}

impl Widget for &Spark<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let mut pen = self.look.pen(buffer, area);
        let width = usize::from(pen.rest());
        let seen = &self.values[self.values.len().saturating_sub(width)..];
        let Some(top) = highest(seen) else {
            pen.repeat(self.look.glyphs.gap, pen.rest(), self.look.style(Role::Absent));
            return;
        };
        let range = (0.0, self.max.unwrap_or(top));
        pen.skip((width - seen.len()) as u16);
        for value in seen {
            match position(*value, range) {
                Some(share) => {
                    let level = (share * 7.0 + 0.5) as usize;
                    let glyph = self.look.glyphs.spark[level.min(7)];
                    pen.glyph(glyph, self.paint.style(self.look.theme, share))
                }
                None => pen.skip(1),
            };
        }
    }
}
