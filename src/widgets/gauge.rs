//! A bar for a share of a whole.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use super::{Align, Amount, Look};
use crate::widgets::theme::{ColorDepth, Ramp, Role};

/// A bar filled by eighths of a cell, coloured along its length, with a label on its right.
///
/// Late values lose their colours; absent ones are a dotted line, never an empty bar.
#[derive(Clone, Copy, Debug)]
pub struct Gauge<'a> {
    look: Look<'a>,
    amount: Amount,
    ramp: Ramp,
    label: &'a str,
    label_width: u16,
}

impl<'a> Gauge<'a> {
    /// A gauge without label.
    pub fn new(look: Look<'a>, amount: Amount, ramp: Ramp) -> Self {
        Self { look, amount, ramp, label: "", label_width: 0 }
    }

    /// Text on the right, in a column of `width`, so that gauges below each other align.
    #[must_use]
    pub fn label(mut self, label: &'a str, width: u16) -> Self {
        (self.label, self.label_width) = (label, width);
        self
    }

    fn draw_bar(&self, area: Rect, buffer: &mut Buffer) {
        let theme = self.look.theme;
        let mut pen = self.look.pen(buffer, area);
        let Some(share) = self.amount.share() else {
            pen.repeat(self.look.glyphs.gap, area.width, theme.style(Role::Absent));
            return;
        };
        let (track, behind) = self.track();
        let eighths = eighths(share, area.width);
        for column in 0..area.width {
            let filled = eighths.saturating_sub(usize::from(column) * 8);
            match self.look.glyphs.eighth(filled) {
                Some(glyph) => pen.glyph(glyph, self.fill(column, area.width).patch(behind)),
                None => pen.glyph(track, theme.style(Role::Track).patch(behind)),
            };
        }
    }

    /// The empty part: a background where there are colours enough, a shade where not.
    fn track(&self) -> (&'static str, Style) {
        if self.look.theme.depth() < ColorDepth::Indexed256 || !self.look.glyphs.is_unicode {
            return (self.look.glyphs.track, Style::new());
        }
        match self.look.style(Role::Track).fg {
            Some(color @ (ratatui::style::Color::Rgb(..) | ratatui::style::Color::Indexed(_))) => {
                (" ", Style::new().bg(color))
            }
            _ => (self.look.glyphs.track, Style::new()),
        }
    }

    fn fill(&self, column: u16, width: u16) -> Style {
        match self.amount {
            Amount::Late(_) => self.look.style(Role::Late),
            _ => {
                let along = f32::from(column) / f32::from(width.saturating_sub(1).max(1));
                self.look.theme.ramp(self.ramp, along)
            }
        }
    }
}

/// Eighths of a cell to fill; something is never drawn as nothing.
fn eighths(share: f32, width: u16) -> usize {
    let exact = share * f32::from(width) * 8.0;
    if share > 0.0 { exact.round().max(1.0) as usize } else { 0 }
}

impl Widget for &Gauge<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = Rect { height: area.height.min(1), ..area }.intersection(buffer.area);
        let label = if self.label_width == 0 { 0 } else { self.label_width + 1 };
        let bar = Rect { width: area.width.saturating_sub(label), ..area };
        if bar.is_empty() {
            return;
        }
        self.draw_bar(bar, buffer);
        if label > 0 {
            let role = match self.amount {
                Amount::Now(_) => Role::Text,
                Amount::Late(_) => Role::Late,
                Amount::Absent => Role::Absent,
            };
            let at = Rect { x: bar.right() + 1, width: self.label_width, ..area };
            let mut pen = self.look.pen(buffer, at);
            pen.align = Align::Right;
            pen.fit(self.label, self.look.style(role));
        }
    }
}
