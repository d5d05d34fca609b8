use std::fmt::Write as _;

use super::args::{self, ArgSpec};
use super::value::Kind;

const HEAD: &str = "\
# warpscope reads $XDG_CONFIG_HOME/warpscope/config.toml, else ~/.config/warpscope/config.toml.
# Every line below shows a default; remove the # to change it. The environment variable and the flag
# named with each key take precedence over this file. `warpscope config check` lists errors.
";

const HOSTS: &str = "
# Groups of hosts: `warpscope --host lab` reads each of them.
#[hosts]
#lab = [\"gpu1\", \"ana@gpu2\"]
";

const KEYS: &str = "
# Keys of an action instead of the default ones; [] leaves it without a key.
#[keys]
";

const LAYOUTS: &str = "
# Layouts by name: panels, graphs, graph_span and columns; the key L walks through them.
#[layouts.training]
#panels = \"processes\"
#graphs = \"utilization,memory,power,tensor\"
#graph_span = \"1h\"
";

/// The documented sample: every key with its default, and every action with its keys and what it does, commented out.
pub fn sample<'a>(actions: impl IntoIterator<Item = (&'a str, &'a [&'a str], &'a str)>) -> String {
    let mut text = HEAD.to_owned();
    for spec in args::all() {
        if let Some(key) = spec.key {
            entry(&mut text, key, spec);
        }
    }
    text.push_str(HOSTS);
    text.push_str(KEYS);
    for (id, keys, help) in actions {
        writeln!(text, "#{id} = {keys:?} # {help}").expect("a String takes everything");
    }
    text.push_str(LAYOUTS);
    text
}

fn entry(text: &mut String, key: &str, spec: &ArgSpec) {
    let flags = spec.long.into_iter().chain(spec.shorthands.iter().map(|row| row.0));
    let flags: Vec<_> = flags.map(|flag| format!("--{flag}")).collect();
    let names: Vec<_> = spec.variables().collect();
    let help = spec.key_help.unwrap_or(spec.help);
    let what = match spec.kind {
        Kind::Switch => help.to_owned(),
        kind => format!("{help}; {}", kind.allowed()),
    };
    let value = literal(spec);
    writeln!(text, "\n# {what}.\n# {} | {}\n#{key} = {value}", flags.join(" "), names.join(" "))
        .expect("a String takes everything");
}

/// The default as TOML.
fn literal(spec: &ArgSpec) -> String {
    match (spec.kind, spec.default) {
        (Kind::Switch, Some("on")) => "true".to_owned(),
        (Kind::Switch, _) => "false".to_owned(),
        (Kind::List | Kind::Folders, _) => "[]".to_owned(),
        (_, default) => format!("{:?}", default.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, FileSettings, Settings, parse, resolve};

    fn resolved(file: &FileSettings) -> Settings {
        resolve(&Default::default(), &Environment::default(), file, true).expect("is allowed")
    }

    #[test]
    fn uncommented_it_loads_and_equals_the_defaults() {
        let text = sample([("quit", &["q", "ctrl-c"][..], "Leave.")]);
        let lines = text.lines().map(|line| match line.strip_prefix('#') {
            Some(code) if !code.starts_with(' ') => code,
            _ => line,
        });
        let uncommented = lines.collect::<Vec<_>>().join("\n");
        let file = parse("sample", &uncommented).expect("loads");
        let defaults = resolved(&FileSettings::default());
        for spec in args::all().filter(|spec| spec.key.is_some()) {
            let said = file.values.get(spec.id).expect("every key is in the sample");
            let default = defaults.iter().find(|row| row.0.id == spec.id);
            let default = default.map(|row| row.1.text()).unwrap_or_default();
            assert_eq!(said.text(), default, "{:?}", spec.key);
        }
        assert_eq!(file.keys["quit"], ["q", "ctrl-c"]);
        assert_eq!(file.layouts["training"].len(), 3);
    }
}
