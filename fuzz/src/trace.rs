//! What a reader showed on one input, as a set of features: the feedback of a fuzzer without coverage instrumentation.

use std::collections::HashSet;
use std::fmt::{self, Debug, Display, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Longest text that is looked at, in bytes.
const LONGEST: usize = 16 << 10;
/// Different features there can be. Messages with words of the input in them would else look new for ever.
const MOST_FEATURES: u64 = 1 << 13;
/// Longest word that counts as itself. A longer one is data.
const LONGEST_WORD: usize = 24;

/// Features of one run.
#[derive(Debug, Default)]
pub struct Trace {
    features: HashSet<u64>,
}

impl Trace {
    /// Notes a value by its debug form: which fields and variants stand beside each other. Texts and numbers in it count by kind only.
    pub fn value(&mut self, value: &impl Debug) {
        let mut text = Cut(String::new());
        // The error says that the text was cut.
        let _ = write!(text, "{value:?}");
        self.text(&text.0);
    }

    /// Notes an error.
    pub fn error(&mut self, error: &impl Display) {
        let mut text = Cut(String::new());
        let _ = write!(text, "{error}");
        self.text(&text.0);
    }

    /// Notes how many there are of something, by order of magnitude.
    pub fn count(&mut self, what: &str, count: usize) {
        self.note(&(what, count.checked_ilog2()));
    }

    /// Notes a result.
    pub fn result<T: Debug, E: Display>(&mut self, result: &Result<T, E>) {
        match result {
            Ok(value) => self.value(value),
            Err(error) => self.error(error),
        }
    }

    /// What was noted.
    pub fn features(&self) -> &HashSet<u64> {
        &self.features
    }

    /// Notes each pair of neighbouring tokens.
    fn text(&mut self, text: &str) {
        let mut before = Token::Start;
        for token in tokens(text) {
            self.note(&(&before, &token));
            before = token;
        }
    }

    fn note(&mut self, feature: &impl Hash) {
        let mut hasher = DefaultHasher::new();
        feature.hash(&mut hasher);
        self.features.insert(hasher.finish() % MOST_FEATURES);
    }
}

#[derive(Hash)]
enum Token<'a> {
    Start,
    Word(&'a str),
    Number,
    Quoted,
    Sign(char),
}

/// Takes a text up to [`LONGEST`] bytes, then fails, which ends the formatting.
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = text.floor_char_boundary(LONGEST - self.0.len());
        self.0.push_str(&text[..left]);
        if left < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let (token, length) = match first {
            '"' | '`' => (Token::Quoted, quoted(rest, first)),
            '0'..='9' => (Token::Number, run(rest, |c| c.is_ascii_digit() || "._".contains(c))),
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = run(rest, |c| c.is_ascii_alphabetic() || c == '_');
                let word = &rest[..length];
                (if length <= LONGEST_WORD { Token::Word(word) } else { Token::Quoted }, length)
            }
            _ => (Token::Sign(if first.is_ascii() { first } else { '?' }), first.len_utf8()),
        };
        rest = &rest[length..];
        Some(token)
    })
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// Length of a quoted text with its quotes; all of it where it does not end.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> HashSet<u64> {
        let mut trace = Trace::default();
        trace.error(&text);
        trace.features
    }

    #[test]
    fn data_in_a_message_is_no_new_behaviour_and_words_are() {
        let message = of("line 12: \"a\\\" b\" is `x`, not a number");
        assert_eq!(message, of("line 7: \"long é text\" is `yz`, not a number"));
        assert_ne!(message, of("line 7: \"long é text\" is `yz`, not a name"));
    }

    #[test]
    fn counts_differ_by_order_of_magnitude_and_long_texts_are_cut() {
        let of = |count| {
            let mut trace = Trace::default();
            trace.count("gpus", count);
            trace.value(&"é".repeat(LONGEST));
            trace.features
        };
        assert_eq!(of(4), of(7));
        assert_ne!(of(0), of(1));
        assert_ne!(of(7), of(8));
    }
}
