//! Words of a command with `{name}` in them.

use std::collections::BTreeMap;

/// A command whose words may hold `{name}`, which becomes a value. `{{` is a brace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<String>,
}

/// A part of a word.
enum StyledText<'a> {
    Text(&'a str),
    Name(&'a str),
}

impl CommandLine {
    /// A program and its arguments, each passed on as one word whatever is in it.
    pub fn of_words(words: Vec<String>) -> Self {
        Self { words }
    }

    /// A line for the shell.
    pub fn of_shell(text: String) -> Self {
        Self { words: vec!["sh".to_owned(), "-c".to_owned(), text] }
    }

    /// The words as written.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Names that stand in braces.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.words.iter().flat_map(|word| pieces(word)).filter_map(|piece| match piece {
            StyledText::Name(name) => Some(name),
            StyledText::Text(_) => None,
        })
    }

    /// Whether a name stands in it.
    pub fn mentions(&self, name: &str) -> bool {
        self.names().any(|one| one == name)
    }

    /// The words with values in place of names. A name without a value stays as it is; the parser of specs lets none through.
    pub fn fill(&self, values: &BTreeMap<String, String>) -> Vec<String> {
        let filled = |word: &String| {
            let text = |piece| match piece {
                StyledText::Text(text) => text.to_owned(),
                StyledText::Name(name) => {
                    values.get(name).cloned().unwrap_or_else(|| format!("{{{name}}}"))
                }
            };
            pieces(word).into_iter().map(text).collect()
        };
        self.words.iter().map(filled).collect()
    }
}

fn pieces(word: &str) -> Vec<StyledText<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut rest) = (0, 0);
    while let Some(at) = word[rest..].find('{').map(|at| rest + at) {
        let after = &word[at + 1..];
        let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
        if after.starts_with('{') {
            pieces.push(StyledText::Text(&word[start..=at]));
            (start, rest) = (at + 2, at + 2);
        } else if let Some(name) = name {
            pieces.push(StyledText::Text(&word[start..at]));
            pieces.push(StyledText::Name(name));
            (start, rest) = (at + name.len() + 2, at + name.len() + 2);
        } else {
            rest = at + 1;
        }
    }
    pieces.push(StyledText::Text(&word[start..]));
    pieces
}

/// Whether a text can be the name of a parameter.
pub(super) fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && text.len() <= 64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(word: &str) -> String {
        let values = [("n", "8"), ("block", "a b")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        CommandLine::of_words(vec![word.to_owned()]).fill(&values).remove(0)
    }

    #[test]
    fn names_become_values_and_other_braces_stay() {
        for (word, want) in [
            ("--n={n}", "--n=8"),
            ("{n}{n}", "88"),
            ("{block}", "a b"),
            ("{{n}", "{n}"),
            ("{{{n}}", "{8}"),
            ("awk '{ print $1 }'", "awk '{ print $1 }'"),
            ("${1}", "${1}"),
            ("{", "{"),
            ("{n", "{n"),
            ("é{n}é", "é8é"),
            ("", ""),
        ] {
            assert_eq!(filled(word), want, "{word}");
        }
    }

    #[test]
    fn names_are_found_in_every_word() {
        let words = ["x", "{a}-{b}", "{{c}", "{d}"].map(str::to_owned).to_vec();
        let line = CommandLine::of_words(words);
        assert_eq!(line.names().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert!(line.mentions("d") && !line.mentions("c"));
    }

    proptest! {
        #[test]
        fn without_names_only_doubled_braces_change(word in "[a-z}é{ ]{0,20}") {
            let line = CommandLine::of_words(vec![word.clone()]);
            if line.names().next().is_none() {
                prop_assert_eq!(line.fill(&BTreeMap::new()).remove(0), word.replace("{{", "{"));
            }
        }
    }
}
