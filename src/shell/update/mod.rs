//! The one function that changes the state.

mod keys;
mod moves;

use warpscope_probes::Frame;

use super::recording;
use super::view::Tab;
use super::{App, Cmd, Msg};
use crate::features::bench::devices::DeviceTask;
use crate::features::compat;
use crate::features::compat::inspect;
use crate::features::compat::probing;
use crate::features::history;

/// Takes one thing that happened and says what should be done about it.
pub fn update(app: &mut App, msg: Msg) -> Vec<Cmd> {
    let tab = app.view.tab;
    let mut cmds = take(app, msg);
    cmds.extend(history::follow(app, tab));
    let seen = app.bench.devices.see(app.view.tab == Tab::Bench);
    cmds.extend(worker_tasks(seen));
    cmds
}

fn take(app: &mut App, msg: Msg) -> Vec<Cmd> {
    match msg {
        Msg::Frame(frame) => return take_frame(app, *frame),
        Msg::Position(position) => app.replay = Some(position),
        Msg::Worker(key, update) => {
            let tasks = app.bench.devices.handle(&key, update);
            settle(app);
            return worker_tasks(tasks).collect();
        }
        Msg::Key(chord) => return keys::key(app, chord),
        Msg::Click(hit) => return moves::click(app, hit),
        Msg::Scroll(step) => return moves::step_by(app, step),
        Msg::Resize { rows } => app.view.page = rows,
        Msg::Suspend => return suspend(app),
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
        Msg::Probed(uuid, found) => {
            compat::keys::staying(app, |app| probing::take(app, &uuid, found));
            settle(app);
        }
        Msg::ProbeLibraries(cublas) => probing::announce(app, &cublas),
        Msg::Model(path, read) => {
            compat::model::take(app, &path, read);
            settle(app);
        }
        Msg::History(read) => history::take(app, read),
        Msg::Compared(runs, result) => history::compared(app, runs, result),
        Msg::Shown(part) => moves::shown(app, part),
    }
    Vec::new()
}

fn take_frame(app: &mut App, mut frame: Frame) -> Vec<Cmd> {
    age_toast(app);
    // Whoever comes is given way to, also while the screen stands still.
    let mut cmds: Vec<Cmd> = worker_tasks(app.bench.devices.frame(&frame)).collect();
    if app.view.frozen {
        return cmds;
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
    cmds.extend(inspect::look_around(app, unplugged));
    cmds.extend(probing::recall(app));
    cmds
}

/// What is to be done about workers, as commands.
pub(crate) fn worker_tasks(tasks: Vec<DeviceTask>) -> impl Iterator<Item = Cmd> {
    tasks.into_iter().map(|(key, task)| Cmd::Worker(key, task))
}

/// Goes to the background. Nobody knows for how long, so no GPU is held meanwhile.
pub(crate) fn suspend(app: &mut App) -> Vec<Cmd> {
    let orders = app.bench.devices.give_way("warpscope was in the background");
    worker_tasks(orders).chain([Cmd::Suspend]).collect()
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
pub(crate) fn redress(app: &mut App) {
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
    app.view.bench.step(0, app.bench_lines());
    app.view.bench_gpu.step(0, app.bench_gpus().count() + 1);
    let rows = app.view.history.rows(&app.history.trends).len();
    app.view.history.cursor.step(0, rows);
}

pub(crate) fn on_battery(frame: &Frame) -> bool {
    frame.host.machine.on_battery.last() == Some(&true)
}

#[cfg(test)]
mod tests;
