use super::{History, run};
use crate::features::popup::{Flow, PopupEvent, Scroll};
use crate::widgets::{Surface, draw_text};

/// What lies over the tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Everything about one recorded run, by [`crate::store::trends::RecordedRun::hash`].
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

    pub(super) fn draw(&self, state: &History, on: Surface<'_>) {
        let width = on.page_width();
        let (page, scroll) = match self {
            Self::Run(run, scroll) => (run::page(state, on.look, *run, width), scroll),
            Self::Compared(scroll) => (run::compared(state, on.look, width), scroll),
        };
        draw_text(page, scroll.0, on);
    }
}
