use std::io::{self, IsTerminal};

use warpscope_probes::driver::Driver;
use warpscope_probes::{Frame, Origin};

use super::installed::Here;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{CliError, Options, locale};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::{first_frame, what_if};
use crate::config::{Config, Environment, Layer, args};
use crate::engine::Target;
use crate::engine::explain::{Digest, Problem, foreseen};
use crate::io::machine;
use crate::io::sink::Redactor;

/// The terminal, as far as one can tell from outside.
pub(crate) struct Terminal {
    pub(crate) is_terminal: bool,
    /// Columns and lines.
    pub(crate) size: Option<(u16, u16)>,
    pub(crate) term: Option<String>,
    pub(crate) colorterm: Option<String>,
    /// First of LC_ALL, LC_CTYPE and LANG that is set.
    pub(crate) locale: Option<String>,
}

/// Everything the checks look at.
pub(crate) struct Facts {
    /// A frame, or why there is none.
    pub(crate) frame: Result<Frame, String>,
    pub(crate) terminal: Terminal,
    pub(crate) config: Config,
    /// What is installed here, or why nobody looked.
    pub(crate) installed: Result<Here, &'static str>,
    /// Errors that programs will run into here, or why nobody looked.
    pub(crate) foreseen: Result<Vec<Problem>, &'static str>,
    /// Name, value and layer of every option a file can hold that is not at its default.
    pub(crate) changed: Vec<(&'static str, String, Layer)>,
    /// Texts to hide, with what to put in their place.
    pub(crate) secrets: Vec<(String, &'static str)>,
}

impl Facts {
    /// A text without the secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.without(text, |_| true)
    }

    /// A text without the folders among the secrets. Our own words may happen to be somebody's name.
    pub(crate) fn hide_folders(&self, text: &str) -> String {
        self.without(text, |secret| secret.starts_with('/'))
    }

    fn without(&self, text: &str, is_hidden: impl Fn(&str) -> bool) -> String {
        let mut text = text.to_owned();
        for (secret, place) in self.secrets.iter().filter(|(secret, _)| is_hidden(secret)) {
            text = without_word(&text, secret, place);
        }
        if self.secrets.is_empty() { text } else { crate::io::sink::without_homes(&text) }
    }
}

/// A text with `place` instead of a word, which is none within another: the user `nvidia` is not in `libnvidia-ml.so.1`.
fn without_word(text: &str, word: &str, place: &str) -> String {
    let joins = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        kept.push_str(before);
        let whole = !kept.ends_with(joins) && !after.starts_with(joins);
        kept.push_str(if whole { place } else { word });
        rest = after;
    }
    kept + rest
}

/// Asks the machine, the terminal and the configuration.
pub(crate) fn gather(options: &Options) -> Facts {
    let mut frame = open_source(options, AtEnd::Stop).and_then(first_frame);
    let installed = look(options, frame.as_ref().ok());
    let foreseen = foresee(options, frame.as_ref().ok());
    let mut secrets = Vec::new();
    if options.get(&args::REDACT) {
        secrets = secrets_of(&options.env, frame.as_ref().ok());
        let _ = frame.as_mut().map(|frame| Redactor::default().frame(frame));
    }
    let changed = options
        .settings
        .iter()
        .filter(|(spec, _, layer)| spec.key.is_some() && *layer != Layer::Default);
    Facts {
        frame: frame.map_err(words),
        terminal: terminal(&options.env),
        config: options.config.clone(),
        installed,
        foreseen,
        changed: changed.map(|(spec, value, layer)| (spec.name(), value.text(), layer)).collect(),
        secrets,
    }
}

/// What is installed here, where the GPUs of here are looked at.
fn look(options: &Options, frame: Option<&Frame>) -> Result<Here, &'static str> {
    if !options.get(&args::INSPECT) {
        return Err("not scanned: inspect is off");
    }
    let local = frame.is_none_or(|frame| frame.origin == Origin::Local);
    if !local {
        return Err("not scanned: these GPUs come from a recording");
    }
    let base = rule_base(options).map_err(|_| "not scanned: the rules are invalid")?;
    let named =
        what_if::choice(options).map_err(|_| "not scanned: a GPU that was named is unknown")?;
    let named = named.named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default()));
    Ok(Here::look(base, frame, named.collect()))
}

/// What would fail here, where the GPUs are this machine's.
fn foresee(options: &Options, frame: Option<&Frame>) -> Result<Vec<Problem>, &'static str> {
    let frame = frame.ok_or("nothing was read; see the first check")?;
    if frame.origin != Origin::Local {
        return Err("not looked at: these GPUs come from a recording");
    }
    let variable = |name: &str| options.env.text(name);
    let mut here = machine::of_here(frame, &variable);
    if let Some(active) = machine::active_environment(&variable) {
        here.join(&machine::libraries(&Digest::default(), Some(&active)));
    }
    Ok(foreseen(&here))
}

fn words(error: CliError) -> String {
    match error {
        CliError::Usage(text) | CliError::Failed(text) | CliError::NoGpu(text) => text,
        CliError::Output(error) => error.to_string(),
    }
}

fn terminal(env: &Environment) -> Terminal {
    Terminal {
        is_terminal: io::stdout().is_terminal(),
        size: crossterm::terminal::size().ok().filter(|_| io::stdout().is_terminal()),
        term: env.text("TERM"),
        colorterm: env.text("COLORTERM"),
        locale: locale(env),
    }
}

/// Longest first, so that a home is not left half hidden by the name of its owner. Names of three
/// letters and fewer are left: they would tear holes into other words.
fn secrets_of(env: &Environment, frame: Option<&Frame>) -> Vec<(String, &'static str)> {
    let from_env =
        [("HOME", "~"), ("USER", "user-1"), ("LOGNAME", "user-1"), ("HOSTNAME", "host-1")];
    let host = frame.and_then(|frame| frame.host.machine.hostname.last().cloned());
    let mut all: Vec<_> = from_env
        .iter()
        .filter_map(|(name, place)| Some((env.text(name)?, *place)))
        .chain(host.map(|name| (name, "host-1")))
        .filter(|(secret, _)| secret.len() > 3)
        .collect();
    all.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_hidden_where_it_is_a_word_and_left_within_others() {
        for (text, hidden) in [
            ("libnvidia-ml.so.1 of /opt/nvidia/lib", "libnvidia-ml.so.1 of /opt/user-1/lib"),
            ("nvidia-smi, nvidia_uvm, unvidia", "nvidia-smi, nvidia_uvm, unvidia"),
            ("nvidia", "user-1"),
            ("nvidianvidia nvidia's nvidia", "nvidianvidia user-1's user-1"),
            ("", ""),
        ] {
            assert_eq!(without_word(text, "nvidia", "user-1"), hidden);
        }
    }

    #[test]
    fn secrets_of_the_environment_are_found_longest_first() {
        let env = [("HOME", "/srv/ada-l"), ("USER", "ada-l"), ("LOGNAME", "xy")];
        let secrets = secrets_of(&env.into_iter().collect(), None);
        assert_eq!(secrets, [("/srv/ada-l".to_owned(), "~"), ("ada-l".to_owned(), "user-1")]);
    }
}
