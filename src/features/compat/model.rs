//! The dialog in which a model is named, for the whole tab to answer for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use warpscope_probes::model::Model;

use super::{Cmd, Compat, Popup};
use crate::features::keys::Action;
use crate::features::popup::{Flow, PopupEvent, Press};
use crate::features::{Effect, Input, say};
use crate::widgets::theme::Role;
use crate::widgets::{Look, Popup as Frame, text_width, wrap};

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

/// The line a model's path is typed in, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialog {
    input: Input,
    /// What is said below the line.
    pub state: State,
}

impl Dialog {
    /// Nothing is typed yet; this is the name of the model that answers are for now.
    pub(super) fn new(now: Option<&str>) -> Self {
        let hint = |name| format!("Answers are for {name} now; an empty line resets that.");
        let state = now.map_or(State::Empty, |name| State::Hint(hint(name)));
        Self { input: Input::default(), state }
    }

    /// What an event changes; an empty line that is entered closes it, and is the caller's to see to.
    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => self.key(press),
            PopupEvent::Close => Flow::close(),
            PopupEvent::Scroll(_) | PopupEvent::Click(_) | PopupEvent::Shown(_) => Flow::stay(),
        }
    }

    /// Whether a key enters an empty line.
    pub(super) fn takes_back(&self, event: PopupEvent) -> bool {
        let entered =
            |press: Press| press.action == Some(Action::Open) && press.chord.typed().is_none();
        matches!(event, PopupEvent::Key(press) if entered(press))
            && self.input.text.trim().is_empty()
    }

    fn key(&mut self, press: Press) -> Flow {
        match (press.chord.typed(), press.action) {
            (Some(character), _) => self.input.push_within(character, LONGEST),
            (None, Some(Action::Quit)) => return Flow::quit(),
            (None, Some(Action::Close)) => return Flow::close(),
            (None, Some(Action::Open)) => {
                let path = self.input.text.trim().to_owned();
                self.state = State::Reading(path.clone());
                return Flow::Stay(vec![Cmd::ReadModel(path).into()]);
            }
            (None, _) if press.chord.is_backspace() => self.input.erase(),
            _ => {}
        }
        if matches!(self.state, State::Failed(_)) {
            self.state = State::Empty;
        }
        Flow::stay()
    }
}

impl Compat {
    /// Answers for no model in particular again.
    pub(super) fn forget_model(&mut self) -> Vec<Effect> {
        let Some(model) = &self.verdicts.assumptions().model else { return Vec::new() };
        let said = format!("No longer answering for {}.", model.name);
        self.keep_selection(|tab| tab.verdicts.set_model(None));
        say(said)
    }

    /// Takes what became of reading a path. The dialog may be closed by now, or wait for another path: then nobody asks.
    pub(super) fn take_model(&mut self, path: &str, read: Result<Model, String>) -> Vec<Effect> {
        let Some(Popup::Model(Dialog { state, .. })) = &mut self.popup else { return Vec::new() };
        if !matches!(state, State::Reading(waited) if waited == path) {
            return Vec::new();
        }
        match read {
            Err(why) => {
                *state = State::Failed(why);
                Vec::new()
            }
            Ok(model) => {
                self.popup = None;
                let said = format!("Every row now answers for {}; esc resets that.", model.name);
                self.keep_selection(|tab| tab.verdicts.set_model(Some(model)));
                say(said)
            }
        }
    }
}

/// The line a model's path is typed in, and what became of it.
pub(super) fn render(dialog: &Dialog, look: Look<'_>, area: Rect, buffer: &mut Buffer) {
    let Dialog { input, state } = dialog;
    let (text, role) = match state {
        State::Empty => (
            "A folder with a config.json, or a file of a model. Enter reads it; every row then answers for that model.".to_owned(),
            Role::Muted,
        ),
        State::Hint(text) => (text.clone(), Role::Muted),
        State::Reading(path) => (format!("Reading {path}"), Role::Info),
        State::Failed(why) => (why.clone(), Role::Bad),
    };
    let width = area.width.saturating_sub(4).min(90);
    let lines = wrap(&text, usize::from(width.saturating_sub(4)).max(1));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(4);
    let title = [look.piece("Model", Role::Title)];
    let foot = [look.piece("enter reads", Role::Muted), look.piece("esc closes", Role::Muted)];
    let frame = Frame::new(look, width, height).titled(|card| card.left(&title).foot(&foot));
    let inner = frame.render(area, buffer);
    let mut rows = inner.rows();
    if let Some(line) = rows.next() {
        let mut pen = look.pen(buffer, line);
        let room = line.width.saturating_sub(1);
        pen.put(tail(&input.text, room), look.style(Role::Text));
        pen.glyph(look.glyphs.cursor, look.style(Role::Accent));
    }
    for (row, text) in rows.skip(1).zip(&lines) {
        look.pen(buffer, row).put(text, look.style(role));
    }
}

/// As much of the end of a text as fits.
fn tail(text: &str, columns: u16) -> &str {
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let fits = |at: &usize| text_width(&text[*at..]) <= columns;
    &text[starts.into_iter().find(fits).unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_path_stays_in_view() {
        assert_eq!(tail("/models/qwen", 20), "/models/qwen");
        assert_eq!(tail("/models/qwen", 4), "qwen");
        assert_eq!(tail("/\u{6f22}\u{6f22}", 3), "\u{6f22}");
        assert_eq!(tail("abc", 0), "");
    }
}
