//! The dialog in which a model is named, for the whole tab to answer for.

use warpscope_probes::model::Model;

use super::view::{Only, Order};
use super::{Cmd, Compat, Popup};
use crate::features::keys::Action;
use crate::features::popup::{Flow, PopupEvent, Press};
use crate::features::{Effect, Input, say};
use crate::widgets::theme::Role;
use crate::widgets::{Hit, Popup as Frame, Scrollbar, Surface, scroll_to, text_width, wrap};

/// Longest path that is taken; that of the system.
const LONGEST: usize = 4096;
/// Most models that are offered, and that are in view.
const MOST_CHOICES: usize = 500;
const MOST_SHOWN: usize = 12;

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

/// A model that can be picked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Name it is opened by.
    pub name: String,
    /// Size, format and path, or where it is known from.
    pub detail: String,
}

/// The line a model is named in, what can be picked, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialog {
    input: Input,
    /// What is said below the line.
    pub state: State,
    /// Models of this machine and those asked about before.
    pub found: Vec<Choice>,
    /// The choice the cursor is on.
    at: Option<usize>,
}

impl Dialog {
    /// Nothing is typed yet; this is the name of the model that answers are for now.
    pub(super) fn new(now: Option<&str>) -> Self {
        let hint = |name| format!("Answers are for {name} now; an empty line resets that.");
        let state = now.map_or(State::Empty, |name| State::Hint(hint(name)));
        Self { state, ..Self::default() }
    }

    /// What matches the words typed: models found here, then well-known ones.
    fn choices(&self) -> Vec<Choice> {
        let known = Model::known_ids().filter(|id| !self.found.iter().any(|one| one.name == **id));
        let known = known.map(|id| Choice { name: id.to_owned(), detail: "well known".to_owned() });
        let all = self.found.iter().cloned().chain(known);
        let mut all: Vec<_> = all.filter(|one| self.input.matches(&one.name)).collect();
        let typed = self.input.text.trim();
        all.sort_by_key(|one| (!one.name.eq_ignore_ascii_case(typed), is_republished(&one.name)));
        all.truncate(MOST_CHOICES);
        all
    }

    /// The choice that enter takes: the first that matches what is typed, unless that names a file.
    fn first(&self) -> Option<usize> {
        let typed = self.input.text.trim();
        let none = typed.is_empty() || typed.starts_with(['/', '.', '~']);
        (!none && !self.choices().is_empty()).then_some(0)
    }

    /// What an event changes; an empty line that is entered closes it, and is the caller's to see to.
    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => self.key(press),
            PopupEvent::Close => Flow::close(),
            PopupEvent::Scroll(step) => self.step(step),
            PopupEvent::Click(row) if self.at == Some(row) => self.enter(),
            PopupEvent::Click(row) => {
                self.at = Some(row);
                Flow::stay()
            }
            PopupEvent::Shown(_) => Flow::stay(),
        }
    }

    /// Whether a key enters an empty line.
    pub(super) fn takes_back(&self, event: PopupEvent) -> bool {
        let entered =
            |press: Press| press.action == Some(Action::Open) && press.chord.typed().is_none();
        matches!(event, PopupEvent::Key(press) if entered(press))
            && self.input.text.trim().is_empty()
            && self.at.is_none()
    }

    fn step(&mut self, step: isize) -> Flow {
        let last = self.choices().len().checked_sub(1);
        self.at = match (self.at, last) {
            (_, None) => None,
            (Some(0), _) if step < 0 => None,
            (Some(at), Some(last)) => Some(at.saturating_add_signed(step).min(last)),
            (None, Some(_)) => (step > 0).then_some(0),
        };
        Flow::stay()
    }

    /// Reads what is selected, else what is typed.
    fn enter(&mut self) -> Flow {
        let chosen = self.at.and_then(|at| self.choices().into_iter().nth(at));
        let name = chosen.map_or_else(|| self.input.text.trim().to_owned(), |one| one.name);
        self.state = State::Reading(name.clone());
        Flow::Stay(vec![Cmd::ReadModel(name).into()])
    }

    /// Completes what is typed to the selected choice, or to the first.
    fn complete(&mut self) {
        if let Some(one) = self.choices().into_iter().nth(self.at.unwrap_or(0)) {
            self.input.text = one.name;
            self.at = self.first();
        }
    }

    fn key(&mut self, press: Press) -> Flow {
        match (press.chord.typed(), press.action) {
            (Some(character), _) => self.input.push_within(character, LONGEST),
            (None, Some(Action::Quit)) => return Flow::quit(),
            (None, Some(Action::Close)) => return Flow::close(),
            (None, Some(Action::Open)) => return self.enter(),
            (None, Some(Action::NextTab)) => self.complete(),
            (None, Some(action)) if action.rows(press.page).is_some() => {
                return self.step(action.rows(press.page).unwrap_or(0));
            }
            (None, _) if press.chord.is_backspace() => self.input.erase(),
            _ => return Flow::stay(),
        }
        self.at = self.first();
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
        self.keep_selection(|tab| {
            tab.verdicts.set_model(None);
            if tab.view.order == Order::Fitting {
                tab.view.order = Order::Given;
            }
            if tab.view.only == Only::Fits {
                tab.view.only = Only::All;
            }
        });
        say(said)
    }

    /// Takes the models that can be picked.
    pub(super) fn take_choices(&mut self, found: Vec<Choice>) {
        if let Some(Popup::Model(dialog)) = &mut self.popup {
            dialog.found = found;
        }
    }

    /// Takes what became of reading a path. The dialog may be closed by now, or wait for another path: then nobody asks.
    pub(super) fn take_model(&mut self, path: &str, read: Result<Model, String>) -> Vec<Effect> {
        let Some(Popup::Model(dialog)) = &mut self.popup else { return Vec::new() };
        if !matches!(&dialog.state, State::Reading(waited) if waited == path) {
            return Vec::new();
        }
        match read {
            Err(why) => {
                dialog.state = State::Failed(why);
                Vec::new()
            }
            Ok(model) => {
                self.popup = None;
                let said = format!(
                    "Every row now answers for {}; m with an empty line resets that.",
                    model.name
                );
                let planned = model.shape.is_some();
                self.keep_selection(|tab| tab.verdicts.set_model(Some(model)));
                if planned {
                    self.view.order = Order::Fitting;
                    self.select_first();
                }
                say(said)
            }
        }
    }
}

/// Owners that publish models of others under the names these have.
const REPUBLISHING: &[&str] = &["unsloth", "NousResearch"];

/// Whether a hub id names a copy by somebody who republishes models.
fn is_republished(name: &str) -> bool {
    name.split_once('/').is_some_and(|(owner, _)| REPUBLISHING.contains(&owner))
}

/// Draws the dialog: the line, what is said of it, and what can be picked.
pub(super) fn render(dialog: &Dialog, mut on: Surface<'_>) {
    let look = on.look;
    let (text, role) = said(&dialog.state);
    let width = on.area.width.saturating_sub(4).min(100);
    let lines = wrap(&text, usize::from(width.saturating_sub(4)).max(1));
    let choices = dialog.choices();
    let height = lines.len() + choices.len().min(MOST_SHOWN) + 5;
    let height = u16::try_from(height).unwrap_or(u16::MAX);
    let title = [look.piece("Model", Role::Title)];
    let frame = Frame::new(look, width, height);
    let place = frame.place(on.area);
    let rows = usize::from(place.height).saturating_sub(lines.len() + 4);
    let first = scroll_to(0, dialog.at, choices.len(), rows);
    on.area = frame.titled(|card| card.left(&title)).render(on.area, on.buffer);
    let mut line = on.cut_top(1);
    let room = line.area.width.saturating_sub(1);
    let mut pen = line.pen();
    pen.put(tail(&dialog.input.text, room), look.style(Role::Text));
    pen.glyph(look.glyphs.cursor, look.style(Role::Accent));
    for text in &lines {
        on.cut_top(1).pen().put(text, look.style(role));
    }
    on.cut_top(1);
    Scrollbar { look, total: choices.len(), offset: first }.beside(rows, &mut on);
    for ((at, one), row) in choices.iter().enumerate().skip(first).zip(on.area.rows()) {
        choice(one, dialog.at == Some(at), on.at(row));
        on.hits.add(row, Hit::Row(at));
    }
}

fn choice(one: &Choice, selected: bool, mut on: Surface<'_>) {
    let (look, row) = (on.look, on.area);
    let style = |role| if selected { look.theme.selection() } else { look.style(role) };
    on.buffer.set_style(row, style(Role::Text));
    let mut pen = on.pen();
    let detail = text_width(&one.detail);
    let room = row.width.saturating_sub(detail.min(row.width / 2) + 2);
    pen.elide(&one.name, room, style(Role::Text));
    let gap = pen.rest().saturating_sub(detail);
    pen.skip(gap.max(2)).elide(&one.detail, row.width, style(Role::Muted));
}

fn said(state: &State) -> (String, Role) {
    match state {
        State::Empty => (
            "A hub id, an Ollama name, a folder with a config.json or a file of a model; every row then answers for it.".to_owned(),
            Role::Muted,
        ),
        State::Hint(text) => (text.clone(), Role::Muted),
        State::Reading(path) => (format!("Reading {path}"), Role::Info),
        State::Failed(why) => (why.clone(), Role::Bad),
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
    fn what_is_typed_leads_to_the_first_that_matches_as_its_makers_publish_it() {
        let read = |typed: &str| {
            let mut dialog = Dialog::default();
            typed.chars().for_each(|letter| dialog.input.push_within(letter, LONGEST));
            dialog.at = dialog.first();
            dialog.enter();
            dialog.state
        };
        for (typed, want) in [
            ("llama-3.3-70", "meta-llama/Llama-3.3-70B-Instruct"),
            ("qwen/qwen3-8b", "Qwen/Qwen3-8B"),
            ("unsloth/llama-3.3-70", "unsloth/Llama-3.3-70B-Instruct"),
            ("/nowhere/at/all", "/nowhere/at/all"),
            ("./llama", "./llama"),
            ("no such model", "no such model"),
        ] {
            assert_eq!(read(typed), State::Reading(want.to_owned()), "{typed}");
        }
    }

    #[test]
    fn up_from_the_first_choice_goes_back_to_what_is_typed() {
        let mut dialog = Dialog::default();
        "qwen".chars().for_each(|letter| dialog.input.push_within(letter, LONGEST));
        dialog.at = dialog.first();
        assert_eq!(dialog.at, Some(0));
        dialog.step(-1);
        dialog.enter();
        assert_eq!(dialog.state, State::Reading("qwen".to_owned()));
    }

    #[test]
    fn the_end_of_a_long_path_stays_in_view() {
        assert_eq!(tail("/models/qwen", 20), "/models/qwen");
        assert_eq!(tail("/models/qwen", 4), "qwen");
        assert_eq!(tail("/\u{6f22}\u{6f22}", 3), "\u{6f22}");
        assert_eq!(tail("abc", 0), "");
    }
}
