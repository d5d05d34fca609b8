//! What clicks and the wheel do, and what was drawn.

use crate::features::{Effect, PopupEvent};
use crate::shell::App;
use crate::shell::tabs::TABS;
use crate::widgets::{Hit, Shown};

/// Something happens to what lies over the tab.
pub(crate) fn on_popup(app: &mut App, event: PopupEvent) -> Vec<Effect> {
    match app.overlay.take() {
        Some(mut overlay) => overlay.on(event, app).keep(overlay, &mut app.overlay),
        None => app.tabs.get_mut(app.tab).on_popup(event, &app.shared),
    }
}

pub(crate) fn click(app: &mut App, hit: Hit) -> Vec<Effect> {
    app.typing = false;
    match hit {
        Hit::Tab(at) => {
            let closed = on_popup(app, PopupEvent::Close);
            app.tab = TABS.get(at).map_or(app.tab, |row| row.0);
            return closed;
        }
        Hit::Row(row) if app.has_popup() => return on_popup(app, PopupEvent::Click(row)),
        _ if app.has_popup() => {}
        _ => app.tabs.get_mut(app.tab).click(hit, &app.shared),
    }
    Vec::new()
}

pub(crate) fn scroll(app: &mut App, step: isize) -> Vec<Effect> {
    if app.has_popup() {
        return on_popup(app, PopupEvent::Scroll(step));
    }
    app.tabs.get_mut(app.tab).step(step, &app.shared);
    Vec::new()
}

/// Takes note of where the drawing is, so that the next one starts from there.
pub(crate) fn shown(app: &mut App, part: Shown) -> Vec<Effect> {
    if app.has_popup() {
        return on_popup(app, PopupEvent::Shown(part.line));
    }
    app.tabs.get_mut(app.tab).shown(part);
    Vec::new()
}
