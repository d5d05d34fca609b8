use super::super::range::VersionRange;
use super::settings::Settings;
use super::{NOTHING, UNSET};

/// What a rule asks of a configuration: for each key the values it speaks of, for packages a version range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(pub(super) Vec<(&'static str, Choice)>);

/// What a rule accepts under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Any of these values; `unset` stands for a configuration that does not name the key.
    OneOf(Vec<String>),
    /// A package in this range.
    Within(VersionRange),
}

impl Selector {
    /// Whether the rule speaks of this configuration; `None` when a package version that decides it is not known.
    pub fn matches(&self, settings: &Settings) -> Option<bool> {
        let mut known = true;
        for (key, choice) in &self.0 {
            let value = settings.get(key);
            match (choice, value) {
                (Choice::OneOf(values), _) if accepts(values, value) => {}
                (Choice::OneOf(_), _) | (Choice::Within(_), None | Some(NOTHING)) => {
                    return Some(false);
                }
                (Choice::Within(range), Some(value)) => {
                    match range.contains(value.parse().ok().as_ref()) {
                        Some(true) => {}
                        Some(false) => return Some(false),
                        None => known = false,
                    }
                }
            }
        }
        known.then_some(true)
    }

    /// Keys the rule asks for and the configuration leaves open, where everything else matches; `None` where something else does not.
    /// Only the number format and versions of packages can be left open: other keys choose another route.
    pub fn left_open(&self, settings: &Settings) -> Option<Vec<&'static str>> {
        let mut open = Vec::new();
        for (key, choice) in &self.0 {
            let fits = match (choice, settings.get(key)) {
                (Choice::OneOf(values), None) if *key == "dtype" => {
                    open.extend((!values.iter().any(|one| one == UNSET)).then_some(*key));
                    true
                }
                (Choice::Within(_), None) => {
                    open.push(*key);
                    true
                }
                (Choice::OneOf(values), value) => {
                    values.iter().any(|one| one == value.unwrap_or(UNSET))
                }
                (Choice::Within(range), Some(value)) => {
                    range.contains(value.parse().ok().as_ref()) == Some(true)
                }
            };
            if !fits {
                return None;
            }
        }
        Some(open)
    }

    /// Whether it names this value under this key.
    pub fn names(&self, key: &str, value: &str) -> bool {
        let one = self.0.iter().find(|(own, _)| *own == key);
        one.is_some_and(|(_, choice)| match choice {
            Choice::OneOf(values) => values.iter().any(|own| own == value),
            Choice::Within(range) => range.contains(value.parse().ok().as_ref()) == Some(true),
        })
    }

    /// Whether it speaks of this key.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(own, _)| *own == key)
    }

    /// Every key and what is accepted under it.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Choice)> {
        self.0.iter().map(|(key, choice)| (*key, choice))
    }

    /// Whether the rule speaks of everything that was asked for. One that does not cannot say that the whole of it runs.
    pub fn covers(&self, settings: &Settings) -> bool {
        settings.route_keys().all(|(key, _)| self.has(key))
    }

    /// Number of keys it names.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it accepts every configuration.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a rule speaks of this value. One that a route has taken out of play is as good as unset.
fn accepts(values: &[String], value: Option<&str>) -> bool {
    let is = |wanted: &str| values.iter().any(|one| one == wanted);
    value.is_some_and(is) || (matches!(value, None | Some(NOTHING)) && is(UNSET))
}
