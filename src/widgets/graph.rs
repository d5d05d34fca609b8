//! A history on several lines.
//!
//! Every cell is computed from the two values it covers, so no canvas is allocated.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{Align, Look, Paint, position, text_width};
use crate::widgets::theme::{Ramp, Role};

/// An area graph of two values per column, the newest on the right, coloured by height.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'a> {
    look: Look<'a>,
    values: &'a [Option<f32>],
    range: (f32, f32),
    paint: Paint,
    labels: Option<(&'a str, &'a str)>,
    reading: Option<usize>,
}

/// Dots of the left and of the right column of a Braille cell, from the bottom.
pub(super) const DOTS: [[u8; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

impl<'a> Graph<'a> {
    /// A graph of values between two ends.
    pub fn new(look: Look<'a>, values: &'a [Option<f32>], range: (f32, f32)) -> Self {
        Self { look, values, range, paint: Paint::Ramp(Ramp::Graph), labels: None, reading: None }
    }

    /// Colours; [`Ramp::Graph`] if not called.
    #[must_use]
    pub fn paint(mut self, paint: Paint) -> Self {
        self.paint = paint;
        self
    }

    /// What to write beside the upper and the lower end.
    #[must_use]
    pub fn labels(mut self, high: &'a str, low: &'a str) -> Self {
        self.labels = Some((high, low));
        self
    }

    /// A line through the value so many before the newest.
    #[must_use]
    pub fn reading(mut self, back: Option<usize>) -> Self {
        self.reading = back;
        self
    }

    /// Draws the line through the value that is read.
    fn draw_reading(&self, plot: Rect, buffer: &mut Buffer) {
        let back = self.reading.and_then(|back| u16::try_from(back / 2).ok());
        let Some(back) = back.filter(|back| *back < plot.width) else { return };
        for y in plot.top()..plot.bottom() {
            let cell = &mut buffer[(plot.right() - 1 - back, y)];
            cell.set_symbol(self.look.glyphs.vertical).set_style(self.look.style(Role::Accent));
        }
    }

    /// Pairs of values that fit into an area.
    pub fn columns(&self, area: Rect) -> usize {
        usize::from(self.plot(area).width)
    }

    /// What is left of an area beside the labels.
    fn plot(&self, area: Rect) -> Rect {
        let Some((high, low)) = self.labels else { return area };
        let width = text_width(high).max(text_width(low));
        if area.height < 2 || area.width < width + 8 {
            return area;
        }
        Rect { x: area.x + width + 1, width: area.width - width - 1, ..area }
    }

    /// Draws the labels and returns what is left for the plot.
    fn draw_labels(&self, area: Rect, buffer: &mut Buffer) -> Rect {
        let plot = self.plot(area);
        let Some((high, low)) = self.labels.filter(|_| plot != area) else { return area };
        let width = plot.x - area.x - 1;
        for (text, y) in [(high, area.y), (low, area.bottom() - 1)] {
            let mut pen = self.look.pen(buffer, Rect { y, width, height: 1, ..area });
            pen.align = Align::Right;
            pen.fit(text, self.look.style(Role::Muted));
        }
        plot
    }

    fn draw_column(&self, column: u16, area: Rect, buffer: &mut Buffer) {
        let back = usize::from(area.right() - 1 - column) * 2;
        let dots = u32::from(area.height) * 4;
        let fill = [back + 1, back].map(|back| height(self.values, back, self.range, dots));
        for row in 0..area.height {
            let base = u32::from(row) * 4;
            let dots = area_bits(fill, base);
            if dots == 0 {
                continue;
            }
            let share = (f32::from(row) + 0.5) / f32::from(area.height);
            let cell = &mut buffer[(column, area.bottom() - 1 - row)];
            cell.set_style(self.paint.style(self.look.theme, share));
            match self.look.glyphs.is_unicode {
                true => cell.set_char(braille(dots)),
                false => cell.set_symbol(self.plain(fill, base)),
            };
        }
    }

    /// The ASCII stand-in of a cell.
    fn plain(&self, fill: [Option<u32>; 2], base: u32) -> &'static str {
        let top = fill[0].max(fill[1]).unwrap_or(0);
        let level = (top.saturating_sub(base).clamp(1, 4) * 2 - 1) as usize;
        self.look.glyphs.spark[level]
    }
}

/// Dots to fill for the value `back` steps before the newest; at least one, since zero is a value.
fn height(values: &[Option<f32>], back: usize, range: (f32, f32), dots: u32) -> Option<u32> {
    let value = values.len().checked_sub(back + 1).and_then(|index| values[index]);
    position(value, range).map(|share| 1 + (share * (dots - 1) as f32).round() as u32)
}

fn area_bits(fill: [Option<u32>; 2], base: u32) -> u8 {
    let mut bits = 0;
    for (side, height) in fill.into_iter().enumerate() {
        let filled = height.unwrap_or(0).saturating_sub(base).min(4);
        bits |= DOTS[side][..filled as usize].iter().fold(0, |bits, dot| bits | dot);
    }
    bits
}

/// The Braille character with these dots.
pub(super) fn braille(bits: u8) -> char {
    char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ')
}

impl Widget for &Graph<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let plot = self.draw_labels(area, buffer);
        let shown = usize::from(plot.width) * 2;
        let newest = &self.values[self.values.len().saturating_sub(shown)..];
        if newest.iter().all(Option::is_none) {
            let middle = Rect { y: plot.y + plot.height / 2, height: 1, ..plot };
            let absent = self.look.style(Role::Absent);
            self.look.pen(buffer, middle).repeat(self.look.glyphs.gap, plot.width, absent);
            return;
        }
        for column in plot.left()..plot.right() {
            self.draw_column(column, plot, buffer);
        }
        self.draw_reading(plot, buffer);
    }
}
