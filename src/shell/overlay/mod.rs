//! What lies over whatever tab is in view.

mod error_text;
mod help;
mod hosts;
mod notices;
mod options;
mod palette;

pub(crate) use self::error_text::ErrorText;
pub(crate) use self::hosts::HostsMenu;
pub(crate) use self::notices::{commands, is_noticed};
pub(crate) use self::options::OptionsMenu;
pub(crate) use self::palette::Palette;
use super::App;
use crate::features::popup::{CLOSE_HINTS, PopupHint, SEARCH_HINTS};
use crate::features::what_if::Picker;
use crate::features::{Flow, PopupEvent, Scroll, SearchPage};
use crate::widgets::{Surface, draw_text};

/// What lies over whatever tab is in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Overlay {
    /// Keys.
    Help(SearchPage),
    /// What was not found.
    Notices(Scroll),
    /// The catalogue.
    Picker(Picker),
    /// Everything that can be set.
    Options(OptionsMenu),
    /// What can be found by name.
    Palette(Palette),
    /// The machines that are read.
    Hosts(HostsMenu),
    /// The cause of an error.
    ErrorText(ErrorText),
}

impl Overlay {
    /// What an event changes.
    pub(crate) fn on(&mut self, event: PopupEvent, app: &App) -> Flow {
        match self {
            Self::Help(page) => page.on(event),
            Self::Notices(scroll) => scroll.on(event),
            Self::Picker(picker) => picker.on(event),
            Self::Options(menu) => menu.on(event, app),
            Self::Palette(palette) => palette.on(event, app),
            Self::Hosts(menu) => menu.on(event, app),
            Self::ErrorText(panel) => panel.on(event),
        }
    }

    /// Whether characters go into a text field of it.
    pub(crate) fn takes_text(&self) -> bool {
        match self {
            Self::Help(page) => page.typing,
            Self::Picker(_) | Self::Palette(_) => true,
            Self::Notices(_) | Self::Options(_) | Self::Hosts(_) | Self::ErrorText(_) => false,
        }
    }

    /// Its keys, with what they do.
    pub(crate) fn hints(&self, app: &App) -> &'static [PopupHint] {
        match self {
            Self::Help(_) => SEARCH_HINTS,
            Self::Notices(_) if notices::commands(&app.shared.frame).is_some() => {
                &[("y", "copy commands"), ("esc", "close")]
            }
            Self::Notices(_) | Self::ErrorText(_) => CLOSE_HINTS,
            Self::Picker(_) => &[("enter", "add"), ("esc", "close")],
            Self::Palette(_) => &[("enter", "go"), ("esc", "close")],
            Self::Hosts(_) => HostsMenu::hints(app),
            Self::Options(menu) => menu.hints(app),
        }
    }

    /// Draws it over the body.
    pub(crate) fn draw(&self, app: &App, on: Surface<'_>) {
        let (page, scroll) = match self {
            Self::Help(page) => (help::page(app, on.look, page, on.page_width()), &page.scroll),
            Self::Notices(scroll) => (notices::page(app, on.look, on.page_width()), scroll),
            Self::Picker(picker) => return picker.draw(on),
            Self::Options(menu) => return menu.draw(app, on),
            Self::Palette(palette) => return palette.draw(app, on),
            Self::Hosts(menu) => return menu.draw(app, on),
            Self::ErrorText(panel) => return panel.draw(on),
        };
        draw_text(page, scroll.0, on);
    }
}
