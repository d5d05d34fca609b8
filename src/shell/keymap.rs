//! Which key does what: the table's defaults, changed by the configuration.

use std::collections::BTreeMap;

use super::keys::{Act, Row, Scope, rows};
use crate::config::nearest;
use crate::features::Action;
pub use crate::features::Chord;

/// Which key does what: the table's defaults with the user's changes.
#[derive(Clone, Debug)]
pub struct Keymap {
    keys: Vec<Vec<Chord>>,
}

impl Keymap {
    /// The defaults, with the keys of every action named in `changes` replaced.
    pub fn new(changes: &BTreeMap<String, Vec<String>>) -> Result<Self, String> {
        let known = || rows().iter().map(|row| row.spec.id);
        if let Some(unknown) = changes.keys().find(|id| !known().any(|known| known == **id)) {
            if let Some(near) = nearest(unknown, known()) {
                return Err(format!("[keys] has no action {unknown:?}; did you mean {near:?}?"));
            }
            return Err(format!(
                "[keys] has no action {unknown:?}; `warpscope config sample` lists them"
            ));
        }
        let parse = |key: &str| key.parse::<Chord>();
        let keys = rows().iter().map(|Row { spec, .. }| match changes.get(spec.id) {
            Some(keys) => keys.iter().map(|key| parse(key)).collect::<Result<_, _>>(),
            None => spec.keys.iter().map(|key| parse(key)).collect(),
        });
        let map = Self { keys: keys.collect::<Result<_, String>>()? };
        map.check()?;
        Ok(map)
    }

    fn check(&self) -> Result<(), String> {
        for (at, (row, keys)) in self.rows().enumerate() {
            let later = self.rows().skip(at + 1);
            for (other, others) in later.filter(|(other, _)| meet(row.scope, other.scope)) {
                if let Some(key) = keys.iter().find(|key| others.contains(key)) {
                    let (one, two) = (row.spec.id, other.spec.id);
                    return Err(format!("[keys] gives {key} to both {one} and {two}"));
                }
            }
        }
        Ok(())
    }

    /// What a key asks for where the user is.
    pub fn act(&self, key: Chord, active: impl Fn(Scope) -> bool) -> Option<Act> {
        let mut rows = self.rows();
        rows.find(|(row, keys)| active(row.scope) && keys.contains(&key)).map(|(row, _)| row.act)
    }

    /// What a key asks for on every tab.
    pub fn everywhere(&self, key: Chord) -> Option<Action> {
        match self.act(key, |scope| scope == Scope::Global) {
            Some(Act::Shell(action)) => Some(action),
            _ => None,
        }
    }

    /// Every row of the table with its keys, in the table's order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Row, &[Chord])> {
        rows().iter().zip(self.keys.iter().map(Vec::as_slice))
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
        (Scope::On(a), Scope::Off(b)) | (Scope::Off(a), Scope::On(b)) => a != b,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::tabs::Tab;

    fn changes(id: &str, keys: &[&str]) -> BTreeMap<String, Vec<String>> {
        BTreeMap::from([(id.to_owned(), keys.iter().map(|&key| key.to_owned()).collect())])
    }

    #[test]
    fn the_defaults_hold_and_print_as_they_are_written() {
        for (Row { spec, .. }, keys) in Keymap::default().rows() {
            let printed: Vec<_> = keys.iter().map(ToString::to_string).collect();
            assert_eq!(printed, spec.keys, "{}", spec.id);
        }
    }

    #[test]
    fn a_changed_action_loses_its_old_keys() {
        let map = Keymap::new(&changes("quit", &["ctrl-q"])).expect("holds");
        let press = |text: &str| map.everywhere(text.parse().expect("a key"));
        assert_eq!(press("ctrl-q"), Some(Action::Quit));
        assert_eq!(press("q"), None);
    }

    #[test]
    fn ctrl_with_a_capital_is_the_key_that_terminals_report() {
        let map = Keymap::new(&changes("help", &["ctrl-alt-X"])).expect("holds");
        let reported = |code, modifiers| crossterm::event::KeyEvent::new(code, modifiers).into();
        let (ctrl, alt) =
            (crossterm::event::KeyModifiers::CONTROL, crossterm::event::KeyModifiers::ALT);
        let key = crossterm::event::KeyCode::Char;
        assert_eq!(map.everywhere(reported(key('x'), ctrl | alt)), Some(Action::Help));
        let map = Keymap::new(&changes("help", &["alt-X"])).expect("holds");
        assert_eq!(map.everywhere(reported(key('X'), alt)), Some(Action::Help));
        let error = Keymap::new(&changes("help", &["ctrl-C"])).expect_err("quit has it");
        assert!(error.contains("ctrl-c to both"), "{error}");
    }

    #[test]
    fn a_key_means_what_the_tab_says() {
        let map = Keymap::default();
        let on = |tab| move |scope| matches!(scope, Scope::Global) || scope == Scope::On(tab);
        let slash = "/".parse().expect("a key");
        assert_eq!(map.act(slash, on(Tab::Overview)), None);
        let Some(Act::Tab(at)) = map.act(slash, on(Tab::Compat)) else { panic!("is a key") };
        assert_eq!(Tab::Compat.keys()[at].id, "filter");
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
