//! Signatures of errors: which texts a cause leaves, which facts decide between causes that leave the same, and what to do. Data, one file
//! per class in `probes/errors/`, read as the rules are.
//!
//! The engine matches them. A classifier trained on threads was rejected: it names a class and cannot say which number decided, and the
//! texts that matter are those of look-alikes.

mod builtin;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A class of causes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Stable id: `oom_does_not_fit`.
    pub id: String,
    /// A few words for the screen.
    pub title: String,
}

/// The fact that would settle a cause, and the command that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What has to be known.
    pub fact: String,
    /// Command whose output tells it.
    pub command: String,
}

/// One cause: its texts, and what speaks for and against it.
///
/// Conditions are `/words/`, a regular expression looked for anywhere in the text; `name < number` or `name < name` over facts; `name`, a
/// fact that is known and not zero; and any of them behind `!`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Class it belongs to; the file's.
    #[serde(default)]
    pub class: String,
    /// Name within the class.
    pub subkind: String,
    /// Regular expressions, any of which makes it a candidate; named groups become facts. Case does not matter.
    pub text: Vec<String>,
    /// Expressions of what a log without a failure has, too: environments, banners, lists of packages. They speak only for what `text` found.
    #[serde(default)]
    pub circumstance: Vec<String>,
    /// What the text alone is worth: 9 and more names the cause, 3 is one of several.
    pub weight: f64,
    /// Conditions that must not be false; with all of them true the cause is settled.
    #[serde(default)]
    pub when: Vec<String>,
    /// Facts with which it happens on a machine whatever runs there; empty where only a text can tell.
    #[serde(default)]
    pub check: Vec<String>,
    /// Conditions that raise the weight.
    #[serde(default)]
    pub more: BTreeMap<String, f64>,
    /// Conditions that lower it.
    #[serde(default)]
    pub less: BTreeMap<String, f64>,
    /// Live probes that fail where this is the cause, by id.
    #[serde(default)]
    pub probe: Vec<String>,
    /// The cause in one sentence. `{name}` is a fact; a part in `<<…>>` is left out where a fact in it is unknown.
    pub because: String,
    /// What to do, each a command or a step; the same slots, and one whose fact is unknown is left out. One for some programs or systems only
    /// begins with the words a text must have for it: `/ollama/ COMMAND`, or must not: `!/ollama/ COMMAND`.
    pub fix: Vec<String>,
    /// What would settle it.
    #[serde(default)]
    pub ask: Option<Question>,
    /// Where it can be read again.
    pub source: Vec<String>,
    /// When it was read.
    pub retrieved: String,
}

/// A fact that texts state.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    /// Name of the fact; `_bytes` at the end is a size, `cc` a compute capability, `_list` several of them.
    pub name: String,
    /// Regular expressions whose group `v` is the value; the first that matches counts.
    pub text: Vec<String>,
}

/// A fact that follows from another: a number from a name, a name from a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// The fact that is looked up; where its whole value has no row, without what stands behind its last dots.
    pub from: String,
    /// The fact that follows; `error` is the name of an error, which is searched for as if the text had it.
    pub to: String,
    /// Value by value.
    pub rows: BTreeMap<String, String>,
    /// Whether a number between two rows is of the first.
    #[serde(default)]
    pub steps: bool,
    /// Where it can be read again.
    pub source: String,
}

impl Lookup {
    /// What follows from a value.
    pub fn row(&self, value: &str) -> Option<&str> {
        let ends = value.rmatch_indices('.').map(|(end, _)| &value[..end]);
        let row = std::iter::once(value).chain(ends).find_map(|key| self.rows.get(key));
        row.or_else(|| self.step(value).filter(|_| self.steps)).map(String::as_str)
    }

    /// The row before a number that has one behind it, too.
    fn step(&self, value: &str) -> Option<&String> {
        let whole = |text: &str| text.split('.').next()?.parse::<u32>().ok();
        let value = whole(value)?;
        let rows = || self.rows.iter().filter_map(|(key, row)| Some((whole(key)?, row)));
        rows().any(|(key, _)| key > value).then_some(())?;
        rows().filter(|(key, _)| *key < value).max_by_key(|(key, _)| *key).map(|(_, row)| row)
    }
}

/// A line that reports a failure somewhere else.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Regular expressions.
    pub text: Vec<String>,
    /// Where the cause is to be looked for.
    pub look: String,
}

/// What ordinary logs say in words of failures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Benign {
    /// Regular expressions; what they match is no sign of anything.
    pub text: Vec<String>,
}

/// Everything the files say.
#[derive(Clone, Debug, Default)]
pub struct ErrorBase {
    /// Classes, in order of the files.
    pub classes: Vec<Class>,
    /// Causes of all classes.
    pub causes: Vec<Cause>,
    /// Facts that texts state.
    pub stated: Vec<Stated>,
    /// Facts that follow from others.
    pub lookups: Vec<Lookup>,
    /// Lines that are never a cause.
    pub echoes: Vec<Echo>,
    /// What is not looked at.
    pub benign: Vec<Benign>,
}

/// A table of a file as the build script leaves it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Table {
    class: Option<Class>,
    cause: Vec<Cause>,
    fact: Vec<Stated>,
    lookup: Vec<Lookup>,
    echo: Vec<Echo>,
    benign: Vec<Benign>,
}

impl ErrorBase {
    /// The signatures compiled into the program, parsed on first use.
    pub fn builtin() -> &'static Self {
        static BASE: LazyLock<ErrorBase> = LazyLock::new(|| {
            ErrorBase::read(builtin::FILES).expect("the tests parse the built-in signatures")
        });
        &BASE
    }

    fn read(files: &[(&str, &str)]) -> Result<Self, String> {
        let mut base = Self::default();
        for (name, text) in files {
            base.add(text).map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(base)
    }

    /// One file: a table of JSON a line, in any order.
    fn add(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let mut class = String::new();
        let begin = self.causes.len();
        for line in text.lines() {
            let table: Table = serde_json::from_str(line)?;
            if let Some(head) = table.class {
                class.clone_from(&head.id);
                self.classes.push(head);
            }
            self.causes.extend(table.cause);
            self.stated.extend(table.fact);
            self.lookups.extend(table.lookup);
            self.echoes.extend(table.echo);
            self.benign.extend(table.benign);
        }
        for cause in &mut self.causes[begin..] {
            cause.class.clone_from(&class);
        }
        Ok(())
    }

    /// The class of this id.
    pub fn class(&self, id: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.id == id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_is_read_and_every_cause_is_whole() {
        let base = ErrorBase::read(builtin::FILES).expect("valid files");
        assert_eq!(base.classes.len(), 35);
        assert!(base.lookups.iter().all(|one| !one.rows.is_empty() && !one.source.is_empty()));
        let mut names = BTreeSet::new();
        for cause in &base.causes {
            let name = format!("{}.{}", cause.class, cause.subkind);
            assert!(base.class(&cause.class).is_some(), "{name}");
            assert!(names.insert(name.clone()), "{name} is there twice");
            assert!(!cause.text.is_empty() && !cause.fix.is_empty(), "{name}");
            assert!(!cause.source.is_empty() && cause.retrieved.starts_with("20"), "{name}");
            assert!(cause.because.ends_with(['.', '>']), "{name}");
            assert!(cause.probe.iter().all(|id| crate::live::probe(id).is_some()), "{name}");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_built_in() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/errors");
        let files = std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok);
        let names: BTreeSet<_> =
            files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
        let built: BTreeSet<_> =
            builtin::FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(built, names);
    }
}
