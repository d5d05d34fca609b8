//! Signatures against the lines of a text.

use regex_lite::Captures;
use warpscope_probes::errors::Lookup;

use super::reader::Digest;
use super::signatures::{Expression, Owner, Signatures};

/// Lines of the same writer an expression may go on over.
const WINDOW: usize = 6;
/// Bytes of them.
const WIDEST: usize = 3000;

/// The fact of a lookup that is searched for like a text.
const ERROR: &str = "error";

/// Longer words are rare enough to mean something by themselves.
const LONGEST_WORD: usize = 12;

/// An expression that matched.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit {
    pub(super) owner: Owner,
    /// Place in the lines of the digest.
    pub(super) at: usize,
    /// Named groups.
    pub(super) groups: Vec<(String, String)>,
    /// Whether all it matched is one plain word or signs, which any text may have.
    pub(super) is_weak: bool,
}

/// Every match, by line.
pub(super) fn hits(digest: &Digest) -> Vec<Hit> {
    let signatures = Signatures::builtin();
    let mut found = Vec::new();
    for at in 0..digest.lines.len() {
        let candidates = signatures.candidates(&digest.lines[at].text);
        if candidates.is_empty() || is_frame(&digest.lines[at].text) {
            continue;
        }
        let (window, first) = window(digest, at);
        for expression in candidates.iter().map(|one| &signatures.expressions[*one]) {
            let Some(regex) = expression.regex() else { continue };
            let Some(groups) = regex.captures(&window) else { continue };
            let Some(all) = groups.get(0) else { continue };
            if all.start() >= first.1 || all.end() <= first.0 {
                continue;
            }
            let is_weak = is_weak(all.as_str());
            let named = regex.capture_names().flatten();
            let groups: Vec<_> = named
                .filter_map(|name| Some((name.to_owned(), groups.name(name)?.as_str().to_owned())))
                .collect();
            found.extend(numbered(expression.owner, at, &groups));
            found.push(Hit { owner: expression.owner, at, groups, is_weak });
        }
    }
    found
}

/// What the name of an error matches, where the line has only its number.
fn numbered(owner: Owner, at: usize, groups: &[(String, String)]) -> Vec<Hit> {
    let signatures = Signatures::builtin();
    let (Owner::Stated(fact), Some((_, number))) = (owner, groups.first()) else {
        return Vec::new();
    };
    let fact = &signatures.base.stated[fact].name;
    let of_fact = |one: &&Lookup| one.from == *fact && one.to == ERROR;
    let Some(name) = signatures.base.lookups.iter().find(of_fact).and_then(|one| one.row(number))
    else {
        return Vec::new();
    };
    let all = signatures.candidates(name);
    let matching = all
        .iter()
        .map(|one| &signatures.expressions[*one])
        .filter(|expression| expression.regex().is_some_and(|regex| regex.is_match(name)));
    let hit = |one: &Expression| Hit { owner: one.owner, at, groups: Vec::new(), is_weak: false };
    matching.map(hit).collect()
}

/// A frame of a C++ stack names functions, not what went wrong.
fn is_frame(text: &str) -> bool {
    let number = text.trim_start().strip_prefix("frame #").and_then(|rest| rest.split_once(':'));
    number.is_some_and(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_weak(matched: &str) -> bool {
    let word = matched.trim_matches(|letter: char| !letter.is_alphanumeric());
    let rest = word.get(1..).unwrap_or_default();
    let is_of = |of: fn(&u8) -> bool| rest.as_bytes().iter().all(of);
    let is_word = is_of(u8::is_ascii_lowercase) || is_of(u8::is_ascii_uppercase);
    word.is_empty() || (word.len() <= LONGEST_WORD && word.is_ascii() && is_word)
}

/// The line with those after it of the same writer, and where the line begins and ends in that. What is benign is left out.
fn window(digest: &Digest, at: usize) -> (String, (usize, usize)) {
    let line = &digest.lines[at];
    let mut text = String::new();
    let before = at.checked_sub(1).map(|before| &digest.lines[before]);
    if let Some(before) = before.filter(|before| before.from == line.from) {
        text += &before.text;
        text.push('\n');
    }
    let begin = text.len();
    text += &line.text;
    let end = text.len();
    let after = digest.lines[at + 1..].iter().take(40).filter(|one| one.from == line.from);
    for one in after.take(WINDOW) {
        if text.len() + one.text.len() > WIDEST.max(end) {
            break;
        }
        text.push('\n');
        text += &one.text;
    }
    let blank = |benign: &Captures<'_>| " ".repeat(benign[0].len());
    let benign = &Signatures::builtin().benign;
    (benign.replace_all(&text, blank).into_owned(), (begin, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_is_weak_and_a_name_or_a_sentence_is_not() {
        for (matched, want) in [
            ("hang", true),
            ("Gibberish", true),
            ("> !!!!!!", true),
            ("GGGG", true),
            ("CUDA out of memory", false),
            ("OutOfMemoryError", false),
            ("ALLOC_FAILED", false),
            ("显存不足", false),
        ] {
            assert_eq!(is_weak(matched), want, "{matched}");
        }
    }
}
