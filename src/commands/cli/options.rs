//! Everything a command needs to know: the resolved arguments, the configuration and the environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::command::Commands;
use super::exit::{CliError, Result};
use super::raw_args::RawArgs;
use crate::config::{
    self, Arg, ArgValue, Config, Environment, Lists, Settings, Value, Values, args,
};

/// What a command needs to know, from all layers.
#[derive(Clone)]
pub struct Options {
    /// Every value and the layer it comes from.
    pub settings: Settings,
    /// Keys by action, as in the file; the keymap checks them.
    pub keys: Lists,
    /// Groups of hosts, as in the file.
    pub hosts: Lists,
    /// Layouts by name, as in the file.
    pub layouts: BTreeMap<String, Values>,
    /// The configuration and what became of it.
    pub config: Config,
    /// The environment it was resolved with.
    pub env: Environment,
    /// The commands there are, for those that describe the program.
    pub commands: Commands,
}

/// Form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// One document.
    Json,
    /// A table to be pasted into an issue.
    Markdown,
    /// One line per row.
    Csv,
}

impl Options {
    /// The value of an argument.
    pub fn get<T: ArgValue>(&self, arg: &Arg<T>) -> T {
        self.settings.get(arg)
    }

    /// The form asked for; the parser accepts only one.
    pub fn form(&self) -> Form {
        let forms =
            [(&args::JSON, Form::Json), (&args::MARKDOWN, Form::Markdown), (&args::CSV, Form::Csv)];
        forms.into_iter().find(|row| self.get(row.0)).map_or(Form::Text, |row| row.1)
    }

    /// Whether to print and draw ASCII only: asked for, or all that the locale promises.
    pub fn is_ascii(&self) -> bool {
        self.get(&args::ASCII) || !speaks_utf8(locale(&self.env).as_deref())
    }

    /// The recording to play instead of reading this machine.
    pub fn recording(&self) -> Option<PathBuf> {
        self.get(&args::RECORDING).or_else(|| self.get(&args::SOURCE))
    }

    /// Whether frames are of this machine, now.
    pub fn is_here(&self) -> bool {
        let elsewhere = self.get(&args::PROMETHEUS).is_some() || !self.get(&args::HOSTS).is_empty();
        self.recording().is_none() && !elsewhere
    }

    /// The number of frames to end after.
    pub fn frames(&self) -> Option<u64> {
        if self.get(&args::ONCE) { Some(1) } else { self.get(&args::COUNT) }
    }
}

/// Joins the command line with environment and configuration. Reads the configuration file and nothing else.
pub(crate) fn resolve(raw: &RawArgs, env: Environment, commands: Commands) -> Result<Options> {
    let named = match raw.values.get(args::CONFIG.spec.id) {
        Some(Value::Path(path)) => Some(path.clone()),
        _ => args::CONFIG.spec.variable.and_then(|name| env.get(name)).map(PathBuf::from),
    };
    let config = config::load(config::find(named, &env));
    let file = match &config.settings {
        Ok(settings) => settings.clone().unwrap_or_default(),
        Err(_) if raw.command.lenient => config::FileSettings::default(),
        Err(why) => return Err(CliError::Usage(why.clone())),
    };
    let settings =
        config::resolve(&raw.values, &env, &file, !raw.command.screen).map_err(CliError::Usage)?;
    let (keys, hosts, layouts) = (file.keys, file.hosts, file.layouts);
    Ok(Options { settings, keys, hosts, layouts, config, env, commands })
}

/// First of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
pub(crate) fn locale(env: &Environment) -> Option<String> {
    let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].iter();
    names.find_map(|name| env.text(name).filter(|value| !value.is_empty()))
}

/// Whether a locale promises UTF-8. Containers often set none at all; their terminals do speak it.
pub(crate) fn speaks_utf8(locale: Option<&str>) -> bool {
    locale.is_none_or(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}
