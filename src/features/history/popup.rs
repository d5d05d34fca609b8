use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{History, run};
use crate::features::popup::{Flow, PopupEvent, Scroll};
use crate::widgets::{Hits, Look, draw_text, page_width};

/// What lies over the tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Everything about one recorded run, by [`crate::store::kernels::Past::hash`].
    Run(i64, Scroll),
    /// The two marked runs beside each other.
    Compared(Scroll),
}

impl Popup {
    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match self {
            Self::Run(_, scroll) | Self::Compared(scroll) => scroll.on(event),
        }
    }

    pub(super) fn draw(
        &self,
        state: &History,
        look: Look<'_>,
        area: Rect,
        buffer: &mut Buffer,
        hits: &mut Hits,
    ) {
        let width = page_width(area);
        let (page, scroll) = match self {
            Self::Run(run, scroll) => (run::page(state, look, *run, width), scroll),
            Self::Compared(scroll) => (run::compared(state, look, width), scroll),
        };
        draw_text(look, page, scroll.0, area, buffer, hits);
    }
}
