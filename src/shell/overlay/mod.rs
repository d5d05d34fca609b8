//! What lies over whatever tab is in view.

mod help;
mod notices;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::App;
use crate::features::what_if::Picker;
use crate::features::{Flow, PopupEvent, Scroll};
use crate::widgets::{Hits, Look, draw_text, page_width};

/// What lies over whatever tab is in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Keys.
    Help(Scroll),
    /// What was not found.
    Notices(Scroll),
    /// The catalogue.
    Picker(Picker),
}

impl Overlay {
    /// What an event changes.
    pub(crate) fn on(&mut self, event: PopupEvent) -> Flow {
        match self {
            Self::Help(scroll) | Self::Notices(scroll) => scroll.on(event),
            Self::Picker(picker) => picker.on(event),
        }
    }

    /// Draws it over the body.
    pub(crate) fn draw(
        &self,
        app: &App,
        look: Look<'_>,
        area: Rect,
        buffer: &mut Buffer,
        hits: &mut Hits,
    ) {
        let (page, scroll) = match self {
            Self::Help(scroll) => (help::page(&app.keymap, look), scroll),
            Self::Notices(scroll) => {
                (notices::page(&app.shared.frame, look, page_width(area)), scroll)
            }
            Self::Picker(picker) => return picker.draw(look, area, buffer, hits),
        };
        draw_text(look, page, scroll.0, area, buffer, hits);
    }
}
