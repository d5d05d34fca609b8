//! Horizontal bars on a common scale.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::{CellWriter, Look, text_width};
use crate::widgets::format::{self, Short};
use crate::widgets::theme::Role;

/// One bar.
#[derive(Clone, Copy, Debug)]
pub struct Bar<'a> {
    /// What was measured.
    pub label: &'a str,
    /// The value; `None` where there is none.
    pub value: Option<f64>,
    /// The value as text.
    pub text: &'a str,
    /// Its colour.
    pub role: Role,
}

/// Bars below each other: label, bar, value.
#[derive(Clone, Copy, Debug)]
pub struct Bars<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// The bars, from the top.
    pub bars: &'a [Bar<'a>],
}

/// Bars beside each other on one line: `fp32 ▎ 3.0k  fp16 ███▌ 11.2k`.
#[derive(Clone, Copy, Debug)]
pub struct BarLine<'a>(pub Bars<'a>);

impl Bars<'_> {
    /// The share of a full bar that a value fills.
    fn share(&self, value: f64) -> f64 {
        let values = self.bars.iter().filter_map(|bar| bar.value);
        let share = value / values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Draws the bar of a value, and a blank behind it if there is one.
    fn draw_spaced(&self, bar: &Bar<'_>, width: u16, pen: &mut CellWriter<'_>) {
        let style = self.look.style(bar.role);
        let Some(value) = bar.value else { return };
        let least = if value > 0.0 { 1.0 } else { 0.0 };
        let eighths = (self.share(value) * f64::from(width) * 8.0).round().max(least) as usize;
        let start = pen.x();
        pen.repeat(self.look.glyphs.full, (eighths / 8) as u16, style);
        if let Some(glyph) = self.look.glyphs.eighth(eighths % 8) {
            pen.glyph(glyph, style);
        }
        pen.skip(u16::from(pen.x() > start));
    }

    fn text_role(bar: &Bar<'_>) -> Role {
        if bar.value.is_some() { Role::Text } else { Role::Absent }
    }

    fn widest(&self, text: impl Fn(&Bar<'_>) -> u16) -> u16 {
        self.bars.iter().map(text).max().unwrap_or(0)
    }
}

impl Widget for &Bars<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let label = self.widest(|bar| text_width(bar.label));
        let value = self.widest(|bar| text_width(bar.text));
        let room = area.width.saturating_sub(label).saturating_sub(value + 2);
        for (row, bar) in area.rows().zip(self.bars) {
            let mut pen = self.look.pen(buffer, row);
            pen.elide(bar.label, label, self.look.style(Role::Muted)).skip(1);
            self.draw_spaced(bar, room, &mut pen);
            pen.put(bar.text, self.look.style(Bars::text_role(bar)));
        }
    }
}

impl Widget for &BarLine<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        const GAP: u16 = 2;
        let bars = &self.0;
        let mut pen = bars.look.pen(buffer, area);
        let fixed = |bar: &Bar<'_>| text_width(bar.label) + 1 + text_width(bar.text);
        let mut shown = bars.bars.len();
        let taken = |shown: usize| {
            bars.bars[..shown].iter().fold(0u16, |sum, bar| sum.saturating_add(fixed(bar) + GAP))
        };
        while shown > 0 && taken(shown) > pen.rest() + GAP {
            shown -= 1;
        }
        let spare = (pen.rest() + GAP).saturating_sub(taken(shown));
        let room = spare / (shown.max(1) as u16);
        for bar in &bars.bars[..shown] {
            pen.put(bar.label, bars.look.style(Role::Muted)).skip(1);
            if room > 1 {
                bars.draw_spaced(bar, room - 1, &mut pen);
            }
            pen.put(bar.text, bars.look.style(Bars::text_role(bar))).skip(GAP);
        }
    }
}

/// Rates with their texts, to be drawn as bars.
pub struct Rates<'a>(Vec<(&'a str, Role, Option<f64>, Short)>);

impl<'a> Rates<'a> {
    /// Of labels, colours and rates.
    pub fn new(rates: &[(&'a str, Role, Option<f64>)]) -> Self {
        let text = |rate| format::or_absent(rate, format::count);
        Self(rates.iter().map(|(label, role, rate)| (*label, *role, *rate, text(*rate))).collect())
    }

    /// A bar for each.
    pub fn bars(&self) -> Vec<Bar<'_>> {
        self.0
            .iter()
            .map(|(label, role, value, text)| Bar { label, value: *value, text, role: *role })
            .collect()
    }
}
