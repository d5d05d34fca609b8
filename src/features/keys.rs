//! Keys, as they are pressed and as they are written in the configuration.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::effect::Effect;
use super::shared::Shared;

/// One key with its modifiers, as written in the configuration: `q`, `ctrl-c`, `shift-tab`, `f9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

/// Names of keys that are not one character. The first name of a code is the one printed.
const NAMED: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
];

impl FromStr for Chord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |code| Self { code, modifiers: KeyModifiers::NONE };
        if let Some((_, code)) = NAMED.iter().find(|row| row.0 == text) {
            return Ok(plain(*code));
        }
        let mut characters = text.chars();
        if let (Some(one), None) = (characters.next(), characters.next()) {
            return Ok(plain(KeyCode::Char(one)));
        }
        if let Some(number) = text.strip_prefix('f').and_then(|n| n.parse::<u8>().ok())
            && (1..=24).contains(&number)
        {
            return Ok(plain(KeyCode::F(number)));
        }
        for (prefix, modifier) in [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT)] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let mut chord: Self = rest.parse()?;
                chord.modifiers |= modifier;
                return Ok(chord.as_reported());
            }
        }
        Err(format!(
            "{text:?} is not a key; write one character, f1 to f24, space, enter, esc, tab, up and so on, or ctrl- or alt- before one"
        ))
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("ctrl-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("alt-")?;
        }
        match (NAMED.iter().find(|row| row.1 == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(character)) => write!(f, "{character}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

impl Chord {
    /// The key that types a character.
    pub fn character(character: char) -> Self {
        Self { code: KeyCode::Char(character), modifiers: KeyModifiers::NONE }
    }

    /// The character this key types into a text field, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(character) if self.modifiers.is_empty() => Some(character),
            _ => None,
        }
    }

    /// As a terminal reports it: with Ctrl there are no capitals.
    fn as_reported(self) -> Self {
        match self.code {
            KeyCode::Char(character) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                Self { code: KeyCode::Char(character.to_ascii_lowercase()), ..self }
            }
            _ => self,
        }
    }

    /// Whether it takes back the last character of a text field.
    pub fn is_backspace(self) -> bool {
        self.code == KeyCode::Backspace
    }
}

impl From<KeyEvent> for Chord {
    fn from(event: KeyEvent) -> Self {
        let kept = KeyModifiers::CONTROL | KeyModifiers::ALT;
        Self { code: event.code, modifiers: event.modifiers & kept }
    }
}

/// What a key asks for whatever tab is in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Leave.
    Quit,
    /// Open or close the help.
    Help,
    /// Show a tab, by its place.
    Go(usize),
    /// Next tab.
    NextTab,
    /// Previous tab.
    PreviousTab,
    /// One up.
    Up,
    /// One down.
    Down,
    /// One left.
    Left,
    /// One right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// Details of the selected thing.
    Open,
    /// Close what is open; never leaves the program.
    Close,
    /// Stop taking new frames, or pause a recording.
    Freeze,
    /// Shorter interval, or faster replay.
    Faster,
    /// Longer interval, or slower replay.
    Slower,
    /// Everything that can be set.
    Options,
    /// Find something by name and do it.
    Palette,
    /// The machines that are read.
    Hosts,
    /// The cause of an error.
    Explain,
    /// The next layout of the configuration.
    Layout,
    /// Next theme.
    Theme,
    /// Start, pause or continue the benchmark.
    Bench,
    /// Whether GPUs may be measured while the program is open.
    AnswerBench(bool),
    /// Add a what-if GPU.
    WhatIf,
    /// Remove the selected what-if GPU.
    RemoveWhatIf,
    /// Copy the fix, or the selected line.
    Copy,
    /// Record frames, or stop.
    Record,
    /// What was not found, and what to do.
    Notices,
    /// Back in a recording.
    SeekBack,
    /// Forth in a recording.
    SeekForth,
    /// Draw everything again.
    Repaint,
    /// Put the program into the background.
    Suspend,
}

impl Action {
    /// Rows a cursor moves by, where that is what is asked for.
    pub fn rows(self, page: usize) -> Option<isize> {
        let page = page.max(1).cast_signed();
        Some(match self {
            Self::Up => -1,
            Self::Down => 1,
            Self::PageUp => -page,
            Self::PageDown => page,
            Self::First => isize::MIN,
            Self::Last => isize::MAX,
            _ => return None,
        })
    }
}

/// How a key is listed: footer, help and `[keys]` of the configuration come from it.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// Stable name in the configuration.
    pub id: &'static str,
    /// Default keys.
    pub keys: &'static [&'static str],
    /// Words in the footer; empty: not shown there.
    pub hint: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// A key of one feature, and what it does there.
pub struct Key<State> {
    /// How it is listed.
    pub spec: KeySpec,
    /// What it does.
    pub act: fn(&mut State, &Shared) -> Vec<Effect>,
}

/// The table of a feature's keys, a row each: id, default keys, words in the footer, help, what it does.
macro_rules! keys {
    ($($id:literal, [$($key:literal),*], $hint:literal, $help:literal, $act:expr;)*) => {
        &[$($crate::features::Key {
            spec: $crate::features::KeySpec { id: $id, keys: &[$($key),*], hint: $hint, help: $help },
            act: $act,
        },)*]
    };
}

pub(crate) use keys;
