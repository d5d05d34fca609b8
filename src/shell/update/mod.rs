//! The one function that changes the state: it routes what happens to the features, and what they answer back.

mod keys;
pub(crate) mod options;
mod pointer;

use std::sync::Arc;

use warpscope_probes::catalogue::{Part, what_if};
use warpscope_probes::{Frame, Timestamp};

use super::alerts::KEPT;
use super::hosts::name;
use super::overlay::{Overlay, commands, is_noticed};
use super::tabs::{Tab, Tabs};
use super::{App, Cmd, Msg, recording};
use crate::features::{Effect, Feature, compat};
use crate::store::Store;
use crate::widgets::Hit;

/// Frames that a line for the user stays.
const TOAST_FRAMES: u8 = 4;

/// Takes one thing that happened and says what should be done about it.
pub fn update(app: &mut App, msg: Msg) -> Vec<Cmd> {
    let changes_rows = !matches!(msg, Msg::Shown(_) | Msg::Position(_) | Msg::Resize { .. });
    let mut cmds = route(app, msg);
    let in_view = app.tab;
    let followed = app.tabs.each(|tab, feature| feature.follow(&app.shared, tab == in_view));
    cmds.extend(apply(app, followed));
    if changes_rows {
        settle(app);
    }
    cmds
}

fn route(app: &mut App, msg: Msg) -> Vec<Cmd> {
    let effects = match msg {
        Msg::Frame(frame) => return take_frame(app, *frame),
        Msg::Key(chord) => return keys::key(app, chord),
        Msg::Pasted(text) => return keys::paste(app, &text),
        Msg::Explained(text, answer) => {
            if let Some(Overlay::ErrorText(panel)) = &mut app.overlay {
                panel.answered(&text, answer);
            }
            Vec::new()
        }
        Msg::Click(Hit::Hint(at)) => return keys::hint(app, at),
        Msg::Click(hit) => pointer::click(app, hit),
        Msg::Scroll(step) => pointer::scroll(app, step),
        Msg::Shown(part) => pointer::shown(app, part),
        Msg::Suspend => vec![Effect::Suspend],
        Msg::Answer(text) => vec![Effect::Say(text)],
        Msg::Saved(values) => {
            app.shared.display.saved(values);
            Vec::new()
        }
        Msg::Bench(msg) => app.tabs.bench.update(msg),
        Msg::Compat(compat::Msg::Rules(rules)) => {
            app.shared.awaits_rules = false;
            app.tabs.fleet.set_rules(Arc::clone(&rules));
            let effects = app.tabs.compat.update(compat::Msg::Rules(rules));
            app.tabs.compat.gpus_changed(&app.shared);
            effects
        }
        Msg::Compat(msg) => app.tabs.compat.update(msg),
        Msg::Fleet(msg) => app.tabs.fleet.update(msg),
        Msg::History(msg) => app.tabs.history.update(msg),
        Msg::Position(position) => {
            app.shared.replay = Some(position);
            Vec::new()
        }
        Msg::Resize { rows } => {
            app.page = rows;
            Vec::new()
        }
        Msg::Recorded(told) => {
            let (now, said) = recording::follow(app.recorded.take(), told);
            app.recorded = now;
            said.map(Effect::Say).into_iter().collect()
        }
    };
    apply(app, effects)
}

fn take_frame(app: &mut App, frame: Frame) -> Vec<Cmd> {
    let mut cmds = alert(app, &frame);
    let seen = frame.at;
    let frame = app.hosts.take(frame, &app.shared);
    gather(app, seen);
    let Some(frame) = frame else { return cmds };
    age_toast(app);
    let watched = app.tabs.bench.watch(&frame);
    cmds.extend(apply(app, watched));
    if !app.frozen {
        cmds.extend(view(app, frame));
    }
    cmds
}

/// Shows machines that are read one by one beside each other, anew once a second.
fn gather(app: &mut App, seen: Timestamp) {
    let is_new = app.tabs.fleet.count() != app.hosts.count();
    let is_due = is_new || seen.seconds_since(app.tabs.fleet.at()).abs() >= 1.0;
    if app.hosts.are_several() && app.tabs.fleet.is_gathered() && is_due && !app.frozen {
        app.tabs.fleet.gather(app.hosts.fleet(&app.shared));
    }
}

/// Tells what a frame newly raises.
fn alert(app: &mut App, frame: &Frame) -> Vec<Cmd> {
    let alerts = app.alerts.frame(frame);
    let texts: Vec<_> = alerts.iter().map(|alert| alert.text.clone()).collect();
    let unread = &mut app.shared.unread;
    unread.extend(alerts.into_iter().filter(|one| !is_noticed(frame, &one.text)));
    unread.drain(..unread.len().saturating_sub(KEPT));
    let mut cmds = Vec::new();
    if app.shared.replay.is_none() {
        cmds.extend(texts.iter().cloned().map(Cmd::Alert));
    }
    cmds.extend(apply(app, texts.into_iter().map(Effect::Say).collect()));
    cmds
}

/// Brings a frame into view.
fn view(app: &mut App, mut frame: Frame) -> Vec<Cmd> {
    frame.notices.extend(app.recorded.as_ref().and_then(recording::notice));
    app.shared.what_if.overlay(&mut frame);
    app.shared.store.push(&frame);
    let before = std::mem::replace(&mut app.shared.frame, frame);
    let effects = app.tabs.each(|_, feature| feature.frame(&app.shared, &before));
    apply(app, effects)
}

fn show_host(app: &mut App, name: &str) -> Vec<Cmd> {
    match app.hosts.show(name, &mut app.shared) {
        Some(frame) => view(app, frame),
        None => Vec::new(),
    }
}

/// Brings a machine of many into view.
fn show_frame(app: &mut App, frame: Frame) -> Vec<Cmd> {
    let machine = name(&frame).to_owned();
    match app.hosts.take(frame, &app.shared) {
        Some(frame) => view(app, frame),
        None => show_host(app, &machine),
    }
}

/// Puts what was before in front of the histories of the machine in view.
fn past(app: &mut App, frames: &[Frame]) {
    let is_in_view = |frame: &Frame| name(frame) == name(&app.shared.frame);
    if !frames.last().is_some_and(is_in_view) {
        return;
    }
    let mut store = Store::default();
    frames.iter().for_each(|frame| store.push(frame));
    store.push(&app.shared.frame);
    app.shared.store = store;
}

fn age_toast(app: &mut App) {
    if let Some((_, frames)) = &mut app.toast {
        *frames -= 1;
        if *frames == 0 {
            app.toast = None;
        }
    }
}

/// Does what features answered as far as the shell can, and passes on the rest.
fn apply(app: &mut App, effects: Vec<Effect>) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    for effect in effects {
        match effect {
            Effect::Run(cmd) => cmds.push(cmd),
            Effect::Say(text) => app.toast = Some((text, TOAST_FRAMES)),
            Effect::TypeFilter => app.typing = true,
            Effect::Copy => cmds.extend(copy(app)),
            Effect::StepOption(spec, word, by) => {
                let effects = options::step(app, spec, word, by);
                cmds.extend(apply(app, effects));
            }
            Effect::SetOption(spec, text) => {
                let effects = options::set(app, spec, &text);
                cmds.extend(apply(app, effects));
            }
            Effect::SetLayout(at) => {
                let effects = options::set_layout(app, at);
                cmds.extend(apply(app, effects));
            }
            Effect::SaveOptions => cmds.push(Cmd::SaveOptions(app.shared.display.changed.clone())),
            Effect::Press(chord) => cmds.extend(keys::key(app, chord)),
            Effect::SelectGpu(at) => for_each(&mut app.tabs, |feature| feature.select_gpu(at)),
            Effect::Find(text) => {
                app.tab = Tab::Compat;
                app.tabs.compat.find(text);
            }
            Effect::FindProcesses(words) => {
                app.tab = Tab::Processes;
                app.tabs.processes.find(words);
            }
            Effect::ShowHost(name) => cmds.extend(show_host(app, &name)),
            Effect::ShowFrame(frame) => cmds.extend(show_frame(app, *frame)),
            Effect::Past(frames) => past(app, &frames),
            Effect::GoToOverview => app.tab = Tab::Overview,
            Effect::AddWhatIf(part) => add_what_if(app, part),
            Effect::Suspend => {
                let released = app.tabs.bench.suspend();
                cmds.extend(apply(app, released));
                cmds.push(Cmd::Suspend);
            }
        }
    }
    cmds
}

/// Copies what is selected.
fn copy(app: &mut App) -> Option<Cmd> {
    let copied = match &app.overlay {
        Some(Overlay::Notices(_)) => commands(&app.shared.frame).map(|text| ("commands", text)),
        _ => app.tabs.get(app.tab).copy(&app.shared),
    };
    let said = match &copied {
        Some((what, _)) => format!("Copied the {what} to the clipboard."),
        None => "There is nothing to copy here.".to_owned(),
    };
    app.toast = Some((said, TOAST_FRAMES));
    copied.map(|(_, text)| Cmd::Copy(text))
}

fn add_what_if(app: &mut App, part: &Part) {
    let ordinal = u32::try_from(app.shared.frame.gpus.len()).unwrap_or(u32::MAX);
    app.shared.what_if.add(what_if(part, ordinal), &app.shared.frame);
    renew_what_if(app);
    let last = app.shared.frame.gpus.len().saturating_sub(1);
    for_each(&mut app.tabs, |feature| feature.select_gpu(last));
    let said = format!("Added {} as what-if; x removes it.", part.market_name);
    app.toast = Some((said, TOAST_FRAMES));
}

/// Brings the view in line with what-if GPUs that were added or removed.
fn renew_what_if(app: &mut App) {
    app.shared.what_if.overlay(&mut app.shared.frame);
    let shared = &app.shared;
    for_each(&mut app.tabs, |feature| feature.gpus_changed(shared));
}

/// Keeps every cursor on something that exists, and what features show of others up to date.
fn settle(app: &mut App) {
    let (shared, in_view) = (&mut app.shared, app.tab);
    app.tabs.each(|tab, feature| {
        // Others read the cursor of the Overview. The rest is looked at when it comes into view.
        if tab == in_view || tab == Tab::Overview {
            feature.step(0, shared);
        }
        feature.publish(shared);
        Vec::new()
    });
}

fn for_each(tabs: &mut Tabs, mut change: impl FnMut(&mut dyn Feature)) {
    tabs.each(|_, feature| {
        change(feature);
        Vec::new()
    });
}

#[cfg(test)]
mod tests;
