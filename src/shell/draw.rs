//! Drawing: panels and widgets, from `&App` to a buffer.
//!
//! A panel is a model of plain rows, tested as text, and a drawing of it. Nothing here changes state;
//! what can be clicked comes back as [`Hits`].

use crate::shell::chrome;
use crate::widgets::{Surface, glyphs};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;

pub use crate::shell::look::{Appearance, LookOptions, read_theme};
pub use crate::widgets::{Hits, Link};

use crate::shell::App;

/// Smallest size in which a panel says more than that the window is too small.
pub const SMALLEST: (u16, u16) = (20, 5);

/// Draws the whole screen; says what can be clicked where.
pub fn draw(app: &App, appearance: &Appearance, area: Rect, buffer: &mut Buffer) -> Hits {
    let area = area.intersection(buffer.area);
    let look = appearance.look();
    let mut hits = Hits::default();
    clear(area, look.theme.base(), buffer);
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        chrome::too_small(look, area, buffer);
        return hits;
    }
    let [head, body, foot] = chrome::split(area);
    chrome::header(app, look, head, buffer, &mut hits);
    let tab = app.tabs.get(app.tab);
    tab.draw(&app.shared, Surface { look, area: body, buffer, hits: &mut hits });
    chrome::footer(app, look, foot, buffer, &mut hits);
    if app.has_popup() {
        hits.cover();
    }
    let over = Surface { look, area: body, buffer, hits: &mut hits };
    match &app.overlay {
        Some(overlay) => overlay.draw(app, over),
        None => tab.draw_popup(&app.shared, over),
    }
    if !look.glyphs.is_unicode {
        spell_out(area, buffer);
    }
    hits
}

/// Empties an area, whatever was there.
fn clear(area: Rect, base: Style, buffer: &mut Buffer) {
    let mut blank = Cell::EMPTY;
    blank.set_style(base);
    if area == buffer.area {
        return buffer.content.fill(blank);
    }
    for position in area.positions() {
        buffer[position] = blank.clone();
    }
}

/// Replaces what names, rules and messages bring along besides ASCII, so that `--ascii` keeps its word.
fn spell_out(area: Rect, buffer: &mut Buffer) {
    for position in area.positions() {
        let cell = &mut buffer[position];
        if !cell.symbol().is_ascii() {
            let stand_in = glyphs::stand_in(cell.symbol());
            cell.set_symbol(stand_in);
        }
    }
}
