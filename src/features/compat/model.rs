//! The dialog in which a model is named, for the whole tab to answer for.

use warpscope_probes::model::Model;

use crate::shell::action::Action;
use crate::shell::keymap::Chord;
use crate::shell::view::{Input, Popup};
use crate::shell::{App, Cmd};

/// Longest path that is taken; that of the system.
const LONGEST: usize = 4096;

/// What the dialog says below the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nothing but what to type.
    #[default]
    Empty,
    /// A remark.
    Hint(String),
    /// The model of this path is being read.
    Reading(String),
    /// Why it cannot be read, and what to do.
    Failed(String),
}

impl From<Option<String>> for State {
    fn from(hint: Option<String>) -> Self {
        hint.map_or(Self::Empty, Self::Hint)
    }
}

/// A key while the dialog is open.
pub(crate) fn key(app: &mut App, (mut input, mut state): (Input, State), chord: Chord) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    match (chord.typed(), app.keymap.action(chord, |_| true)) {
        (Some(character), _) => input.push_within(character, LONGEST),
        (None, Some(Action::Quit)) => return vec![Cmd::Quit],
        (None, Some(Action::Close)) => return Vec::new(),
        (None, Some(Action::Open)) if input.text.trim().is_empty() => {
            forget(app);
            return Vec::new();
        }
        (None, Some(Action::Open)) => {
            let path = input.text.trim().to_owned();
            state = State::Reading(path.clone());
            cmds.push(Cmd::ReadModel(path));
        }
        (None, _) if chord.is_backspace() => drop(input.text.pop()),
        _ => {}
    }
    if cmds.is_empty() && matches!(state, State::Failed(_)) {
        state = State::Empty;
    }
    app.view.popup = Some(Popup::Model { input, state });
    cmds
}

/// Answers for no model in particular again.
pub(crate) fn forget(app: &mut App) {
    if let Some(model) = &app.compat.premises().model {
        let said = format!("No longer asks about {}.", model.name);
        super::keys::staying(app, |app| app.compat.set_model(None));
        app.view.say(said);
    }
}

/// Takes what became of reading a path. The dialog may be closed by now, or wait for another path: then nobody asks.
pub(crate) fn take(app: &mut App, path: &str, read: Result<Model, String>) {
    let Some(Popup::Model { state, .. }) = &mut app.view.popup else { return };
    if !matches!(state, State::Reading(waited) if waited == path) {
        return;
    }
    match read {
        Err(why) => *state = State::Failed(why),
        Ok(model) => {
            app.view.popup = None;
            app.view.say(format!("Every row now asks about {}; esc takes it back.", model.name));
            super::keys::staying(app, |app| app.compat.set_model(Some(model)));
        }
    }
}
