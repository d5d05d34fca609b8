//! Names of modules as lists of configurations give them: whole names, parts of names, wildcards, regular expressions.

use std::collections::HashSet;

use regex_lite::{Regex, RegexBuilder};

/// Lists name every layer of a model: names are looked up, beginnings of names are compared, and the few other wildcards tried.
const MOST_BEGINNINGS: usize = 1024;
const MOST_WILDCARDS: usize = 32;
const MOST_NAMES: usize = 200_000;
/// Regular expressions of a list are short words with dots.
const MOST_EXPRESSIONS: usize = 8;
const EXPRESSION_BYTES: usize = 1 << 11;

/// What a name is held against.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    names: HashSet<String>,
    beginnings: Vec<String>,
    wildcards: Vec<String>,
    expressions: Vec<Regex>,
}

impl Patterns {
    pub(super) fn of(patterns: &[&str]) -> Self {
        let mut all = Self::default();
        for pattern in patterns.iter().take(MOST_NAMES).filter(|pattern| pattern.len() <= 512) {
            let expression = pattern.strip_prefix("re:").or_else(|| pattern.strip_prefix("-:"));
            match expression {
                Some(text) if all.expressions.len() < MOST_EXPRESSIONS => {
                    let built = RegexBuilder::new(&format!("^(?:{text})"))
                        .size_limit(EXPRESSION_BYTES)
                        .build();
                    all.expressions.extend(built.ok());
                }
                None if is_beginning(pattern) && all.beginnings.len() < MOST_BEGINNINGS => {
                    all.beginnings.push(plain(pattern.trim_end_matches('*')).to_owned());
                }
                None if pattern.contains('*') && all.wildcards.len() < MOST_WILDCARDS => {
                    all.wildcards.push(plain(pattern).to_owned());
                }
                _ => {
                    all.names.insert(plain(pattern).to_owned());
                }
            }
        }
        all
    }

    /// Whether a module or one it is a part of is meant.
    pub(super) fn matches(&self, name: &str) -> bool {
        let short = plain(name);
        self.has_name(short)
            || self.beginnings.iter().any(|start| short.starts_with(start.as_str()))
            || self.wildcards.iter().any(|pattern| is_like(pattern.as_bytes(), short.as_bytes()))
            || self.expressions.iter().any(|one| one.is_match(name) || one.is_match(short))
    }

    /// Whether a run of the words between dots is among the names.
    fn has_name(&self, name: &str) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let starts = std::iter::once(0).chain(name.match_indices('.').map(|(at, _)| at + 1));
        starts.into_iter().any(|start| {
            let rest = &name[start..];
            let ends = rest.match_indices('.').map(|(at, _)| at).chain([rest.len()]);
            ends.into_iter().any(|end| self.names.contains(&rest[..end]))
        })
    }
}

/// A name without what wrappers put in front of it.
fn plain(name: &str) -> &str {
    let mut rest = name;
    while let Some(shorter) = ["model.", "language_model.", "text_model.", "transformer."]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))
    {
        rest = shorter;
    }
    rest
}

/// Whether the only wildcard of a pattern is at its end.
fn is_beginning(pattern: &str) -> bool {
    pattern.find('*').is_some_and(|at| at > 0 && at + 1 == pattern.len())
}

/// Whether the pattern stands for the name or for the beginning of it up to a dot; a star is any run of letters. Without recursion: on a
/// mismatch the last star takes one letter more.
fn is_like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut letter, mut star) = (0, 0, None);
    while letter < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, letter));
                at += 1;
            }
            None if name[letter] == b'.' => return true,
            Some(one) if *one == name[letter] => {
                at += 1;
                letter += 1;
            }
            _ => {
                let Some((place, from)) = star else { return false };
                (at, letter) = (place + 1, from + 1);
                star = Some((place, from + 1));
            }
        }
    }
    pattern[at.min(pattern.len())..].iter().all(|one| *one == b'*')
}
