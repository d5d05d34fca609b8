//! What the keys of the History tab do.

use super::{Compared, State};
use crate::shell::action::Action;
use crate::shell::view::{Popup, Tab};
use crate::shell::{App, Cmd};
use crate::store::kernels::regime_word;

/// Reads the store whenever the tab is come to: another program may have added to it.
pub(crate) fn follow(app: &mut App, before: Tab) -> Option<Cmd> {
    let here = app.view.tab == Tab::History;
    let due = here && (before != Tab::History || app.history.state == State::NotRead);
    if !due || app.history.state == State::Reading {
        return None;
    }
    app.history.state = State::Reading;
    Some(Cmd::ReadHistory)
}

/// Does what a key asks for; every other action is not of this tab.
pub(crate) fn act(app: &mut App, action: Action) -> Vec<Cmd> {
    match action {
        Action::Sort => {
            staying(app, |app| app.view.history.order = app.view.history.order.next());
            app.view.say(format!("Sorted: {}.", app.view.history.order.words()));
        }
        Action::WeakChanges => {
            staying(app, |app| app.view.history.weak = !app.view.history.weak);
            let said = if app.view.history.weak {
                "Small changes and those that may be chance are shown too."
            } else {
                "Only changes that count are shown."
            };
            app.view.say(said);
        }
        Action::MarkRun => mark(app),
        Action::CompareRuns => return compare(app),
        _ => {}
    }
    Vec::new()
}

/// Changes the order, and keeps the cursor on the kernel it was on.
fn staying(app: &mut App, change: impl FnOnce(&mut App)) {
    let at = |app: &App| {
        let view = &app.view.history;
        view.rows(&app.history.trends).get(view.cursor.at).copied()
    };
    let before = at(app);
    change(app);
    let rows = app.view.history.rows(&app.history.trends);
    let place = rows.iter().position(|row| Some(*row) == before);
    app.view.history.cursor.at = place.unwrap_or(0);
}

/// Moves over the runs of the selected kernel.
pub(crate) fn step_run(app: &mut App, step: isize) {
    let Some(trend) = app.selected_trend() else { return };
    let last = trend.moments.len().saturating_sub(1);
    let at = app.view.history.moment(trend).saturating_add_signed(step).min(last);
    app.view.history.run = trend.moments.get(at).map(|moment| moment.run.hash);
}

/// Marks the run under the cursor, or takes its mark away; of three the oldest mark goes.
fn mark(app: &mut App) {
    let Some(hash) = app.selected_run().map(|run| run.hash) else { return };
    let marked = &mut app.view.history.marked;
    match marked.iter().position(|other| *other == hash) {
        Some(at) => drop(marked.remove(at)),
        None => {
            marked.push(hash);
            if marked.len() > 2 {
                marked.remove(0);
            }
        }
    }
    if app.view.history.marked.len() == 1 {
        app.view.say("One run is marked; mark another, then compare both.");
    }
}

/// Asks for the samples of both marked runs, if they can be compared at all.
fn compare(app: &mut App) -> Vec<Cmd> {
    let runs = app.view.history.marked.iter().filter_map(|hash| app.history.run(*hash));
    let mut runs: Vec<_> = runs.map(|run| (run.identity.at_ms, run.hash, run)).collect();
    runs.sort_by_key(|run| (run.0, run.1));
    let [(_, before, a), (_, after, b)] = runs.as_slice() else {
        app.view.say("Mark two runs first; left and right move over the runs.");
        return Vec::new();
    };
    let (before, after) = (*before, *after);
    let (a, b) = (&a.identity, &b.identity);
    let state = if a.regime != b.regime {
        let (a, b) = (regime_word(a.regime), regime_word(b.regime));
        Compared::Failed(format!("One run is {a}, the other {b}: their times are not of one kind."))
    } else if a.cold != b.cold {
        Compared::Failed(
            "Operands came from memory in one run and not in the other: their times are not of one kind."
                .to_owned(),
        )
    } else {
        Compared::Waiting(before, after)
    };
    let waits = matches!(state, Compared::Waiting(..));
    app.history.compared = state;
    app.view.popup = Some(Popup::Compared { scroll: 0 });
    if waits { vec![Cmd::CompareRuns(before, after)] } else { Vec::new() }
}

/// Takes what was read; runs that are gone lose their marks.
pub(crate) fn take(app: &mut App, read: Result<Vec<crate::store::kernels::Trend>, String>) {
    let name = app.selected_trend().map(|trend| (trend.name(), trend.circumstances()));
    match read {
        Ok(trends) => {
            app.history.trends = trends;
            app.history.state = State::Read;
        }
        Err(why) => app.history.state = State::Failed(why),
    }
    let history = &app.history;
    app.view.history.marked.retain(|hash| history.run(*hash).is_some());
    let rows = app.view.history.rows(&app.history.trends);
    let same = |row: &usize| {
        let trend = &app.history.trends[*row];
        name == Some((trend.name(), trend.circumstances()))
    };
    app.view.history.cursor.at = rows.iter().position(same).unwrap_or(0);
}

/// Takes a comparison, if these are still the runs that are waited for.
pub(crate) fn compared(
    app: &mut App,
    runs: (i64, i64),
    result: Result<crate::runs::compare::Comparison, String>,
) {
    if app.history.compared == Compared::Waiting(runs.0, runs.1) {
        app.history.compared = match result {
            Ok(comparison) => Compared::Done(Box::new(comparison)),
            Err(why) => Compared::Failed(why),
        };
    }
}
