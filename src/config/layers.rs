use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use super::args::{self, Arg, ArgSpec, ArgValue, EnvRule};
use super::file::FileSettings;
use super::value::{Value, Values};

/// Environment variables, given and not asked for, so that resolving stays pure.
#[derive(Clone, Debug, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Those of this process.
    pub fn of_process() -> Self {
        std::env::vars_os().collect()
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(OsString::from(name).as_os_str()).filter(|value| !value.is_empty())
    }

    /// The same, as text; what is no text is shown with replacement characters.
    pub fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// Takes a variable out; says whether it was set.
    pub fn remove(&mut self, name: &str) -> bool {
        self.0.remove(OsString::from(name).as_os_str()).is_some()
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// Where a value comes from, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A flag or operand.
    CommandLine,
    /// This environment variable.
    Environment(&'static str),
    /// The configuration file.
    File,
    /// Nobody gave it.
    Default,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.pad("command line"),
            Self::Environment(name) => f.pad(name),
            Self::File => f.pad("file"),
            Self::Default => f.pad("default"),
        }
    }
}

/// Every argument that has a value, and where it comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(BTreeMap<&'static str, (Value, Layer)>);

impl Settings {
    /// The value of an argument.
    pub fn get<T: ArgValue>(&self, arg: &Arg<T>) -> T {
        let value = self.0.get(arg.spec.id).map(|entry| &entry.0);
        T::read(value).expect("a test reads every argument as its type")
    }

    /// Every argument with a value, its value and its layer.
    pub fn iter(&self) -> impl Iterator<Item = (&'static ArgSpec, &Value, Layer)> {
        args::all()
            .filter_map(|spec| self.0.get(spec.id).map(|(value, layer)| (spec, value, *layer)))
    }
}

/// Takes each value from the strongest layer that has one. Fails only on an invalid environment variable.
pub fn resolve(
    line: &Values,
    env: &Environment,
    file: &FileSettings,
    one_shot: bool,
) -> Result<Settings, String> {
    let mut settings = Settings::default();
    for spec in args::all() {
        let from_line = line.get(spec.id).map(|value| (value.clone(), Layer::CommandLine));
        let entry = match from_line {
            Some(entry) => Some(entry),
            None => from_env(spec, env, one_shot)?
                .or_else(|| Some((file.values.get(spec.id)?.clone(), Layer::File)))
                .or_else(|| Some((default(spec)?, Layer::Default))),
        };
        settings.0.extend(entry.map(|entry| (spec.id, entry)));
    }
    Ok(settings)
}

fn from_env(
    spec: &ArgSpec,
    env: &Environment,
    one_shot: bool,
) -> Result<Option<(Value, Layer)>, String> {
    let own = spec.variable.into_iter().map(|name| (name, None));
    let implied = spec.implied_by.iter().map(|(name, rule)| (*name, Some(*rule)));
    for (name, rule) in own.chain(implied) {
        let Some(content) = env.get(name) else { continue };
        let value = match rule {
            None => spec.kind.parse_os(content),
            Some(EnvRule::Means(text)) => spec.kind.parse(text),
            Some(EnvRule::OneShotMeans(text)) if one_shot && content != "0" => {
                spec.kind.parse(text)
            }
            Some(EnvRule::OneShotMeans(_)) => continue,
        };
        return match value {
            Ok(value) => Ok(Some((value, Layer::Environment(name)))),
            Err(allowed) => Err(format!(
                "{name} must be {allowed}; found \"{}\"",
                content.to_string_lossy().escape_debug()
            )),
        };
    }
    Ok(None)
}

fn default(spec: &ArgSpec) -> Option<Value> {
    spec.default.map(|text| spec.kind.parse(text).expect("a table test parses every default"))
}

#[cfg(test)]
mod tests {
    use super::super::value::Kind;
    use super::*;

    /// Four values that differ, weakest layer first.
    fn samples(spec: &ArgSpec) -> [Value; 3] {
        let texts: [&str; 3] = match spec.kind {
            Kind::Switch => ["on", "off", "on"],
            Kind::OneOf(words) | Kind::AnyOf(words) => [words[0], words[1], words[0]],
            Kind::Text => ["a", "b", "c"],
            Kind::List | Kind::Devices => ["T4", "V100", "A10,H200"],
            Kind::Path | Kind::Paths | Kind::Folders | Kind::Words => ["/a", "/b", "/c"],
            Kind::Interval | Kind::Span => ["3s", "4s", "5s"],
            Kind::Size | Kind::Count | Kind::Factor | Kind::Percent => ["3", "4", "5"],
            Kind::Share => ["0.3", "0.4", "0.5"],
            Kind::Cells => ["3x3", "4x4", "5x5"],
            Kind::Shape => ["1,1,1", "2,2,2", "3,3,3"],
        };
        texts.map(|text| spec.kind.parse(text).expect("is allowed"))
    }

    fn layer_of(settings: &Settings, id: &str) -> Option<(Value, Layer)> {
        settings.0.get(id).cloned()
    }

    #[test]
    fn every_option_of_the_file_is_beaten_by_environment_and_command_line_in_turn() {
        for spec in args::all().filter(|spec| spec.key.is_some()) {
            let [in_file, in_env, in_line] = samples(spec);
            let mut line = BTreeMap::new();
            let mut env = Environment::default();
            let mut file = FileSettings::default();
            let now = |line: &_, env: &_, file: &_| {
                let settings = resolve(line, env, file, true).expect("is allowed");
                layer_of(&settings, spec.id)
            };
            let default =
                spec.default.map(|text| (spec.kind.parse(text).expect("allowed"), Layer::Default));
            assert_eq!(now(&line, &env, &file), default);
            file.values.insert(spec.id, in_file.clone());
            assert_eq!(now(&line, &env, &file), Some((in_file, Layer::File)));
            let name = spec.variable.expect("every key has a variable");
            env = [(name, in_env.text())].into_iter().collect();
            assert_eq!(now(&line, &env, &file), Some((in_env, Layer::Environment(name))));
            line.insert(spec.id, in_line.clone());
            assert_eq!(now(&line, &env, &file), Some((in_line, Layer::CommandLine)));
        }
    }

    fn color(pairs: &[(&str, &str)], one_shot: bool) -> Option<String> {
        let env = pairs.iter().copied().collect();
        let settings = resolve(&BTreeMap::new(), &env, &FileSettings::default(), one_shot);
        layer_of(&settings.expect("is allowed"), args::COLOR.spec.id).map(|(value, _)| value.text())
    }

    #[test]
    fn the_common_colour_variables_are_honoured() {
        for (pairs, one_shot, want) in [
            (&[("NO_COLOR", "1")][..], true, "never"),
            (&[("NO_COLOR", "0")], true, "never"),
            (&[("NO_COLOR", "")], true, "auto"),
            (&[("CLICOLOR_FORCE", "1")], true, "always"),
            (&[("CLICOLOR_FORCE", "0")], true, "auto"),
            (&[("CLICOLOR_FORCE", "1")], false, "auto"),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true, "never"),
            (&[("NO_COLOR", "1"), ("WARPSCOPE_COLOR", "always")], true, "always"),
        ] {
            assert_eq!(color(pairs, one_shot).as_deref(), Some(want), "{pairs:?}");
        }
    }

    #[test]
    fn a_variable_that_makes_no_sense_is_named_with_what_is_allowed() {
        let env = [("WARPSCOPE_INTERVAL", "soon")].into_iter().collect();
        let error = resolve(&BTreeMap::new(), &env, &FileSettings::default(), true);
        assert_eq!(
            error,
            Err("WARPSCOPE_INTERVAL must be a time from 0.1s to 60s, such as 500ms, 2s or 1.5; found \"soon\"".to_owned())
        );
    }
}
