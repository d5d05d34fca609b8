use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::de::Error as _;
use toml::de::{DeTable, DeValue};

use super::args::{self, by_key};
use super::nearest::nearest;
use super::value::{Kind, Value, Values};

/// Largest file that is read at all.
pub const MAX_BYTES: usize = 1 << 20;
/// Table of key bindings in the file, and an example of a row.
const KEYS: (&str, &str) = ("keys", "keys such as [\"q\", \"ctrl-c\"]");
/// Table of groups of hosts, likewise.
const HOSTS: (&str, &str) = ("hosts", "hosts such as [\"gpu1\", \"ana@gpu2\"]");
/// Table of layouts in the file, and what one may set.
const LAYOUTS: &str = "layouts";
const LAYOUT_KEYS: &[&str] = &["panels", "graphs", "graph_span", "columns"];

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileSettings {
    /// Values of options.
    pub values: Values,
    /// Key bindings by action, as written; the keymap checks names.
    pub keys: Lists,
    /// Groups of hosts by name, as written.
    pub hosts: Lists,
    /// Layouts by name: values of some options.
    pub layouts: BTreeMap<String, Values>,
}

/// A table of the file whose rows are lists of texts.
pub type Lists = BTreeMap<String, Vec<String>>;

/// One thing wrong with a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and the way out, one sentence.
    pub message: String,
}

/// Everything wrong with a configuration file, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// File name as the user knows it.
    pub file: String,
    /// At least one.
    pub all: Vec<Problem>,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, problem) in self.all.iter().enumerate() {
            let gap = if place == 0 { "" } else { "\n" };
            write!(f, "{gap}{}:{}: {}", self.file, problem.line, problem.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// Reads a configuration file's text; `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Result<FileSettings, Problems> {
    let mut reader = Reader { text, settings: FileSettings::default(), problems: Vec::new() };
    match document(text) {
        Ok(table) => reader.document(&table),
        Err(error) => reader.syntax(&error),
    }
    if reader.problems.is_empty() {
        return Ok(reader.settings);
    }
    reader.problems.sort_by_key(|problem| problem.line);
    Err(Problems { file: file.to_owned(), all: reader.problems })
}

fn document(text: &str) -> Result<DeTable<'_>, toml::de::Error> {
    if text.len() > MAX_BYTES {
        return Err(toml::de::Error::custom(format!("larger than {MAX_BYTES} bytes")));
    }
    DeTable::parse(text).map(toml::Spanned::into_inner)
}

struct Reader<'a> {
    text: &'a str,
    settings: FileSettings,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn syntax(&mut self, error: &toml::de::Error) {
        let message = error.message().lines().collect::<Vec<_>>().join(": ");
        self.problem(error.span().unwrap_or(0..0), format!("not valid TOML: {message}"));
    }

    fn document(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match (name, by_key(name)) {
                ("keys", _) => self.settings.keys = self.lists(KEYS, value.get_ref(), value.span()),
                ("hosts", _) => {
                    self.settings.hosts = self.lists(HOSTS, value.get_ref(), value.span());
                }
                (LAYOUTS, _) => self.layouts(value.get_ref(), value.span()),
                (_, Some(spec)) => match understand(spec.kind, value.get_ref()) {
                    Ok(value) => drop(self.settings.values.insert(spec.id, value)),
                    Err(why) => self.problem(value.span(), format!("`{name}` {why}")),
                },
                (_, None) => self.unknown(name, key.span()),
            }
        }
    }

    fn unknown(&mut self, name: &str, at: Range<usize>) {
        let known = || args::all().filter_map(|spec| spec.key).chain([KEYS.0, HOSTS.0, LAYOUTS]);
        let hint = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`warpscope config sample` lists every key".to_owned(),
        };
        self.problem(at, format!("unknown key `{}`; {hint}", name.escape_debug()));
    }

    fn lists(&mut self, (key, such): (&str, &str), value: &DeValue<'_>, at: Range<usize>) -> Lists {
        let mut lists = Lists::new();
        let Some(table) = value.as_table() else {
            let found = value.type_str();
            self.problem(at, format!("`{key}` must be a table, found {found}"));
            return lists;
        };
        for (name, value) in table {
            let name = name.get_ref().to_string();
            match texts(value.get_ref()) {
                Some(texts) => drop(lists.insert(name, texts)),
                None => {
                    let name = name.escape_debug();
                    self.problem(value.span(), format!("`{key}.{name}` must be a list of {such}"));
                }
            }
        }
        lists
    }

    fn layouts(&mut self, value: &DeValue<'_>, at: Range<usize>) {
        let Some(table) = value.as_table() else {
            let found = value.type_str();
            return self.problem(at, format!("`{LAYOUTS}` must be a table, found {found}"));
        };
        for (name, layout) in table {
            let name = name.get_ref().to_string();
            let Some(values) = layout.get_ref().as_table() else {
                let name = name.escape_debug();
                self.problem(layout.span(), format!("`{LAYOUTS}.{name}` must be a table"));
                continue;
            };
            for (key, value) in values {
                let id = key.get_ref().as_ref();
                let spec = by_key(id).filter(|_| LAYOUT_KEYS.contains(&id));
                match spec.map(|spec| (spec, understand(spec.kind, value.get_ref()))) {
                    Some((spec, Ok(value))) => {
                        let layout = self.settings.layouts.entry(name.clone()).or_default();
                        layout.insert(spec.id, value);
                    }
                    Some((_, Err(why))) => self.problem(value.span(), format!("`{id}` {why}")),
                    None => {
                        let (id, known) = (id.escape_debug(), LAYOUT_KEYS.join(", "));
                        self.problem(
                            key.span(),
                            format!("a layout has no `{id}`; it has: {known}"),
                        );
                    }
                }
            }
        }
    }

    fn problem(&mut self, at: Range<usize>, message: String) {
        let before = self.text.as_bytes().get(..at.start).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        self.problems.push(Problem { line, message });
    }
}

/// The value an option can use, or what it must be and what was found.
fn understand(kind: Kind, value: &DeValue<'_>) -> Result<Value, String> {
    let wrong_type = || {
        let allowed =
            if kind == Kind::Switch { "true or false".to_owned() } else { kind.allowed() };
        Err(format!("must be {allowed}; found {}", value.type_str()))
    };
    match (kind, value) {
        (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
        (Kind::Switch, _) => wrong_type(),
        (Kind::List, _) => texts(value).map(Value::List).map_or_else(wrong_type, Ok),
        (Kind::Folders, _) => {
            let paths = texts(value).map(|texts| texts.into_iter().map(PathBuf::from).collect());
            paths.map(Value::Paths).map_or_else(wrong_type, Ok)
        }
        (_, DeValue::Integer(number)) if kind.is_number() => parsed(kind, &number.to_string()),
        (_, DeValue::Float(number)) if kind.is_number() => parsed(kind, number.as_str()),
        (Kind::AnyOf(_), DeValue::Array(_)) => {
            texts(value).map_or_else(wrong_type, |words| parsed(kind, &words.join(",")))
        }
        (_, DeValue::String(text)) => parsed(kind, text),
        _ => wrong_type(),
    }
}

fn parsed(kind: Kind, text: &str) -> Result<Value, String> {
    kind.parse(text).map_err(|allowed| {
        let near = nearest(text, kind.words().iter().copied());
        let hint = near.map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default();
        format!("must be {allowed}; found \"{}\"{hint}", text.escape_debug())
    })
}

/// A text or a list of texts.
fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    match value {
        DeValue::String(text) => Some(vec![text.to_string()]),
        DeValue::Array(items) => {
            items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_errors_come_at_once_in_the_order_of_the_file() {
        let text = "theme = 3\n\n\nintervall = 1\n";
        let problems = parse("f", text).expect_err("two errors");
        assert_eq!(problems.all.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 4]);
    }

    #[test]
    fn a_value_may_have_the_type_that_fits_it() {
        for (line, id, want) in [
            ("alert_temperature = 85", "ALERT_TEMPERATURE", "85"),
            ("alerts = [\"hardware\", \"throttle\"]", "ALERTS", "hardware,throttle"),
            ("bench_share = 2", "BENCH_SHARE", "2%"),
            ("bench_share = 1.5", "BENCH_SHARE", "1.5%"),
            ("bench_memory = 1048576", "BENCH_MEMORY", "1048576"),
            ("interval = 1_0", "INTERVAL", "10s"),
        ] {
            let read = parse("f", line).map_err(|problems| problems.to_string());
            assert_eq!(read.map(|read| read.values[id].text()), Ok(want.to_owned()), "{line}");
        }
        for line in [
            "alert_temperature = 85.5",
            "alert_temperature = true",
            "alerts = [\"hardwear\"]",
            "alerts = []",
            "alerts = [1]",
            "interval = 0x10",
        ] {
            assert!(parse("f", line).is_err(), "{line}");
        }
    }

    #[test]
    fn layouts_are_read_by_name_and_set_only_what_is_laid_out() {
        let text = "[layouts.wide]\ngraphs = \"memory,power\"\n[layouts.night]\ntheme = \"dark\"\n";
        let problems = parse("f", text).expect_err("a theme is no layout");
        assert_eq!(problems.all.iter().map(|one| one.line).collect::<Vec<_>>(), [4]);
        let read =
            parse("f", &text[..text.find("[layouts.night]").expect("is there")]).expect("loads");
        assert_eq!(read.layouts["wide"]["GRAPHS"].text(), "memory,power");
    }

    #[test]
    fn too_large_a_file_is_refused_unread() {
        let text = "#".repeat(MAX_BYTES + 1);
        assert!(parse("f", &text).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = parse("f", &text);
        }

        #[test]
        fn no_key_and_value_make_it_panic(key in "[a-z_]{1,12}", value in "[\"\\[\\]{}a-z0-9.=, -]{0,24}") {
            let _ = parse("f", &format!("{key} = {value}"));
        }
    }
}
