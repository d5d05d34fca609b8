//! Conditions of the signatures: true, false or unknown.

use std::cell::RefCell;
use std::collections::HashMap;

use regex_lite::Regex;

use super::fact::{Facts, capability, version};
use super::literal;

/// What conditions are asked of.
pub(super) struct Context<'a> {
    /// Lower-case text.
    text: String,
    facts: &'a Facts,
    found: RefCell<HashMap<String, bool>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(text: &str, facts: &'a Facts) -> Self {
        Self { text: text.to_lowercase(), facts, found: RefCell::default() }
    }

    /// The same text with other facts.
    pub(super) fn with<'b>(&self, facts: &'b Facts) -> Context<'b> {
        let found = RefCell::new(self.found.borrow().clone());
        Context { text: self.text.clone(), facts, found }
    }

    /// Whether a condition holds; `None` where a fact is unknown.
    pub(super) fn holds(&self, condition: &str) -> Option<bool> {
        let condition = condition.trim();
        if let Some(other) = condition.strip_prefix('!') {
            return self.holds(other).map(|holds| !holds);
        }
        if let Some(words) = words(condition) {
            return Some(self.says(words));
        }
        match comparison(condition) {
            Some((name, operator, other)) => self.compare(name, operator, other),
            None => match self.facts.get(condition)? {
                fact if fact.number == Some(0.0) => Some(false),
                _ => Some(true),
            },
        }
    }

    /// Whether the text has the words.
    fn says(&self, words: &str) -> bool {
        if let Some(known) = self.found.borrow().get(words) {
            return *known;
        }
        let is_found = |one: &str| match is_plain(one) {
            true => has(&self.text, &one.to_lowercase()),
            false => {
                Regex::new(&format!("(?i){one}")).is_ok_and(|regex| regex.is_match(&self.text))
            }
        };
        let found = literal::alternatives(words).into_iter().any(is_found);
        self.found.borrow_mut().insert(words.to_owned(), found);
        found
    }

    fn compare(&self, name: &str, operator: &str, other: &str) -> Option<bool> {
        let left = self.facts.get(name)?;
        let right = match self.facts.get(other) {
            Some(fact) => fact.number,
            None if is_name(other) && left.number.is_some() => return None,
            None => literal(name, other),
        };
        match (left.number, right) {
            (Some(left), Some(right)) => Some(match operator {
                "<" => left < right,
                "<=" => left <= right,
                ">" => left > right,
                ">=" => left >= right,
                "=" => (left - right).abs() < 1e-9,
                _ => (left - right).abs() >= 1e-9,
            }),
            _ => Some(left.shown.eq_ignore_ascii_case(other) == (operator == "=")),
        }
    }

    /// The condition with the values of its facts: `compute capability 12.0 > 9.0`.
    pub(super) fn told(&self, condition: &str) -> String {
        let (condition, says) = match condition.strip_prefix('!') {
            Some(other) => (other.trim(), "does not say"),
            None => (condition, "says"),
        };
        if let Some(words) = words(condition) {
            return format!("the text {says} {}", readable(words));
        }
        let value = |name: &str| self.facts.get(name).map(|fact| fact.shown.clone());
        match comparison(condition) {
            Some((name, operator, other)) => {
                let left = value(name).unwrap_or_default();
                let right = match value(other) {
                    Some(shown) => format!("{shown} ({})", plain_name(other)),
                    None => other.to_owned(),
                };
                format!("{} {left} {operator} {right}", plain_name(name))
            }
            None => {
                format!("{} {}", plain_name(condition), value(condition).unwrap_or_default())
            }
        }
    }
}

/// Whether an expression is only what it says.
pub(super) fn is_plain(one: &str) -> bool {
    one.chars().all(|letter| letter.is_alphanumeric() || " _-/:'=,".contains(letter))
}

/// Whether a text has a word. A short one counts only where it begins a word, and one of three signs where it ends there, too: `int4` is no T4.
fn has(text: &str, word: &str) -> bool {
    let is_joined = |one: Option<char>, other: Option<char>| {
        one.zip(other).is_some_and(|(one, other)| {
            (one.is_alphabetic() && other.is_alphabetic())
                || (one.is_ascii_digit() && other.is_ascii_digit())
        })
    };
    let (first, last) = (word.chars().next(), word.chars().next_back());
    text.match_indices(word).any(|(at, _)| {
        let begins = || !is_joined(text[..at].chars().next_back(), first);
        let ends = || !is_joined(last, text[at + word.len()..].chars().next());
        (word.len() > 4 || begins()) && (word.len() > 3 || ends())
    })
}

/// The expression between two slashes.
pub(super) fn words(condition: &str) -> Option<&str> {
    condition.strip_prefix('/')?.strip_suffix('/')
}

/// A name as people say it.
pub(super) fn plain_name(name: &str) -> String {
    match name {
        "cc" => "compute capability".to_owned(),
        _ => match name.strip_suffix("_pct") {
            Some(part) => format!("share of {}, percent,", part.replace('_', " ")),
            None => name.trim_end_matches("_bytes").replace('_', " "),
        },
    }
}

fn readable(words: &str) -> String {
    let words = words.replace(r"\b", "").replace("(?:", "(").replace(".*", " … ");
    words.replace("\\", "").replace('|', " or ")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

fn comparison(condition: &str) -> Option<(&str, &str, &str)> {
    ["<=", ">=", "!=", "<", ">", "="].into_iter().find_map(|operator| {
        let (name, other) = condition.split_once(operator)?;
        Some((name.trim(), operator, other.trim()))
    })
}

/// The number a condition compares with, read like the fact it stands beside.
fn literal(name: &str, written: &str) -> Option<f64> {
    match () {
        () if name == "cc" || name.ends_with("_cc") => capability(written),
        () if name.ends_with("_version") || name.ends_with("_cuda") => version(written),
        () => written.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fact::Origin;
    use super::*;

    #[test]
    fn conditions_are_true_false_or_unknown() {
        let mut facts = Facts::default();
        facts.state("cc", "sm_120", Origin::Text);
        facts.state("driver_cuda", "12080", Origin::Text);
        facts.count("arch_max", 9.0, Origin::Text);
        facts.count("zero", 0.0, Origin::Text);
        facts.state("os", "Windows", Origin::Here);
        let context = Context::new("FlashAttention only supports Ampere", &facts);
        for (condition, want) in [
            ("cc > arch_max", Some(true)),
            ("cc > arch_min", None),
            ("free_bytes < 3", None),
            ("driver_cuda < 13.0", Some(true)),
            ("driver_cuda >= 12.10", Some(false)),
            ("/flashattention|xformers/", Some(true)),
            ("/nt|orts/", Some(false)),
            ("/only s/", Some(true)),
            ("!/ampere$/", Some(false)),
            ("zero", Some(false)),
            ("os = windows", Some(true)),
            ("os != windows", Some(false)),
            ("nothing", None),
        ] {
            assert_eq!(context.holds(condition), want, "{condition}");
        }
        assert_eq!(context.told("cc > arch_max"), "compute capability 12.0 > 9.0 (arch max)");
        assert_eq!(context.told("!/\\bdocker|pod/"), "the text does not say docker or pod");
    }
}
