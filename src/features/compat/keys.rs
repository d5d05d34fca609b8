//! What the keys of the Compat tab do.

use super::lines::{Line, place_of};
use crate::shell::App;
use crate::shell::action::Action;
use crate::shell::view::{Input, Popup};

/// Does what a key asks for; every other action is not of this tab.
pub(crate) fn act(app: &mut App, action: Action) {
    match action {
        Action::OnlyFailures => staying(app, |app| {
            app.view.compat.only_failures = !app.view.compat.only_failures;
        }),
        Action::Sort => {
            staying(app, |app| app.view.compat.order = app.view.compat.order.next());
            app.view.say(format!("Sorted: {}.", app.view.compat.order.words()));
        }
        Action::Fold => staying(app, fold),
        Action::FoldAll => staying(app, fold_all),
        Action::OlderVersion => step_version(app, -1),
        Action::NewerVersion => step_version(app, 1),
        Action::ResetVersion => reset_version(app),
        Action::Model => {
            let text = app.compat.premises().model.as_ref().map(|model| model.name.clone());
            let hint =
                text.map(|name| format!("Now answers for {name}; an empty line takes it back."));
            app.view.popup = Some(Popup::Model { input: Input::default(), state: hint.into() });
        }
        _ => {}
    }
}

/// Changes which lines there are, and keeps the cursor on the one it was on; if that is gone, on the first row.
pub(crate) fn staying(app: &mut App, change: impl FnOnce(&mut App)) {
    let before = app.selected_line();
    change(app);
    let lines = app.compat_lines();
    let place = before.and_then(|line| place_of(&lines, app.compat.groups(), &line));
    let first = || lines.iter().position(|line| matches!(line, Line::Row(_)));
    app.view.compat.row.at = place.or_else(first).unwrap_or(0);
}

/// Folds or unfolds the framework under the cursor.
pub(crate) fn fold(app: &mut App) {
    let Some(framework) = framework(app) else { return };
    let folded = &mut app.view.compat.folded;
    if !folded.remove(&framework) {
        folded.insert(framework);
    }
}

/// Folds every framework, or unfolds all when none is open.
fn fold_all(app: &mut App) {
    let all = app.compat.groups().iter().map(|group| group.framework.clone()).collect();
    let folded = &mut app.view.compat.folded;
    if *folded == all {
        folded.clear();
    } else {
        *folded = all;
    }
}

/// The framework under the cursor.
fn framework(app: &App) -> Option<String> {
    let group = app.compat.group_of(&app.selected_line()?)?;
    Some(group.framework.clone())
}

fn step_version(app: &mut App, step: isize) {
    let Some(line) = app.selected_line() else { return };
    let Some(framework) = framework(app) else { return };
    let now = match line {
        Line::Row(row) => app.compat.all_rows()[row].question.version.clone(),
        Line::Head { .. } => {
            let given = app.compat.given(&framework).map(|given| given.version.clone());
            given.or_else(|| app.compat.known_version(&framework).map(str::to_owned))
        }
    };
    let mut found = false;
    staying(app, |app| found = app.compat.step_version(&framework, now.as_deref(), step));
    if !found {
        let side = if step < 0 { "older" } else { "newer" };
        let of = now.unwrap_or_else(|| "any".to_owned());
        app.view.say(format!("The rules tell no {side} version of {framework} from {of}."));
    }
}

fn reset_version(app: &mut App) {
    let Some(framework) = framework(app) else { return };
    let mut was_chosen = false;
    staying(app, |app| was_chosen = app.compat.reset_version(&framework));
    if !was_chosen {
        app.view.say(format!("No version of {framework} was chosen; < and > choose one."));
    }
}
