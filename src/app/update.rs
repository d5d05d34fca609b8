//! The one function that changes the state.

use std::time::Duration;

use warpscope_probes::Frame;
use warpscope_probes::gpu::Presence;

use super::action::{Action, Scope};
use super::bench::{PATHS, Phase};
use super::compat::{self, Line};
use super::history;
use super::inspect;
use super::keymap::Chord;
use super::popups;
use super::recording;
use super::view::{Input, Popup, Tab};
use super::{App, Cmd, Hit, Msg, Shown};
use crate::bench::BenchEvent;
use crate::source::Seek;

/// Intervals the keys walk through, in milliseconds.
const INTERVALS: &[u64] = &[100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/// Takes one thing that happened and says what should be done about it.
pub fn update(app: &mut App, msg: Msg) -> Vec<Cmd> {
    let tab = app.view.tab;
    let mut cmds = take(app, msg);
    cmds.extend(history::follow(app, tab));
    cmds
}

fn take(app: &mut App, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Frame(frame) => return take_frame(app, *frame),
        Msg::Position(position) => app.replay = Some(position),
        Msg::Bench(event) => return take_event(app, *event),
        Msg::BenchEnded(how) => app.bench.ended(how),
        Msg::Key(chord) => return key(app, chord),
        Msg::Click(hit) => return click(app, hit),
        Msg::Scroll(step) => return step_by(app, step),
        Msg::Resize { rows } => app.view.page = rows,
        Msg::Answer(text) => app.view.say(text),
        Msg::Recorded(told) => recording::take(app, told),
        Msg::Rules(rules) => {
            compat::keys::staying(app, |app| app.compat.set_rules(rules));
            settle(app);
        }
        Msg::Inspecting(advance) => inspect::report(app, advance),
        Msg::Survey(survey, today) => {
            compat::keys::staying(app, |app| app.compat.set_survey(survey, today));
            settle(app);
        }
        Msg::Processes(seen, today) => {
            compat::keys::staying(app, |app| app.compat.join_survey(&seen, today));
            settle(app);
        }
        Msg::Model(path, read) => {
            compat::model::take(app, &path, read);
            settle(app);
        }
        Msg::History(read) => history::take(app, read),
        Msg::Compared(runs, result) => history::compared(app, runs, result),
        Msg::Shown(part) => shown(app, part),
    }
    Vec::new()
}

fn take_frame(app: &mut App, mut frame: Frame) -> Vec<Cmd> {
    age_toast(app);
    if app.view.frozen {
        return Vec::new();
    }
    app.what_if.dress(&mut frame);
    app.store.push(&frame);
    let unplugged = on_battery(&frame) && !on_battery(&app.frame);
    app.frame = frame;
    if app.compat.all_rows().is_empty() {
        compat::keys::staying(app, |app| app.compat.renew(&app.frame));
    } else {
        app.compat.renew(&app.frame);
    }
    settle(app);
    let mut cmds = mind_battery(app, unplugged);
    cmds.extend(inspect::look_around(app, unplugged));
    cmds
}

fn take_event(app: &mut App, event: BenchEvent) -> Vec<Cmd> {
    let starting = app.bench.phase == Phase::Starting;
    app.bench.take(event);
    let unplugged = starting && on_battery(&app.frame);
    mind_battery(app, unplugged)
}

fn age_toast(app: &mut App) {
    if let Some((_, frames)) = &mut app.view.toast {
        *frames -= 1;
        if *frames == 0 {
            app.view.toast = None;
        }
    }
}

/// Brings the view in line with what-if GPUs that were added or removed.
pub(super) fn redress(app: &mut App) {
    let mut frame = std::mem::take(&mut app.frame);
    app.what_if.dress(&mut frame);
    app.frame = frame;
    compat::keys::staying(app, |app| app.compat.renew(&app.frame));
    settle(app);
}

/// Keeps every cursor on something that exists.
fn settle(app: &mut App) {
    let gpus = app.frame.gpus.len();
    app.view.overview.step(0, gpus);
    app.view.compat.column.step(0, gpus);
    let rows = app.compat_lines().len();
    app.view.compat.row.step(0, rows);
    let rows = app.view.processes.rows(&app.frame).len();
    app.view.processes.cursor.step(0, rows);
    let rows = app.view.history.rows(&app.history.trends).len();
    app.view.history.cursor.step(0, rows);
}

fn active(app: &App, scope: Scope) -> bool {
    match scope {
        Scope::Global => true,
        Scope::On(tab) => app.view.tab == tab,
        Scope::Replay => app.replay.is_some(),
    }
}

fn key(app: &mut App, chord: Chord) -> Vec<Cmd> {
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
        Action::Suspend => return vec![Cmd::Suspend],
        Action::Help => app.view.popup = Some(Popup::Help { scroll: 0 }),
        Action::Notices => app.view.popup = Some(Popup::Notices { scroll: 0 }),
        Action::WhatIf => {
            app.view.popup =
                Some(Popup::Picker { input: Input::default(), cursor: Default::default() })
        }
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
        Action::Inspect if app.replay.is_some() => {
            app.view.say("What is installed here says nothing of a recording.");
        }
        Action::Inspect => return vec![inspect::everything(app, Duration::ZERO)],
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
        Action::Theme => {
            let theme = crate::ui::theme::next(&app.settings.theme);
            app.settings.theme = theme.to_owned();
            app.view.say(format!("theme {theme}"));
        }
    }
    settle(app);
    Vec::new()
}

fn page(app: &App) -> isize {
    let lines = match (app.view.tab, app.view.compat.visible) {
        (Tab::Compat, visible @ 1..) => visible - 1,
        _ => app.view.page.saturating_sub(4),
    };
    lines.max(1).cast_signed()
}

/// Rows of the tab in view.
fn rows(app: &App) -> usize {
    match app.view.tab {
        Tab::Overview => app.frame.gpus.len(),
        Tab::Compat => app.compat_lines().len(),
        Tab::Bench => PATHS.len(),
        Tab::Processes => app.view.processes.rows(&app.frame).len(),
        Tab::History => app.view.history.rows(&app.history.trends).len(),
    }
}

fn step_by(app: &mut App, step: isize) -> Vec<Cmd> {
    if let Some(popup) = &mut app.view.popup {
        popups::scroll(popup, step);
        return Vec::new();
    }
    let count = rows(app);
    let cursor = match app.view.tab {
        Tab::Overview => &mut app.view.overview,
        Tab::Compat => &mut app.view.compat.row,
        Tab::Bench => &mut app.view.bench,
        Tab::Processes => &mut app.view.processes.cursor,
        Tab::History => &mut app.view.history.cursor,
    };
    cursor.step(step, count);
    Vec::new()
}

fn step_aside(app: &mut App, step: isize) {
    let gpus = app.frame.gpus.len();
    match app.view.tab {
        Tab::Compat => app.view.compat.column.step(step, gpus),
        Tab::Overview => app.view.overview.step(step, gpus),
        Tab::History => history::step_run(app, step),
        Tab::Bench | Tab::Processes => {}
    }
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

/// Takes note of where the drawing is, so that the next one starts from there.
fn shown(app: &mut App, part: Shown) {
    match &mut app.view.popup {
        Some(popup) => popups::shown(popup, part.line),
        None => {
            app.view.compat.top = (part.line, part.column);
            app.view.compat.visible = part.lines;
        }
    }
}

fn click(app: &mut App, hit: Hit) -> Vec<Cmd> {
    app.view.typing = false;
    match (hit, app.view.popup.take()) {
        (Hit::Tab(tab), _) => app.view.tab = tab,
        (Hit::Row(row), Some(popup)) => return popups::click(app, popup, row),
        (Hit::Sort(by), None) => app.view.processes.sort_by(by),
        (Hit::Cell { row, column }, None) => click_cell(app, row, column),
        (Hit::Gpu(column), None) => app.view.compat.column.at = column,
        (Hit::Answer, None) => popups::open(app),
        (Hit::Row(row), None) => {
            let cursor = match app.view.tab {
                Tab::Overview => &mut app.view.overview,
                Tab::Compat => &mut app.view.compat.row,
                Tab::Bench => &mut app.view.bench,
                Tab::Processes => &mut app.view.processes.cursor,
                Tab::History => &mut app.view.history.cursor,
            };
            let again = std::mem::replace(&mut cursor.at, row) == row;
            if again {
                popups::open(app);
            }
        }
        (Hit::Sort(_) | Hit::Cell { .. } | Hit::Gpu(_) | Hit::Answer, Some(_)) => {}
    }
    settle(app);
    Vec::new()
}

/// A head folds at once; a cell is selected first, and opened by the second click.
fn click_cell(app: &mut App, row: usize, column: usize) {
    let view = &mut app.view.compat;
    let again = (view.row.at, view.column.at) == (row, column);
    (view.row.at, view.column.at) = (row, column);
    let is_head = matches!(app.selected_line(), Some(Line::Head { .. }));
    if again || is_head {
        popups::open(app);
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

/// Why the benchmark waits, as shown.
const BY_KEY: &str = "by key";
const ON_BATTERY: &str = "on battery";

/// A laptop that is unplugged is left alone, unless the user lets the benchmark run on.
fn mind_battery(app: &App, unplugged: bool) -> Vec<Cmd> {
    let plugged = !on_battery(&app.frame);
    match &app.bench.phase {
        Phase::Running if unplugged => vec![Cmd::PauseBench(Some(ON_BATTERY))],
        Phase::Paused(why) if why == ON_BATTERY && plugged => vec![Cmd::PauseBench(None)],
        _ => Vec::new(),
    }
}

pub(super) fn on_battery(frame: &Frame) -> bool {
    frame.host.machine.on_battery.last() == Some(&true)
}

fn toggle_bench(app: &mut App) -> Vec<Cmd> {
    match &app.bench.phase {
        Phase::Off | Phase::Finished | Phase::Died(_) => {
            app.bench.phase = Phase::Starting;
            vec![Cmd::StartBench]
        }
        Phase::Paused(_) => vec![Cmd::PauseBench(None)],
        Phase::Starting | Phase::Running => vec![Cmd::PauseBench(Some(BY_KEY))],
    }
}

#[cfg(test)]
mod tests;
