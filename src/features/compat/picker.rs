//! The list a version of a framework is picked from, or typed into, with what the selected row comes to at each.

use std::cell::RefCell;
use std::collections::BTreeMap;

use warpscope_probes::rules::Version;

use super::{Compat, Verdicts, versions};
use crate::engine::{Origin, Outcome};
use crate::features::Input;
use crate::features::keys::Action;
use crate::features::popup::{Flow, PopupEvent, Press};
use crate::widgets::theme::Role;
use crate::widgets::{
    Hit, Popup as Frame, Scrollbar, Surface, outcome_role, scroll_to, text_width,
};

/// Most versions in view.
const MOST_SHOWN: usize = 16;
/// Fewest columns of the list.
const WIDTH: u16 = 60;
/// Columns of an outcome with its symbol.
const OUTCOME: u16 = 20;
/// Columns of the longest note.
const NOTE: u16 = 12;

/// What was picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Picked {
    /// This version.
    Version(String),
    /// The installed one, or the newest the rules know.
    Reset,
}

/// A version with what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    picked: Picked,
    text: String,
    note: &'static str,
}

impl Choice {
    fn of(version: &str) -> Self {
        let picked = Picked::Version(version.to_owned());
        Self { picked, text: version.to_owned(), note: "" }
    }
}

/// The versions of one framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picker {
    framework: String,
    name: String,
    /// The row and the column that outcomes are of, and how the row is called; none on the head of a framework.
    about: Option<(usize, usize, String)>,
    /// The outcome at each version that was in view so far.
    outcomes: RefCell<BTreeMap<String, Option<Outcome>>>,
    all: Vec<Choice>,
    input: Input,
    /// What is typed, where it is a version that does not stand in the list.
    typed: Option<Choice>,
    at: usize,
}

impl Picker {
    /// For the framework under the cursor.
    pub(super) fn new(state: &Compat) -> Option<Self> {
        let line = state.selected_line()?;
        let (verdicts, column) = (&state.verdicts, state.view.column.at);
        let group = verdicts.group_of(&line)?;
        let about = line.row().map(|row| (row, column, verdicts.all_rows()[row].config.clone()));
        let mut picker = Self {
            framework: group.framework.clone(),
            name: group.name.clone(),
            about,
            outcomes: RefCell::default(),
            all: Vec::new(),
            input: Input::default(),
            typed: None,
            at: 0,
        };
        picker.list(verdicts);
        Some(picker)
    }

    /// Every version at which answers change, the newest first.
    fn list(&mut self, verdicts: &Verdicts) {
        let given = verdicts.given(&self.framework);
        let known = verdicts.known_version(&self.framework);
        let note = |version: &str| match given.filter(|given| given.version == version) {
            Some(given) if given.origin == Origin::Installed => "installed",
            Some(_) => "chosen",
            None if known.as_deref() == Some(version) => "newest known",
            None => "",
        };
        let mut versions = verdicts.versions(&self.framework);
        if let Some(given) = given {
            versions::insert(&mut versions, &given.version);
        }
        let choice = |version: &String| Choice { note: note(version), ..Choice::of(version) };
        let mut all: Vec<Choice> = versions.iter().rev().map(choice).collect();
        let now = given.map(|given| &given.version).or(known.as_ref());
        let at = all.iter().position(|one| Some(&one.text) == now).unwrap_or(0);
        let chosen = given.is_some_and(|given| given.origin == Origin::Asked);
        if chosen {
            let text = "reset".to_owned();
            all.insert(0, Choice { picked: Picked::Reset, text, note: "no choice" });
        }
        (self.at, self.all) = (at + usize::from(chosen), all);
    }

    /// What the row comes to at a version, worked out when it first comes into view: there are many.
    fn outcome(&self, choice: &Choice, verdicts: &Verdicts) -> Option<Outcome> {
        let (Picked::Version(version), Some((row, column, _))) = (&choice.picked, &self.about)
        else {
            return None;
        };
        let mut known = self.outcomes.borrow_mut();
        let ask = || verdicts.at_version(*row, *column, version);
        *known.entry(version.clone()).or_insert_with(ask)
    }

    /// Versions of which the outcome was asked.
    #[cfg(test)]
    pub(super) fn asked(&self) -> usize {
        self.outcomes.borrow().len()
    }

    /// The framework that is asked about.
    pub(super) fn framework(&self) -> &str {
        &self.framework
    }

    /// What the words typed leave: what is typed first, where it is a version of its own.
    fn shown(&self) -> Vec<&Choice> {
        let typed = self.input.text.trim();
        let has = |one: &&Choice| typed.is_empty() || one.text.contains(typed);
        self.typed.iter().chain(self.all.iter().filter(has)).collect()
    }

    /// What an event picks.
    pub(super) fn picked(&mut self, event: PopupEvent) -> Option<Picked> {
        let opens = match event {
            PopupEvent::Key(press) => {
                press.action == Some(Action::Open) && press.chord.typed().is_none()
            }
            PopupEvent::Click(row) => std::mem::replace(&mut self.at, row) == row,
            _ => false,
        };
        let chosen = self.shown().get(self.at).map(|one| one.picked.clone());
        chosen.filter(|_| opens)
    }

    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press),
            PopupEvent::Scroll(step) => self.step(step),
            PopupEvent::Close => return Flow::close(),
            PopupEvent::Click(_) | PopupEvent::Shown(_) => {}
        }
        Flow::stay()
    }

    fn step(&mut self, step: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.at = self.at.saturating_add_signed(step).min(last);
    }

    fn key(&mut self, press: Press) -> Flow {
        match (press.chord.typed(), press.action) {
            (Some(character), _) => self.input.push(character),
            (None, Some(Action::Quit)) => return Flow::quit(),
            (None, Some(Action::Close)) => return Flow::close(),
            (None, Some(action)) if action.rows(press.page).is_some() => {
                self.step(action.rows(press.page).unwrap_or(0));
                return Flow::stay();
            }
            (None, _) if press.chord.is_backspace() => self.input.erase(),
            _ => return Flow::stay(),
        }
        let text = self.input.text.trim();
        let is_new =
            text.parse::<Version>().is_ok() && !self.all.iter().any(|one| one.text == text);
        self.typed = is_new.then(|| Choice::of(text));
        self.at = 0;
        Flow::stay()
    }

    /// What stands below the line.
    fn hint(&self) -> String {
        match (&self.about, self.shown().is_empty()) {
            (_, true) => "That is no version; write 0.9.1, 0.6.3.post2 or b4327.".to_owned(),
            (Some((_, _, row)), _) => format!("{row} at each; between two, nothing changes."),
            (None, _) => "The rules change at these; any other can be typed.".to_owned(),
        }
    }
}

/// Draws the list: the line, what it is about, the versions.
pub(super) fn render(picker: &Picker, verdicts: &Verdicts, mut on: Surface<'_>) {
    let look = on.look;
    let (shown, hint) = (picker.shown(), picker.hint());
    let width = text_width(&hint).saturating_add(4).max(WIDTH).min(on.area.width);
    let height = shown.len().min(MOST_SHOWN) + 5;
    let height = u16::try_from(height).unwrap_or(u16::MAX);
    let title = format!("Version of {}", picker.name);
    let title = [look.piece(&title, Role::Title)];
    let frame = Frame::new(look, width, height);
    let rows = usize::from(frame.place(on.area).height).saturating_sub(5);
    let first = scroll_to(0, Some(picker.at), shown.len(), rows);
    on.area = frame.titled(|card| card.left(&title)).render(on.area, on.buffer);
    let mut line = on.cut_top(1);
    let mut pen = line.pen();
    pen.put(&picker.input.text, look.style(Role::Text));
    pen.glyph(look.glyphs.cursor, look.style(Role::Accent));
    on.cut_top(1).pen().put(&hint, look.style(Role::Muted));
    on.cut_top(1);
    Scrollbar { look, total: shown.len(), offset: first }.beside(rows, &mut on);
    for ((at, one), row) in shown.iter().enumerate().skip(first).zip(on.area.rows()) {
        choice(one, picker.outcome(one, verdicts), picker.at == at, on.at(row));
        on.hits.add(row, Hit::Row(at));
    }
}

fn choice(one: &Choice, outcome: Option<Outcome>, selected: bool, mut on: Surface<'_>) {
    let (look, row) = (on.look, on.area);
    let style = |role| if selected { look.theme.selection() } else { look.style(role) };
    on.buffer.set_style(row, style(Role::Text));
    let said = if outcome.is_some() { OUTCOME } else { 0 };
    let mut pen = on.pen();
    let room = row.width.saturating_sub(said + NOTE + 2);
    pen.elide(&one.text, room, style(Role::Text)).skip(1);
    if let Some(outcome) = outcome {
        let (symbol, words) = (outcome.symbol(!look.glyphs.is_unicode), outcome.words());
        pen.elide(&format!("{symbol} {words}"), said, style(outcome_role(outcome)));
    }
    pen.skip(1).put(one.note, style(Role::Muted));
}
