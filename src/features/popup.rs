//! What most popups do with keys, the wheel and what was drawn of them.

use super::effect::Effect;
use super::input::Input;
use super::keys::{Action, Chord};
use super::msg::Cmd;

/// A key that was pressed while a popup is open.
#[derive(Clone, Copy, Debug)]
pub struct Press {
    /// The key.
    pub chord: Chord,
    /// What it asks for everywhere.
    pub action: Option<Action>,
    /// Rows of a page of the screen.
    pub page: usize,
}

/// What happens to a popup.
#[derive(Clone, Copy, Debug)]
pub enum PopupEvent {
    /// A key.
    Key(Press),
    /// The wheel, in rows; negative is up.
    Scroll(isize),
    /// A click on a row.
    Click(usize),
    /// The first line that was drawn: a page does not scroll beyond its end.
    Shown(usize),
    /// It is closed from outside.
    Close,
}

/// A key of a popup, as it is typed, and what it does there in a word or two.
pub type PopupHint = (&'static str, &'static str);

/// What every popup has.
pub const CLOSE_HINTS: &[PopupHint] = &[("esc", "close")];

/// Keys of a page that can be searched.
pub const SEARCH_HINTS: &[PopupHint] =
    &[("/", "search"), ("pgup", "back"), ("pgdn", "more"), ("esc", "close")];

/// Whether a popup stays after an event, and what is to be done.
#[derive(Debug)]
pub enum Flow {
    /// It stays.
    Stay(Vec<Effect>),
    /// It closes.
    Close(Vec<Effect>),
}

impl Flow {
    /// It stays, and nothing else happens.
    pub fn stay() -> Self {
        Self::Stay(Vec::new())
    }

    /// It closes, and nothing else happens.
    pub fn close() -> Self {
        Self::Close(Vec::new())
    }

    /// The program ends.
    pub fn quit() -> Self {
        Self::Close(vec![Cmd::Quit.into()])
    }

    /// Puts a popup back where it stays.
    pub fn keep<P>(self, popup: P, place: &mut Option<P>) -> Vec<Effect> {
        match self {
            Self::Stay(effects) => {
                *place = Some(popup);
                effects
            }
            Self::Close(effects) => effects,
        }
    }
}

/// Furthest a page scrolls before anything was drawn of it.
const FURTHEST: usize = 10_000;

/// A page of text: the first line in view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scroll(pub usize);

impl Scroll {
    fn by(&mut self, step: isize) {
        self.0 = self.0.saturating_add_signed(step).min(FURTHEST);
    }

    /// Does what an event asks of every page.
    pub fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press),
            PopupEvent::Scroll(step) => self.by(step),
            PopupEvent::Shown(line) => self.0 = line,
            PopupEvent::Click(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press) -> Flow {
        let effect = match press.action {
            Some(Action::Quit) => return Flow::quit(),
            Some(Action::Close | Action::Open | Action::Help | Action::Notices) => {
                return Flow::close();
            }
            Some(Action::Copy) => Some(Effect::Copy),
            _ => None,
        };
        if let Some(step) = press.action.and_then(|action| action.rows(press.page)) {
            self.by(step);
        }
        Flow::Stay(effect.into_iter().collect())
    }
}

/// A page of text of which only lines with the words typed are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPage {
    /// First line in view.
    pub scroll: Scroll,
    /// Lines shown: those with these words.
    pub filter: Input,
    /// Whether the filter is being typed.
    pub typing: bool,
}

impl SearchPage {
    /// What an event changes: `/` types a filter, the rest moves the page.
    pub fn on(&mut self, event: PopupEvent) -> Flow {
        let PopupEvent::Key(press) = event else { return self.scroll.on(event) };
        match (self.typing, press.chord.typed(), press.action) {
            (_, _, Some(Action::Quit)) if press.chord.typed().is_none() => return Flow::quit(),
            (true, Some(character), _) => self.filter.push(character),
            (true, None, Some(Action::Open | Action::Up | Action::Down)) => self.typing = false,
            (true, None, _) if press.chord.is_backspace() => self.filter.erase(),
            (false, Some('/'), _) => self.typing = true,
            (_, _, Some(Action::Close)) if self.typing || !self.filter.text.is_empty() => {
                (self.typing, self.filter) = (false, Input::default());
            }
            _ => return self.scroll.on(event),
        }
        self.scroll = Scroll::default();
        Flow::stay()
    }

    /// What is searched, to be put behind a title.
    pub fn search(&self, cursor: &str) -> String {
        match (self.typing, self.filter.text.as_str()) {
            (false, "") => String::new(),
            (true, text) => format!("  /{text}{cursor}"),
            (false, text) => format!("  /{text}"),
        }
    }
}
