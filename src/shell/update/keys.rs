//! What keys do.

use std::time::Duration;

use warpscope_probes::gpu::Presence;

use super::moves::{page, step_aside, step_by};
use super::{redress, settle, suspend, worker_tasks};
use crate::features::compat::{inspect, probing};
use crate::features::{compat, history};
use crate::io::source::Seek;
use crate::shell::action::{Action, Scope};
use crate::shell::keymap::Chord;
use crate::shell::view::{Input, Popup, Tab};
use crate::shell::{App, Cmd, popups};
use crate::worker::scheduler::BenchMode;

/// Intervals the keys walk through, in milliseconds.
const INTERVALS: &[u64] = &[100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

fn active(app: &App, scope: Scope) -> bool {
    match scope {
        Scope::Global => true,
        Scope::On(tab) => app.view.tab == tab,
        Scope::Replay => app.replay.is_some(),
    }
}

pub(crate) fn key(app: &mut App, chord: Chord) -> Vec<Cmd> {
    app.view.toast = None;
    if app.view.typing {
        let mut cmds = Vec::new();
        compat::keys::staying(app, |app| cmds = type_filter(app, chord));
        return cmds;
    }
    if let Some(popup) = app.view.popup.take() {
        return popups::key(app, popup, chord);
    }
    match app.keymap.action(chord, |scope| active(app, scope)) {
        Some(action) => act(app, action),
        None => Vec::new(),
    }
}

fn filter(app: &mut App) -> Option<&mut Input> {
    match app.view.tab {
        Tab::Compat => Some(&mut app.view.compat.filter),
        Tab::Processes => Some(&mut app.view.processes.filter),
        Tab::History => Some(&mut app.view.history.filter),
        Tab::Overview | Tab::Bench => None,
    }
}

fn type_filter(app: &mut App, chord: Chord) -> Vec<Cmd> {
    let command = app.keymap.action(chord, |_| true);
    let Some(input) = filter(app) else {
        app.view.typing = false;
        return Vec::new();
    };
    match (chord.typed(), command) {
        (Some(character), _) => input.push(character),
        (None, Some(Action::Close)) => {
            input.text.clear();
            app.view.typing = false;
        }
        (None, Some(Action::Open | Action::Down | Action::Up)) => app.view.typing = false,
        (None, Some(Action::Quit)) => return vec![Cmd::Quit],
        (None, _) if chord.is_backspace() => drop(input.text.pop()),
        _ => {}
    }
    settle(app);
    Vec::new()
}

/// Does what a key of the table asks for.
fn act(app: &mut App, action: Action) -> Vec<Cmd> {
    match action {
        Action::Quit => return vec![Cmd::Quit],
        Action::Repaint => return vec![Cmd::Repaint],
        Action::Suspend => return suspend(app),
        Action::Help => app.view.popup = Some(Popup::Help { scroll: 0 }),
        Action::Notices => app.view.popup = Some(Popup::Notices { scroll: 0 }),
        Action::WhatIf => app.view.popup = Some(picker()),
        Action::RemoveWhatIf => remove_what_if(app),
        Action::Go(tab) => app.view.tab = tab,
        Action::NextTab => app.view.tab = app.view.tab.step(1),
        Action::PreviousTab => app.view.tab = app.view.tab.step(-1),
        Action::Up => return step_by(app, -1),
        Action::Down => return step_by(app, 1),
        Action::PageUp => return step_by(app, -page(app)),
        Action::PageDown => return step_by(app, page(app)),
        Action::First => return step_by(app, isize::MIN),
        Action::Last => return step_by(app, isize::MAX),
        Action::Left => step_aside(app, -1),
        Action::Right => step_aside(app, 1),
        Action::Open => popups::open(app),
        Action::Close => close(app),
        Action::Filter => app.view.typing = true,
        Action::Sort if app.view.tab == Tab::Processes => app.view.processes.next_sort(),
        Action::Sort if app.view.tab == Tab::History => return history::act(app, action),
        Action::MarkRun | Action::CompareRuns | Action::WeakChanges => {
            return history::act(app, action);
        }
        Action::Sort
        | Action::OnlyFailures
        | Action::Fold
        | Action::FoldAll
        | Action::OlderVersion
        | Action::NewerVersion
        | Action::ResetVersion
        | Action::Model => compat::keys::act(app, action),
        Action::Record => return vec![Cmd::Record(app.view.recorded.is_none())],
        Action::Inspect => return look_at_installed(app),
        Action::Probe => return probing::start(app),
        Action::Reverse => app.view.processes.reverse = !app.view.processes.reverse,
        Action::Tree => app.view.processes.tree = !app.view.processes.tree,
        Action::Signal => popups::ask_signal(app),
        Action::Copy => return popups::copy(app, None),
        Action::Freeze => return freeze(app),
        Action::Faster => return pace(app, -1),
        Action::Slower => return pace(app, 1),
        Action::SeekBack => return seek(app, -10.0),
        Action::SeekForth => return seek(app, 10.0),
        Action::Bench => return toggle_bench(app),
        Action::MeasureNow => return measure_now(app),
        Action::PinBench => return pin_bench(app),
        Action::Theme => next_theme(app),
        Action::AllPaths => all_paths(app),
    }
    settle(app);
    Vec::new()
}

fn picker() -> Popup {
    Popup::Picker { input: Input::default(), cursor: Default::default() }
}

fn look_at_installed(app: &mut App) -> Vec<Cmd> {
    if app.replay.is_some() {
        app.view.say("What is installed here says nothing of a recording.");
        settle(app);
        return Vec::new();
    }
    vec![inspect::everything(app, Duration::ZERO)]
}

fn next_theme(app: &mut App) {
    let theme = crate::widgets::theme::next(&app.settings.theme);
    app.settings.theme = theme.into();
    app.view.say(format!("theme {theme}"));
}

/// Takes back what was typed: the filter first, then the model.
fn close(app: &mut App) {
    match app.view.tab {
        Tab::Compat if app.view.compat.filter.text.is_empty() => compat::model::forget(app),
        Tab::Compat => compat::keys::staying(app, |app| app.view.compat.filter.text.clear()),
        _ => {
            if let Some(input) = filter(app) {
                input.text.clear();
            }
        }
    }
}

fn remove_what_if(app: &mut App) {
    let selected = match app.view.tab {
        Tab::Compat => app.frame.gpus.get(app.view.compat.column.at),
        _ => app.selected_gpu(),
    };
    match selected.map(|gpu| (gpu.key.clone(), gpu.presence)) {
        Some((key, Presence::WhatIf)) => {
            app.what_if.remove(&key);
            redress(app);
        }
        Some(_) => app.view.say("Only what-if GPUs can be removed; this one is real."),
        None => {}
    }
}

fn freeze(app: &mut App) -> Vec<Cmd> {
    match &mut app.replay {
        Some(position) => {
            position.paused = !position.paused;
            vec![Cmd::PauseReplay(position.paused)]
        }
        None => {
            app.view.frozen = !app.view.frozen;
            Vec::new()
        }
    }
}

/// A jump starts the graphs anew: what lies between was not seen.
fn seek(app: &mut App, seconds: f64) -> Vec<Cmd> {
    app.store.clear();
    vec![Cmd::Seek(Seek::By(seconds))]
}

fn pace(app: &mut App, step: isize) -> Vec<Cmd> {
    if let Some(position) = &mut app.replay {
        position.speed = (position.speed * if step < 0 { 2.0 } else { 0.5 }).clamp(0.125, 64.0);
        let said = format!("speed ×{}", position.speed);
        let cmd = Cmd::ReplaySpeed(position.speed);
        app.view.say(said);
        return vec![cmd];
    }
    let now = u64::try_from(app.settings.interval.as_millis()).unwrap_or(u64::MAX);
    let next = if step < 0 {
        INTERVALS.iter().rev().find(|&&ms| ms < now)
    } else {
        INTERVALS.iter().find(|&&ms| ms > now)
    };
    let Some(&next) = next else { return Vec::new() };
    app.settings.interval = Duration::from_millis(next);
    app.view.say(format!("interval {:?}", app.settings.interval));
    vec![Cmd::SetInterval(app.settings.interval)]
}

fn toggle_bench(app: &mut App) -> Vec<Cmd> {
    worker_tasks(app.bench.devices.toggle()).collect()
}

fn measure_now(app: &mut App) -> Vec<Cmd> {
    let Some(key) = app.bench_gpu().map(|(gpu, _)| gpu.key.clone()) else {
        app.view.say("The CPU is measured all the time; only GPUs rest.");
        return Vec::new();
    };
    app.view.say("It is measured as soon as it has been idle for ten seconds.");
    worker_tasks(app.bench.devices.ask(&key)).collect()
}

/// The cursor stays on its line where that is still listed.
fn all_paths(app: &mut App) {
    let selected = |app: &App| app.bench_gpu()?.1.lines().get(app.view.bench.at)?.path();
    let Some(before) = app.bench_gpu().map(|_| selected(app)) else {
        app.view.say("The CPU has one path for each number format; GPUs have more.");
        return;
    };
    let all = app.bench.devices.toggle_all_paths();
    let place = app.bench_gpu().and_then(|(_, bench)| {
        bench.lines().iter().position(|line| before.is_some() && line.path() == before)
    });
    app.view.bench.at = place.unwrap_or(0);
    app.view.say(if all {
        "Every path and profile, in every second burst; p leaves out the rests."
    } else {
        "The usual four paths under two weight profiles."
    });
}

fn pin_bench(app: &mut App) -> Vec<Cmd> {
    let orders = app.bench.devices.pin();
    app.view.say(match app.bench.devices.mode() {
        BenchMode::On => "GPUs are measured as long as they are idle.",
        _ => "GPUs are measured for a minute while this tab is open, and then rest for ten.",
    });
    worker_tasks(orders).collect()
}
