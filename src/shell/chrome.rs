//! What stays on every screen: tabs and state above, keys or an answer below.

use ratatui::buffer::Buffer;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::text::printable;
use warpscope_probes::{Frame, Origin, Severity};

use crate::features::Action;
use crate::shell::App;
use crate::shell::hosts::{State, name, state as state_of};
use crate::shell::keys::{Act, Row};
use crate::shell::tabs::{TABS, Tab};
use crate::widgets::layout::{cut_bottom, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{Footer, Hint, Hit, Hits, Look, format, text_width};

/// Asked until it is answered, with the keys that answer it.
const ASKS: &str = " Benchmark idle GPUs while open? ";
const NAME: &str = " warpscope ";

/// Header, body, footer.
pub(crate) fn split(mut area: Rect) -> [Rect; 3] {
    let head = cut_top(&mut area, 1);
    let foot = cut_bottom(&mut area, 1);
    [head, area, foot]
}

/// What is left to say in a window that has no room for anything.
pub(crate) fn too_small(look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let text = "warpscope needs 20x5";
    let width = usize::from(area.width);
    if area.height > 0 && width > 0 {
        buffer.set_stringn(area.x, area.y, text, width, look.style(Role::Warn));
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
    let (has_name, has_titles) = labels(app, area.width);
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
    let mut state = state(app, look);
    while !state.is_empty()
        && state.iter().map(Span::width).sum::<usize>() + 1 > usize::from(rest.width)
    {
        state.drain(..state.len().min(2));
    }
    Line::from(state).alignment(Alignment::Right).render(rest, buffer);
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

/// From the least to the most important: what does not fit is left out from the front.
fn state(app: &App, look: Look<'_>) -> Vec<Span<'static>> {
    let style = |role| look.style(role);
    let gap = format!(" {} ", look.glyphs.separator);
    let mut spans = Vec::new();
    let mut say = |text: String, role| {
        spans.push(Span::styled(printable(&text), style(role)));
        spans.push(Span::styled(gap.clone(), style(Role::Faint)));
    };
    let frame = &app.shared.frame;
    let is_named_last = app.hosts.are_several();
    if let Some(host) = frame.host.machine.hostname.last().filter(|_| !is_named_last) {
        say(host.clone(), Role::Muted);
    }
    let (text, role) = driver(frame);
    say(text, role);
    if app.tabs.bench.devices.cpu().has_worker() {
        say(format!("{} bench", look.glyphs.play), Role::Good);
    }
    let origin = match &frame.origin {
        Origin::Local => {
            say(format!("{:?}", app.shared.settings.interval), Role::Muted);
            None
        }
        Origin::Remote { host } => Some(format!("remote {}", among(app, host))),
        Origin::Replay { file, .. } => {
            say(replay(app, file), Role::Info);
            let host = if is_named_last { among(app, name(frame)) } else { String::new() };
            Some(format!("replay {host}").trim_end().to_owned())
        }
    };
    if let Some(recorded) = &app.recorded {
        let role = if recorded.trouble.is_some() { Role::Warn } else { Role::Bad };
        say(format!("{} rec {}", look.glyphs.record, format::bytes(recorded.bytes as f64)), role);
    }
    if app.frozen {
        say(format!("{} frozen", look.glyphs.pause), Role::Paused);
    }
    if let Some(clock) = clock(app) {
        say(clock, Role::Text);
    }
    if let Some(word) = origin {
        say(word, Role::Paused);
    }
    spans.pop();
    spans.push(Span::raw(" "));
    spans
}

/// The machine in view, and how many there are.
fn among(app: &App, host: &str) -> String {
    if !app.hosts.are_several() {
        return host.to_owned();
    }
    let frames = app.hosts.frames(&app.shared);
    let lost = frames.iter().filter(|frame| state_of(frame) == State::Lost).count();
    let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
    format!("{host} of {}{lost}", frames.len())
}

/// The driver as the body shows it: one that is gone has left its GPUs there.
fn driver(frame: &Frame) -> (String, Role) {
    let late = frame.notices.iter().any(|notice| notice.id == "driver.late");
    let had_gpus = frame.gpus.iter().any(|gpu| gpu.presence != Presence::WhatIf);
    let versions = &frame.driver.versions;
    let text = match (&frame.driver.status, versions.driver.last(), versions.cuda.last()) {
        (DriverState::Starting, ..) => "asking the driver".to_owned(),
        _ if late => return ("driver stopped answering".to_owned(), Role::Warn),
        (DriverState::AllSuspended, ..) => "driver asleep".to_owned(),
        (_, Some(driver), Some(cuda)) => format!("driver {driver} CUDA {cuda}"),
        (_, Some(driver), None) => format!("driver {driver}"),
        (DriverState::Ready, None, _) => "driver of unknown version".to_owned(),
        (DriverState::NoDevice, ..) => return ("driver without GPUs".to_owned(), Role::Warn),
        _ if had_gpus => return ("driver lost".to_owned(), Role::Warn),
        _ => return ("no driver".to_owned(), Role::Warn),
    };
    (text, Role::Muted)
}

fn replay(app: &App, file: &str) -> String {
    let place = app.shared.replay.as_ref().map(|at| {
        let paused = if at.paused { " paused" } else { "" };
        let damaged = match at.damaged {
            0 => String::new(),
            lines => format!(" ({} left out)", format::counted(lines, "damaged line")),
        };
        format!(" {:.0}/{:.0} s x{}{paused}{damaged}", at.at_s, at.length_s, at.speed)
    });
    format!("{file}{}", place.unwrap_or_default())
}

/// Time of the frame, in UTC as a recording holds it, or in the zone of this machine.
fn clock(app: &App) -> Option<String> {
    let display = &app.shared.display;
    let at = app.shared.frame.at;
    if app.shared.frame.seq == 0 {
        return None;
    }
    if !display.is_local_time {
        return at.to_string().get(11..19).map(|time| format!("{time}Z"));
    }
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()?;
    Some(at.to_zoned(display.zone.clone()).time().strftime("%H:%M:%S").to_string())
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
            ASKS,
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
        Act::Shell(action) => app.tabs.get(app.tab).hint(action).unwrap_or(row.spec.hint),
        _ => row.spec.hint,
    };
    app.keymap
        .rows()
        .filter(|(row, keys)| !hint(row).is_empty() && app.is_active(row.scope) && !keys.is_empty())
        .filter(|(row, _)| row.act != removes || on_what_if(app))
        .map(|(row, keys)| match (row.spec.id, loud) {
            ("notices", 1..) => (keys[0].to_string(), format!("{} ({loud})", row.spec.hint)),
            _ => (keys[0].to_string(), hint(row).to_owned()),
        })
        .collect()
}

fn keys(app: &App, look: Look<'_>, area: Rect, buffer: &mut Buffer, hits: &mut Hits) {
    let texts = hints(app);
    // The way to what is wrong, and out of a popup, stays when the room is short.
    let rank = |(key, words): &(String, String), at: u8| {
        if words.ends_with(')') || key == "esc" { 2 } else { at.saturating_add(3) }
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

#[cfg(test)]
mod tests {
    use warpscope_probes::{Gpu, Notice};

    use super::*;

    /// What the header says of a driver in a state, with a GPU of some presence in the body.
    fn said(status: DriverState, version: Option<&str>, gpu: Option<Presence>) -> String {
        let mut frame = Frame::default();
        frame.driver.status = status;
        if let Some(version) = version {
            frame.driver.versions.driver = version.to_owned().into();
        }
        frame.gpus.extend(gpu.map(|presence| Gpu { presence, ..Gpu::default() }));
        driver(&frame).0
    }

    #[test]
    fn the_header_denies_no_driver_whose_gpus_are_drawn() {
        use DriverState::{AllSuspended, LibraryMissing, NoDevice, NotLoaded, Ready};
        assert_eq!(said(Ready, Some("580.82.07"), Some(Presence::Present)), "driver 580.82.07");
        assert_eq!(said(Ready, None, Some(Presence::Present)), "driver of unknown version");
        assert_eq!(said(NotLoaded, None, Some(Presence::Lost)), "driver lost");
        assert_eq!(said(AllSuspended, None, Some(Presence::Suspended)), "driver asleep");
        assert_eq!(said(NoDevice, None, None), "driver without GPUs");
        assert_eq!(said(LibraryMissing, None, Some(Presence::WhatIf)), "no driver");
        assert_eq!(said(LibraryMissing, None, None), "no driver");
    }

    #[test]
    fn a_driver_that_stopped_answering_is_not_shown_as_if_it_did() {
        let mut frame = Frame::default();
        frame.driver.status = DriverState::Ready;
        frame.driver.versions.driver = "580.82.07".to_owned().into();
        frame.notices.push(Notice {
            id: "driver.late".into(),
            severity: Severity::Warning,
            what: String::new(),
            remedy: String::new(),
        });
        assert_eq!(driver(&frame), ("driver stopped answering".to_owned(), Role::Warn));
    }
}
