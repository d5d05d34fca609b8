//! What stays on every screen: tabs and state above, keys or an answer below.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::widgets::Widget;
use warpscope_probes::Severity;
use warpscope_probes::gpu::Presence;

use crate::features::Action;
use crate::shell::App;
use crate::shell::keys::{Act, Row};
use crate::shell::standing::Standing;
use crate::shell::tabs::{TABS, Tab};
use crate::widgets::layout::{cut_bottom, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{Footer, Hint, Hit, Hits, Look, text_width, wrap};

/// Asked until it is answered, with the keys that answer it.
const ASKS: &str = " Benchmark idle GPUs while open? ";
/// The same where other keys need the room.
const ASKS_SHORT: &str = " Benchmark GPUs? ";
/// Width from which there is room for all of it.
const ROOMY: u16 = 80;
const NAME: &str = " warpscope ";

/// Header, body, footer.
pub(crate) fn split(mut area: Rect) -> [Rect; 3] {
    let head = cut_top(&mut area, 1);
    let foot = cut_bottom(&mut area, 1);
    [head, area, foot]
}

/// What is left to say in a window that has no room for anything.
pub(crate) fn too_small(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let lines = wrap("warpscope needs 20x5", area.width.into());
    for (line, row) in lines.iter().zip(area.rows()) {
        look.pen(buffer, row).put(line, look.style(Role::Warn));
    }
}

/// Name, tabs, and where the values come from.
pub(crate) fn header(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let theme = &look.theme;
    let mut at = area.x;
    let end = area.right();
    let mut put = |text: &str, style| {
        let room = usize::from(end.saturating_sub(at));
        let from = at;
        at = buffer.set_stringn(at, area.y, text, room, style).0;
        Rect::new(from, area.y, at - from, 1)
    };
    let state = Standing::of(app, look);
    let (has_name, has_titles) = labels(app, area.width.saturating_sub(state.needed()));
    if has_name {
        put(NAME, theme.style(Role::Title));
    }
    for (number, (tab, _, title)) in shown(app).enumerate() {
        let label = match has_titles || *tab == app.tab {
            true => format!(" {} {title} ", number + 1),
            false => format!(" {} ", number + 1),
        };
        let style = if *tab == app.tab { theme.selection() } else { theme.style(Role::Muted) };
        let drawn = put(&label, style);
        hits.add(drawn, Hit::Tab(number));
    }
    let rest = Rect { x: at, width: end.saturating_sub(at), ..area };
    state.fitting(look, rest.width).alignment(Alignment::Right).render(rest, buffer);
}

/// The tabs that have something to show: all but the last always do.
fn shown(app: &App) -> impl Iterator<Item = &'static (Tab, &'static str, &'static str)> {
    TABS.iter().filter(|row| row.0 == app.tab || app.tabs.has(row.0))
}

/// Whether a line has room for the program's name and for the titles of all tabs. The tab in view
/// keeps its title, and every tab its number, before either.
fn labels(app: &App, width: u16) -> (bool, bool) {
    let name = text_width(NAME);
    let all: u16 = shown(app).map(|row| text_width(row.2) + 4).sum();
    let rest: u16 =
        shown(app).filter(|row| row.0 != app.tab).map(|row| text_width(row.2) + 1).sum();
    (name + all - rest <= width, name + all <= width)
}

/// What is being typed, the answer to the last key, what was not found, or the keys.
pub(crate) fn footer(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let line = if app.typing {
        typed(app, look)
    } else if let Some((text, _)) = &app.toast {
        Some(toast(app, text, look))
    } else if app.asks_about_bench() && !app.has_popup() {
        let (end, _) = buffer.set_stringn(
            area.x,
            area.y,
            if area.width < ROOMY { ASKS_SHORT } else { ASKS },
            usize::from(area.width),
            look.style(Role::Accent),
        );
        let rest = Rect { x: end, width: area.right().saturating_sub(end), ..area };
        return keys(app, look, rest, buffer, hits);
    } else {
        None
    };
    match line {
        Some((text, role)) => {
            look.pen(buffer, area).fit(&text, look.style(role));
        }
        None => keys(app, look, area, buffer, hits),
    }
}

/// The answer to the last key; an alert looks like one.
fn toast(app: &App, text: &str, look: Look<'_>) -> (String, Role) {
    match app.shared.unread.iter().any(|alert| alert.text == text) {
        true => (format!(" {} {text}", look.glyphs.warning), Role::Warn),
        false => (format!(" {text}"), Role::Accent),
    }
}

fn typed(app: &App, look: Look<'_>) -> Option<(String, Role)> {
    let tab = app.tabs.get(app.tab);
    let text = &tab.filter()?.text;
    let hint = if text.is_empty() { tab.filter_hint() } else { "" };
    Some((format!(" /{text}{}  {hint}", look.glyphs.cursor), Role::Accent))
}

/// Whether the cursor is on a GPU that can be removed.
fn on_what_if(app: &App) -> bool {
    let at = app.tabs.get(app.tab).gpu();
    let gpu = at.and_then(|at| app.shared.frame.gpus.get(at));
    gpu.is_some_and(|gpu| gpu.presence == Presence::WhatIf)
}

/// Keys that are of use now, with what they do: those of what lies over the tab, or of the tab.
pub(crate) fn hints(app: &App) -> Vec<(String, String)> {
    let of_popup = match &app.overlay {
        Some(overlay) => Some(overlay.hints(app)),
        None => app.has_popup().then(|| app.tabs.get(app.tab).popup_hints()),
    };
    if let Some(hints) = of_popup {
        return hints.iter().map(|(key, words)| ((*key).into(), (*words).into())).collect();
    }
    let notices = &app.shared.frame.notices;
    let loud = notices.iter().filter(|notice| notice.severity > Severity::Info).count();
    let loud = loud + app.shared.unread.len();
    let removes = Act::Shell(Action::RemoveWhatIf);
    let hint = |row: &Row| match row.act {
        Act::Shell(Action::Freeze) => freezing(app, row.spec.hint),
        Act::Shell(action) => app.tabs.get(app.tab).hint(action).unwrap_or(row.spec.hint),
        _ => row.spec.hint,
    };
    app.keymap
        .rows()
        .filter(|(row, keys)| !hint(row).is_empty() && app.is_active(row.scope) && !keys.is_empty())
        .filter(|(row, _)| row.act != removes || on_what_if(app))
        .filter(|(row, _)| app.tabs.get(app.tab).offers(row.spec.id, &app.shared))
        .map(|(row, keys)| match (row.spec.id, loud) {
            ("notices", 1..) => (keys[0].to_string(), format!("{} ({loud})", row.spec.hint)),
            _ => (keys[0].to_string(), hint(row).to_owned()),
        })
        .collect()
}

/// What the screen that stands still does with the key that stopped it.
const GO_ON: &str = "go on";

fn freezing(app: &App, word: &'static str) -> &'static str {
    match &app.shared.replay {
        Some(position) if !position.paused => "pause",
        None if !app.frozen => word,
        _ => GO_ON,
    }
}

fn keys(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let texts = hints(app);
    // The way to what is wrong, out of a popup and on stays when the room is short.
    let rank = |(key, words): &(String, String), at: u8| {
        let stays = words.ends_with(')') || words == GO_ON || key == "esc";
        if stays { 2 } else { at.saturating_add(3) }
    };
    let hints: Vec<Hint<'_>> = texts
        .iter()
        .zip(0..)
        .map(|(text, at)| Hint { key: &text.0, words: &text.1, rank: rank(text, at) })
        .collect();
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let footer = Footer { look, hints: &hints };
    footer.render(inner, buffer);
    for (at, place) in footer.areas(inner) {
        hits.add(place, Hit::Hint(at));
    }
}
