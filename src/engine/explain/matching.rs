//! Signatures against the lines of a text.

use warpscope_probes::errors::Lookup;

use super::reader::Digest;
use super::signatures::{Owner, Signatures};

/// Lines of the same writer an expression may go on over.
const WINDOW: usize = 6;
/// Bytes of them.
const WIDEST: usize = 3000;

/// The fact of a lookup that is searched for like a text.
const ERROR: &str = "error";

/// An expression that matched.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hit {
    pub(super) owner: Owner,
    /// Place in the lines of the digest.
    pub(super) at: usize,
    /// Named groups.
    pub(super) groups: Vec<(String, String)>,
}

/// Every match, by line.
pub(super) fn hits(digest: &Digest) -> Vec<Hit> {
    let signatures = Signatures::builtin();
    let mut found = Vec::new();
    for at in 0..digest.lines.len() {
        let candidates = signatures.candidates(&digest.lines[at].text);
        if candidates.is_empty() {
            continue;
        }
        let (window, first) = window(digest, at);
        for expression in candidates.iter().map(|one| &signatures.expressions[*one]) {
            let Some(regex) = expression.regex() else { continue };
            let Some(groups) = regex.captures(&window) else { continue };
            if groups.get(0).is_none_or(|all| all.start() >= first.1 || all.end() <= first.0) {
                continue;
            }
            let named = regex.capture_names().flatten();
            let groups: Vec<_> = named
                .filter_map(|name| Some((name.to_owned(), groups.name(name)?.as_str().to_owned())))
                .collect();
            found.extend(numbered(expression.owner, at, &groups));
            found.push(Hit { owner: expression.owner, at, groups });
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
    matching.map(|one| Hit { owner: one.owner, at, groups: Vec::new() }).collect()
}

/// The line with those after it of the same writer, and where the line begins and ends in that.
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
    (text, (begin, end))
}
