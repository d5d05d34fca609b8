//! Widgets: plain data in, cells out. None knows the program's state, and none draws outside its area.
//!
//! Own widgets rather than ratatui's: those take colours, not meanings, allocate per span, and have
//! no notion of an absent or a late value, nor of a second set of glyphs.

mod bars;
mod canvas;
mod card;
pub mod format;
mod gauge;
pub mod glyphs;
mod graph;
mod hits;
pub(crate) mod layout;
mod lines;
mod menu;
mod page;
mod pen;
mod roofline;
mod scrollbar;
mod spark;
mod strip;
pub mod svg;
mod table;
#[cfg(test)]
mod tests;
pub mod theme;
mod tokens;
mod trend;
mod verdict;
mod wrap;

pub use bars::{Bar, BarLine, Bars, Rates};
pub use card::{Card, Popup};
pub use gauge::Gauge;
pub use graph::Graph;
pub use hits::{Hit, Hits, Link, Shown};
pub use lines::{Footer, Hint, Notice, Severity};
pub(crate) use menu::{Menu, Stand};
pub(crate) use page::{Page, PageWriter, Titled, draw_page, draw_text};
pub use pen::{Align, CellWriter, StyledText, pieces_width, text_width};
pub use roofline::{Point, Roof, Roofline};
pub use scrollbar::Scrollbar;
pub use spark::Spark;
pub use strip::DtypeStrip;
pub(crate) use table::slot;
pub use table::{Column, Sort, Table, TableLayout, scroll_to};
pub use tokens::{DecodedTokens, Mark};
pub use trend::{Level, Step, Trend};
pub use verdict::{outcome_role, verdict_cell};
pub(crate) use wrap::{NO_BREAK, section, wrap};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use warpscope_probes::{Reading, Scalar};

use crate::widgets::glyphs::Glyphs;
use crate::widgets::theme::{Ramp, Role, Theme};

/// What every widget needs to draw: the theme and the glyphs.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// Colours by meaning.
    pub theme: &'a Theme,
    /// Unicode or ASCII.
    pub glyphs: &'static Glyphs,
}

impl<'a> Look<'a> {
    /// A look made of both.
    pub fn new(theme: &'a Theme, glyphs: &'static Glyphs) -> Self {
        Self { theme, glyphs }
    }

    /// How text with this meaning is drawn.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// A text with a meaning.
    pub fn piece<'t>(&self, text: &'t str, role: Role) -> StyledText<'t> {
        (text, self.theme.style(role))
    }

    /// A pen on the first line of an area.
    pub fn pen<'b>(&self, buffer: &'b mut Buffer, area: Rect) -> CellWriter<'b> {
        CellWriter::new(buffer, area, self.glyphs)
    }
}

/// Where something is drawn, how it looks, and what it says besides.
pub struct Surface<'a> {
    /// Theme and glyphs.
    pub look: Look<'a>,
    /// The part of the screen.
    pub area: Rect,
    /// The screen.
    pub buffer: &'a mut Buffer,
    /// What can be clicked.
    pub hits: &'a mut Hits,
}

impl Surface<'_> {
    /// Another part of the same screen.
    pub(crate) fn at(&mut self, area: Rect) -> Surface<'_> {
        Surface { look: self.look, area, buffer: self.buffer, hits: self.hits }
    }

    /// Cuts lines off the top, or as many as there are.
    pub(crate) fn cut_top(&mut self, rows: u16) -> Surface<'_> {
        let top = layout::cut_top(&mut self.area, rows);
        self.at(top)
    }

    /// Cuts lines off the bottom, or as many as there are.
    pub(crate) fn cut_bottom(&mut self, rows: u16) -> Surface<'_> {
        let bottom = layout::cut_bottom(&mut self.area, rows);
        self.at(bottom)
    }

    /// Draws a widget all over it.
    pub(crate) fn draw(&mut self, widget: impl Widget) {
        widget.render(self.area, self.buffer);
    }

    /// A pen on its first line.
    pub(crate) fn pen(&mut self) -> CellWriter<'_> {
        self.look.pen(self.buffer, self.area)
    }

    /// Columns the text of a popup has.
    pub fn page_width(&self) -> usize {
        usize::from(self.area.width.saturating_sub(6)).clamp(10, 100)
    }
}

/// A share of a whole, 0 to 1, or why there is none to draw.
#[derive(Default, Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// As of this frame.
    Now(f32),
    /// The last one known.
    Late(f32),
    /// There is none; drawn as such, never as zero.
    #[default]
    Absent,
}

impl Amount {
    /// The share that a reading is of `whole`.
    pub fn of<T: Scalar>(reading: &Reading<T>, whole: f64) -> Self {
        let share = reading.last().and_then(Scalar::number).map(|value| value / whole);
        match share.filter(|share| share.is_finite()) {
            Some(share) if reading.is_late() => Self::Late(share as f32),
            Some(share) => Self::Now(share as f32),
            None => Self::Absent,
        }
    }

    /// The share, however old.
    pub fn share(self) -> Option<f32> {
        match self {
            Self::Now(share) | Self::Late(share) if share.is_finite() => {
                Some(share.clamp(0.0, 1.0))
            }
            _ => None,
        }
    }
}

/// What a drawing is coloured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// One colour.
    Role(Role),
    /// By value.
    Ramp(Ramp),
}

impl Paint {
    fn style(self, theme: &Theme, share: f32) -> Style {
        match self {
            Self::Role(role) => theme.style(role),
            Self::Ramp(ramp) => theme.ramp(ramp, share),
        }
    }
}

/// The highest value of a series, if it has one.
pub fn highest(values: &[Option<f32>]) -> Option<f32> {
    values.iter().flatten().copied().filter(|value| value.is_finite()).reduce(f32::max)
}

/// Where a value lies between two ends, 0 to 1; `None` for what is no number.
fn position(value: Option<f32>, (low, high): (f32, f32)) -> Option<f32> {
    let value = value.filter(|value| value.is_finite())?;
    let span = high - low;
    Some(if span > 0.0 { ((value - low) / span).clamp(0.0, 1.0) } else { 0.0 })
}
