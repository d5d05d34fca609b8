use std::fmt;

use super::super::version::build_of;
use super::{
    ANY_VERSION, BUILD_KEYS, Kind, MODEL_KEYS, NOTHING, SPLIT_KEYS, check_value, kind_of, row_of,
};

/// A configuration: what is asked about. Every value is checked against its key.
///
/// A list in order of the key: a tree takes half a kilobyte for its first pair, and most configurations have fewer than five.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Settings(Vec<(&'static str, Box<str>)>);

impl Settings {
    /// Reads pairs, checking each.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut settings = Self::default();
        for (key, value) in pairs {
            settings.set(key, value)?;
        }
        settings.0.shrink_to_fit();
        Ok(settings)
    }

    /// Sets one key after checking it.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        check_value(key, value)?;
        self.put(row_of(key)?.0, value.into());
        Ok(())
    }

    /// What a file says, each pair checked.
    pub(super) fn of_pairs(pairs: Vec<(&'static str, Box<str>)>) -> Self {
        let mut settings = Self::default();
        pairs.into_iter().for_each(|(key, value)| settings.put(key, value));
        settings.0.shrink_to_fit();
        settings
    }

    fn put(&mut self, key: &'static str, value: Box<str>) {
        match self.0.binary_search_by(|one| one.0.cmp(key)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// This configuration with everything `over` names replaced.
    pub fn with(&self, over: &Self) -> Self {
        let mut settings = self.clone();
        for (key, value) in &over.0 {
            settings.put(key, value.clone());
        }
        settings
    }

    /// What of it is the route taken: everything but what describes the model.
    pub fn of_route(&self) -> Self {
        self.only(|key| !MODEL_KEYS.contains(&key))
    }

    /// This configuration without these keys.
    pub fn without(&self, keys: &[&str]) -> Self {
        self.only(|key| !keys.contains(&key))
    }

    /// Versions in here of the packages that `other` names without a version.
    pub fn named_by(&self, other: &Self) -> Self {
        self.only(|key| other.get(key) == Some(ANY_VERSION))
    }

    fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(key, _)| wanted(key)).cloned().collect())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|one| one.0 == key).map(|one| &*one.1)
    }

    /// The packages that take part, and their versions.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(key, value)| kind_of(key) == Ok(Kind::Package) && *value != NOTHING)
    }

    fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(_, value)| *value != NOTHING)
    }

    /// Every key that is set; of a model only its type, where that is known: the rest follows from it.
    pub fn asked(&self) -> impl Iterator<Item = (&str, &str)> {
        let typed = self.get("model_type").is_some();
        let follows = move |key: &str| typed && key != "model_type" && MODEL_KEYS.contains(&key);
        self.named().filter(move |(key, _)| !follows(key))
    }

    /// What a rule must speak of to speak of the whole: neither the model nor the packages.
    pub fn route_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named().filter(|(key, _)| {
            let package = key.contains('.') || kind_of(key) == Ok(Kind::Package);
            let aside = MODEL_KEYS.contains(key) || SPLIT_KEYS.contains(key);
            !aside && !package
        })
    }

    /// This configuration without a type that is left to a checkpoint nobody named.
    pub fn without_open_type(self) -> Self {
        let open = self.get("dtype") == Some("auto") && self.get("checkpoint_dtype").is_none();
        self.only(|key| !(open && key == "dtype"))
    }

    /// Linux is the system that rules mean where they name none, and WSL runs the same builds.
    pub fn with_plain_linux(mut self) -> Self {
        if matches!(self.get("platform"), Some("linux" | "wsl" | "wsl2")) {
            self.put("platform", "none".into());
        }
        self
    }

    /// This configuration as rules of a package meet it: with the package's own build, which `torch.wheel = "cu128"` names and so does
    /// `torch = "2.7.1+cu128"`.
    pub fn of_package(&self, package: &str) -> Self {
        let mut settings = self.only(|key| !BUILD_KEYS.contains(&key));
        let named = BUILD_KEYS
            .iter()
            .filter_map(|key| Some((*key, self.get(&format!("{package}.{key}"))?)));
        let local = self.get(package).and_then(build_of).map(|build| ("wheel", build));
        local.into_iter().chain(named).for_each(|(key, value)| settings.put(key, value.into()));
        settings
    }

    /// Every key and value, in order of the key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (*key, &**value))
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<_> = self.iter().map(|(key, value)| format!("{key}={value}")).collect();
        f.pad(&pairs.join(" "))
    }
}
