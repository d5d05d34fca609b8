//! Changes that keep most texts well-formed: of words, numbers, lines and what stands between brackets or quotes.

use std::ops::Range;

use super::Mutator;

/// Numbers at which readers of text go wrong.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e308",
    "1e309",
    "-1e-400",
    "0.1",
    "nan",
    "inf",
    "0x10",
    "00",
    "1_000",
];

/// Characters that screens, terminals and parsers treat in their own way, and bytes that are no text.
const CHARACTERS: &[&[u8]] = &[
    b"\0",
    b"\x1b[2J",
    b"\r",
    b"\t",
    b"\\",
    b"\"",
    b"'",
    b"#",
    b"\\ud800",
    b"\xff",
    b"\xc3",
    "\u{85}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    "ß".as_bytes(),
    "İ".as_bytes(),
    "世".as_bytes(),
    "👩‍🔬".as_bytes(),
];

/// What opens and what closes a level of JSON, TOML and expressions.
const LEVELS: &[(&str, &str)] =
    &[("[", "]"), ("{\"a\":", "}"), ("(", ")"), ("{a=", "}"), ("a.", "")];
const DEEPEST: usize = 5_000;
const DELIMITERS: &[u8] = b"\"'[]{}(),:=\n\0 ";
const LONGEST_PIECE: usize = 2048;

pub(super) fn insert_word(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let at = mutator.random.below(bytes.len() + 1);
    if let Some(word) = mutator.random.pick(&mutator.words) {
        bytes.splice(at..at, word.iter().copied());
    }
}

pub(super) fn replace_word(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let Some(place) = run(mutator, bytes, is_part) else { return };
    if let Some(word) = mutator.random.pick(&mutator.words) {
        bytes.splice(place, word.iter().copied());
    }
}

pub(super) fn replace_number(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let is_part = |byte: u8| byte.is_ascii_digit() || b".-".contains(&byte);
    let Some(place) = run(mutator, bytes, is_part) else { return };
    let number = mutator.random.pick(NUMBERS).expect("there are some");
    bytes.splice(place, number.bytes());
}

pub(super) fn move_line(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let Some(from) = line(mutator, bytes) else { return };
    let moved: Vec<u8> = bytes.drain(from).collect();
    let at = line(mutator, bytes).map_or(0, |line| line.start);
    bytes.splice(at..at, moved);
}

pub(super) fn repeat_line(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let Some(of) = line(mutator, bytes) else { return };
    let most = if mutator.random.below(8) == 0 { 500 } else { 2 };
    let repeated = bytes[of.clone()].repeat(1 + mutator.random.below(most));
    bytes.splice(of.end..of.end, repeated);
}

/// Puts what stands between two delimiters of the other input between two of this one.
pub(super) fn take_piece(mutator: &mut Mutator, bytes: &mut Vec<u8>, other: &[u8]) {
    let (Some(from), Some(to)) = (piece(mutator, other), piece(mutator, bytes)) else { return };
    let to = if mutator.random.below(2) == 0 { to } else { to.start..to.start };
    bytes.splice(to, other[from].iter().copied());
}

pub(super) fn nest(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let Some(place) = piece(mutator, bytes) else { return };
    let (open, close) = mutator.random.pick(LEVELS).expect("there are some");
    let most = if mutator.random.below(4) == 0 { DEEPEST } else { 40 };
    let levels = 1 + mutator.random.below(most);
    bytes.splice(place.end..place.end, close.repeat(levels).bytes());
    bytes.splice(place.start..place.start, open.repeat(levels).bytes());
}

pub(super) fn insert_character(mutator: &mut Mutator, bytes: &mut Vec<u8>, _: &[u8]) {
    let at = mutator.random.below(bytes.len() + 1);
    let character = mutator.random.pick(CHARACTERS).expect("there are some");
    bytes.splice(at..at, character.iter().copied());
}

/// A run of such bytes at or behind a random place.
fn run(mutator: &mut Mutator, bytes: &[u8], belongs: impl Fn(u8) -> bool) -> Option<Range<usize>> {
    let from = mutator.random.below(bytes.len());
    let found = from + bytes[from..].iter().position(|byte| belongs(*byte))?;
    let start = bytes[..found].iter().rposition(|byte| !belongs(*byte)).map_or(0, |at| at + 1);
    let length = bytes[found..].iter().position(|byte| !belongs(*byte));
    Some(start..length.map_or(bytes.len(), |length| found + length))
}

/// A line with its line feed.
fn line(mutator: &mut Mutator, bytes: &[u8]) -> Option<Range<usize>> {
    let at = mutator.random.below(bytes.len());
    let start = bytes.get(..at)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n');
    Some(start..end.map_or(bytes.len(), |end| at + end + 1))
}

/// From behind a delimiter to before a later one.
fn piece(mutator: &mut Mutator, bytes: &[u8]) -> Option<Range<usize>> {
    let delimits = |byte: &u8| DELIMITERS.contains(byte);
    let start = mutator.random.below(bytes.len());
    let start = start + bytes.get(start..)?.iter().position(delimits)? + 1;
    let most = mutator.random.below((bytes.len() - start).min(LONGEST_PIECE) + 1);
    let end = start + most;
    let end = end + bytes[end..].iter().position(delimits).unwrap_or(bytes.len() - end);
    Some(start..end)
}
