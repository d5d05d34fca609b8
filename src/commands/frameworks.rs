//! `warpscope frameworks`: the frameworks the rules cover.

use serde::Serialize;
use warpscope_probes::rules::{Framework, MODELS, RuleBase};

use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::rows;
use crate::config::args;
use crate::io::sink::table::Column;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "frameworks",
    about: "List known frameworks and the newest version the rules cover",
    args: &[&[&args::FILTER, &args::RULES, &args::JSON], STYLE, CONFIG_FILE],
    examples: &[("frameworks", "all frameworks"), ("frameworks --json", "for a script")],
    run,
    ..CommandSpec::BASE
};

#[derive(Serialize)]
struct Known {
    id: String,
    name: String,
    /// Newest version the rules speak of.
    version: Option<String>,
    configurations: usize,
    rules: usize,
    /// Of the rules, those of the user.
    your_rules: usize,
    aliases: Vec<String>,
}

impl Known {
    fn new(base: &RuleBase, framework: &Framework) -> Self {
        let Framework { id, name, version, aliases, .. } = framework.clone();
        Self {
            configurations: base.configs().iter().filter(|row| row.framework == id).count(),
            rules: base.rules_of(&id).count(),
            your_rules: base.rules_of(&id).filter(|rule| rule.user).count(),
            id,
            name,
            version,
            aliases,
        }
    }

    fn says(&self, word: &str) -> bool {
        let names = self.aliases.iter().chain([&self.id, &self.name]);
        names.map(|name| name.to_lowercase()).any(|name| name.contains(word))
    }
}

const FRAMEWORK_COLUMNS: &[Column<Known>] = &[
    Column::left("FRAMEWORK", 0, |one, _| one.id.clone()),
    Column::left("NAME", 1, |one, _| one.name.clone()),
    Column::left("NEWEST KNOWN", 0, |one, style| {
        one.version.clone().unwrap_or_else(|| if style.ascii { "-" } else { "–" }.to_owned())
    }),
    Column::right("ROWS", 0, |one, _| one.configurations.to_string()),
    Column::right("RULES", 0, |one, _| one.rules.to_string()),
    Column::right("YOURS", 3, |one, _| match one.your_rules {
        0 => String::new(),
        count => count.to_string(),
    }),
    Column::left("ALSO", 2, |one, _| one.aliases.join(", ")),
];

/// Every framework the rules speak of.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let base = rule_base(options)?;
    let words = rows::words(options);
    let known = base.frameworks().iter().filter(|one| one.id != MODELS);
    let rows: Vec<_> = known
        .map(|one| Known::new(&base, one))
        .filter(|one| words.iter().all(|word| one.says(word)))
        .collect();
    rows::show(options, "frameworks", FRAMEWORK_COLUMNS, &rows)
}
