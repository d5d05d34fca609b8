//! Which key does what: the table's defaults, changed by the configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{ACTIONS, Action, ActionSpec, Scope};
use crate::config::nearest;

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
                return Ok(chord);
            }
        }
        Err(format!(
            "{text:?} is not a key; write one character, f1 to f24, space, enter, esc, tab, up, … or ctrl- or alt- before one"
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
    /// The character this key types into a text field, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            KeyCode::Char(character) if self.modifiers.is_empty() => Some(character),
            _ => None,
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

/// Which key does what: the table's defaults with the user's changes.
#[derive(Clone, Debug)]
pub struct Keymap {
    keys: Vec<Vec<Chord>>,
}

impl Keymap {
    /// The defaults, with the keys of every action named in `changes` replaced.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        if let Some(unknown) = changes.keys().find(|id| !ACTIONS.iter().any(|spec| spec.id == **id))
        {
            let known: Vec<_> = ACTIONS.iter().map(|spec| spec.id).collect();
            if let Some(near) = nearest(unknown, known.iter().copied()) {
                return Err(format!("[keys] has no action {unknown:?}; did you mean {near:?}?"));
            }
            return Err(format!("[keys] has no action {unknown:?}; known: {}", known.join(", ")));
        }
        let parse = |key: &str| key.parse::<Chord>();
        let keys = ACTIONS.iter().map(|spec| match changes.get(spec.id) {
            Some(keys) => keys.iter().map(|key| parse(key)).collect::<Result<_, _>>(),
            None => spec.keys.iter().map(|key| parse(key)).collect(),
        });
        let map = Self { keys: keys.collect::<Result<_, String>>()? };
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<(), String> {
        for (at, (spec, keys)) in ACTIONS.iter().zip(&self.keys).enumerate() {
            let later = ACTIONS.iter().zip(&self.keys).skip(at + 1);
            for (other, others) in later.filter(|(other, _)| meet(spec.scope, other.scope)) {
                if let Some(key) = keys.iter().find(|key| others.contains(key)) {
                    return Err(format!("[keys] gives {key} to both {} and {}", spec.id, other.id));
                }
            }
        }
        Ok(())
    }

    /// What a key asks for where the user is.
    pub fn action(&self, key: Chord, active: impl Fn(Scope) -> bool) -> Option<Action> {
        let mut rows = ACTIONS.iter().zip(&self.keys);
        rows.find(|(spec, keys)| active(spec.scope) && keys.contains(&key))
            .map(|(spec, _)| spec.action)
    }

    /// Every action with its keys, in the table's order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static ActionSpec, &[Chord])> {
        ACTIONS.iter().zip(self.keys.iter().map(Vec::as_slice))
    }
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new(&BTreeMap::new()).expect("the table of default keys is tested")
    }
}

fn meet(one: Scope, other: Scope) -> bool {
    match (one, other) {
        (Scope::On(a), Scope::On(b)) => a == b,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::view::Tab;

    fn changes(id: &str, keys: &[&str]) -> BTreeMap<String, Vec<String>> {
        BTreeMap::from([(id.to_owned(), keys.iter().map(|&key| key.to_owned()).collect())])
    }

    #[test]
    fn the_defaults_hold_and_print_as_they_are_written() {
        for (spec, keys) in Keymap::default().rows() {
            let printed: Vec<_> = keys.iter().map(ToString::to_string).collect();
            assert_eq!(printed, spec.keys, "{}", spec.id);
        }
    }

    #[test]
    fn a_changed_action_loses_its_old_keys() {
        let map = Keymap::new(&changes("quit", &["ctrl-q"])).expect("holds");
        let press = |text: &str| map.action(text.parse().expect("a key"), |_| true);
        assert_eq!(press("ctrl-q"), Some(Action::Quit));
        assert_eq!(press("q"), None);
    }

    #[test]
    fn a_key_means_what_the_tab_says() {
        let map = Keymap::default();
        let on = |tab| move |scope| matches!(scope, Scope::Global) || scope == Scope::On(tab);
        let slash = "/".parse().expect("a key");
        assert_eq!(map.action(slash, on(Tab::Overview)), None);
        assert_eq!(map.action(slash, on(Tab::Compat)), Some(Action::Filter));
    }

    #[test]
    fn mistakes_are_named() {
        for (id, key, want) in [
            ("quitt", "q", "no action \"quitt\""),
            ("quit", "hyper-q", "\"hyper-q\" is not a key"),
            ("quit", "?", "gives ? to both quit and help"),
            ("quit", "f0", "\"f0\" is not a key"),
        ] {
            let error = Keymap::new(&changes(id, &[key])).expect_err(want);
            assert!(error.contains(want), "{error}");
        }
    }
}
