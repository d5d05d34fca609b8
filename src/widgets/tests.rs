//! Widgets against literal screens, in both sets of glyphs, and against any size and data.

use ratatui::style::Modifier;
use ratatui::widgets::Widget;

use super::*;
use crate::widgets::svg::text;
use crate::widgets::theme::ColorDepth;

mod any;
mod charts;
mod frames;
mod table;
mod trend;
mod words;

/// A theme without colours: gauges then have a track that can be read here.
fn plain() -> Theme {
    Theme::default().at_depth(ColorDepth::None)
}

fn drawn(size: (u16, u16), ascii: bool, draw: impl Fn(Look<'_>, Rect, &mut Buffer)) -> Vec<String> {
    let theme = plain();
    let area = Rect::new(0, 0, size.0, size.1);
    let mut buffer = Buffer::empty(area);
    draw(Look::new(&theme, Glyphs::choose(ascii)), area, &mut buffer);
    text(&buffer).lines().map(str::to_owned).collect()
}

/// Compares a drawing in both sets of glyphs.
fn assert_drawn(
    size: (u16, u16),
    draw: impl Fn(Look<'_>, Rect, &mut Buffer),
    unicode: &[&str],
    ascii: &[&str],
) {
    assert_eq!(drawn(size, false, &draw), unicode);
    assert_eq!(drawn(size, true, &draw), ascii);
}
