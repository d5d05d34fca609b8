//! What keys do.

use std::sync::Arc;

use warpscope_probes::gpu::Presence;

use super::{apply, pointer, renew_what_if};
use crate::config::args;
use crate::features::what_if::Picker;
use crate::features::{Action, Chord, Effect, Input, PopupEvent, Press, Scroll, SearchPage, say};
use crate::io::source::Seek;
use crate::shell::chrome::hints;
use crate::shell::keys::Act;
use crate::shell::overlay::{ErrorText, HostsMenu, OptionsMenu, Overlay, Palette};
use crate::shell::tabs::{TABS, Tab};
use crate::shell::update::options;
use crate::shell::{App, Cmd};

/// Lines of the body that are not rows: frames, heads.
const FIXED: usize = 4;

pub(crate) fn key(app: &mut App, chord: Chord) -> Vec<Cmd> {
    app.toast = None;
    let action = app.keymap.everywhere(chord);
    let is_text = chord.typed().is_some() && app.takes_text();
    let now = action.filter(|_| !is_text);
    let effects = if let Some(action @ (Action::Repaint | Action::Suspend)) = now {
        act(app, action)
    } else if app.typing {
        type_filter(app, chord)
    } else if app.has_popup() {
        let page = app.page.saturating_sub(FIXED);
        pointer::on_popup(app, PopupEvent::Key(Press { chord, action, page }))
    } else {
        match app.keymap.act(chord, |scope| app.is_active(scope)) {
            Some(Act::Shell(action)) => act(app, action),
            Some(Act::Tab(key)) => app.tabs.act(app.tab, key, &app.shared),
            None => Vec::new(),
        }
    };
    apply(app, effects)
}

/// A key hint that was clicked does what its key does.
pub(crate) fn hint(app: &mut App, at: usize) -> Vec<Cmd> {
    let chord = hints(app).get(at).and_then(|(key, _)| key.parse().ok());
    chord.map_or_else(Vec::new, |chord| key(app, chord))
}

/// A word goes into the open text field, as if typed; anything else is an error to explain.
pub(crate) fn paste(app: &mut App, text: &str) -> Vec<Cmd> {
    let text = text.trim();
    // Long words are paths; long sentences are errors.
    let is_short = text.chars().count() <= Input::LIMIT || !text.contains(char::is_whitespace);
    let is_word = is_short && !text.contains(['\n', '\r']);
    if is_word && app.takes_text() {
        return type_text(app, text);
    }
    app.typing = false;
    if text.is_empty() {
        app.overlay = Some(Overlay::ErrorText(ErrorText::default()));
        return apply(app, say("The pasted text is empty."));
    }
    let text: Arc<str> = text.into();
    app.overlay = Some(Overlay::ErrorText(ErrorText::reading(Arc::clone(&text))));
    vec![Cmd::Explain(text)]
}

fn type_text(app: &mut App, text: &str) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    for chord in text.chars().map(Chord::character) {
        let effects = match app.typing {
            true => type_filter(app, chord),
            false => {
                let press = Press { chord, action: None, page: 0 };
                pointer::on_popup(app, PopupEvent::Key(press))
            }
        };
        cmds.extend(apply(app, effects));
    }
    cmds
}

fn type_filter(app: &mut App, chord: Chord) -> Vec<Effect> {
    let action = app.keymap.everywhere(chord);
    let tab = app.tabs.get_mut(app.tab);
    match (chord.typed(), action) {
        _ if tab.filter().is_none() => app.typing = false,
        (Some(character), _) => tab.edit_filter(&|input| input.push(character)),
        (None, Some(Action::Close)) => {
            tab.edit_filter(&|input| input.text.clear());
            app.typing = false;
        }
        (None, Some(Action::Open | Action::Down | Action::Up)) => app.typing = false,
        (None, Some(Action::Quit)) => return vec![Cmd::Quit.into()],
        (None, _) if chord.is_backspace() => {
            tab.edit_filter(&Input::erase);
        }
        _ => {}
    }
    Vec::new()
}

/// Does what a key asks for on every tab.
fn act(app: &mut App, action: Action) -> Vec<Effect> {
    // Where there are graphs of a recording, left and right move in it.
    let moves_time = app.shared.replay.is_some() && app.tab == Tab::Overview;
    let tab = app.tabs.get_mut(app.tab);
    let page = tab.page().unwrap_or(app.page.saturating_sub(FIXED));
    if let Some(step) = action.rows(page) {
        tab.step(step, &app.shared);
        return Vec::new();
    }
    match action {
        Action::Quit => return vec![Cmd::Quit.into()],
        Action::Repaint => return vec![Cmd::Repaint.into()],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Copy => return vec![Effect::Copy],
        Action::Record => return vec![Cmd::Record(app.recorded.is_none()).into()],
        Action::Close => return tab.close(),
        Action::Bench => return app.tabs.bench.toggle(),
        Action::AnswerBench(yes) => return answer_bench(app, if yes { "on" } else { "off" }),
        Action::RemoveWhatIf => return remove_what_if(app),
        Action::Freeze => return freeze(app),
        Action::Faster => return pace(app, -1),
        Action::Slower => return pace(app, 1),
        Action::SeekBack => return seek(-10.0),
        Action::SeekForth => return seek(10.0),
        Action::Theme => return options::step(app, &args::THEME.spec, None, 1),
        Action::Layout => return next_layout(app),
        Action::Left if moves_time => return seek(-10.0),
        Action::Right if moves_time => return seek(10.0),
        Action::Left => tab.step_aside(-1, &app.shared),
        Action::Right => tab.step_aside(1, &app.shared),
        Action::Open => tab.open(&app.shared),
        Action::Go(at) if app.tabs.has(TABS[at].0) => app.tab = TABS[at].0,
        Action::Go(_) => {
            return say("Many machines are shown by --prometheus URL, or by --host with several.");
        }
        Action::NextTab => app.tab = app.tabs.step(app.tab, 1),
        Action::PreviousTab => app.tab = app.tabs.step(app.tab, -1),
        Action::Help => app.overlay = Some(Overlay::Help(SearchPage::default())),
        Action::Notices => {
            app.shared.unread.clear();
            app.overlay = Some(Overlay::Notices(Scroll::default()));
        }
        Action::Options => app.overlay = Some(Overlay::Options(OptionsMenu::default())),
        Action::Palette => app.overlay = Some(Overlay::Palette(Palette::new())),
        Action::Hosts => app.overlay = Some(Overlay::Hosts(HostsMenu::default())),
        Action::Explain => app.overlay = Some(Overlay::ErrorText(ErrorText::default())),
        Action::WhatIf => app.overlay = Some(Overlay::Picker(Picker::default())),
        Action::Up
        | Action::Down
        | Action::PageUp
        | Action::PageDown
        | Action::First
        | Action::Last => {}
    }
    Vec::new()
}

fn next_layout(app: &App) -> Vec<Effect> {
    let display = &app.shared.display;
    if display.layouts.is_empty() {
        return say("The configuration has no layouts; `warpscope config sample` shows one.");
    }
    let next = display.layout.map_or(0, |at| at + 1) % display.layouts.len();
    vec![Effect::SetLayout(next)]
}

/// Takes the user's word on measuring GPUs, and remembers it.
fn answer_bench(app: &mut App, word: &str) -> Vec<Effect> {
    let mut effects = options::set(app, &args::BENCH.spec, word);
    let key = args::BENCH.spec.key.unwrap_or_default();
    let chosen = app.shared.display.changed.get(key).cloned();
    effects.extend(chosen.map(|value| Cmd::SaveOptions([(key, value)].into()).into()));
    effects
}

fn remove_what_if(app: &mut App) -> Vec<Effect> {
    let at = app.tabs.get(app.tab).gpu().unwrap_or(app.tabs.overview.cursor.at);
    let Some(gpu) = app.shared.frame.gpus.get(at) else { return Vec::new() };
    if gpu.presence != Presence::WhatIf {
        return say("Only what-if GPUs can be removed; this one is real.");
    }
    app.shared.what_if.remove(&gpu.key);
    renew_what_if(app);
    Vec::new()
}

fn freeze(app: &mut App) -> Vec<Effect> {
    let Some(position) = &mut app.shared.replay else {
        app.frozen = !app.frozen;
        return Vec::new();
    };
    position.paused = !position.paused;
    vec![Cmd::PauseReplay(position.paused).into()]
}

fn seek(seconds: f64) -> Vec<Effect> {
    vec![Cmd::Seek(Seek::By(seconds)).into()]
}

fn pace(app: &mut App, step: isize) -> Vec<Effect> {
    if let Some(position) = &mut app.shared.replay {
        position.speed = (position.speed * if step < 0 { 2.0 } else { 0.5 }).clamp(0.125, 64.0);
        let said = format!("speed ×{}", position.speed);
        return vec![Effect::Say(said), Cmd::ReplaySpeed(position.speed).into()];
    }
    options::step(app, &args::INTERVAL.spec, None, step)
}
