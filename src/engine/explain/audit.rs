//! What every expression of the signatures must keep to, so that the lines of an ordinary log match none.

use super::condition::{is_plain, words};
use super::literal::{alternatives, end_of_class, required};
use super::signatures::Signatures;
use super::{Facts, Reader, explain};
use warpscope_probes::rules::RuleBase;

/// Fixed texts of at most so many letters stand inside others: no letter may stand before them, or behind the shorter ones.
const BEGINS: usize = 6;
const ENDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Letter(char),
    /// Anything: a dot, or all but a few letters.
    Any,
    Class,
    Anchor,
    Open,
    Close,
    Bar,
}

#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    kind: Kind,
    written: &'a str,
    /// `?`, `*`, `+`, `{`.
    times: Option<char>,
}

/// The piece at the start of an expression, and its length.
fn first(text: &str) -> (Kind, usize) {
    let mut letters = text.chars();
    let letter = letters.next().unwrap_or(' ');
    match letter {
        '\\' => {
            let next = letters.next().unwrap_or(' ');
            let kind = match next {
                'b' | 'A' | 'z' => Kind::Anchor,
                'W' | 'D' => Kind::Any,
                next if next.is_ascii_alphanumeric() => Kind::Class,
                next => Kind::Letter(next),
            };
            (kind, 1 + next.len_utf8())
        }
        '[' => {
            let end = end_of_class(text.as_bytes(), 0);
            (if text.starts_with("[^") { Kind::Any } else { Kind::Class }, end + 1)
        }
        '(' if text.starts_with("(?s:.)") => (Kind::Any, 6),
        '(' => {
            let head = text[1..].starts_with('?').then(|| text.find([':', '>'])).flatten();
            (Kind::Open, head.map_or(1, |end| end + 1))
        }
        ')' => (Kind::Close, 1),
        '|' => (Kind::Bar, 1),
        '.' => (Kind::Any, 1),
        '^' | '$' => (Kind::Anchor, 1),
        letter => (Kind::Letter(letter), letter.len_utf8()),
    }
}

fn pieces(mut text: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let (kind, length) = first(text);
        let (written, rest) = text.split_at(length);
        let times = rest.chars().next().filter(|next| "?*+{".contains(*next));
        let end = match times {
            Some('{') => rest.find('}').map_or(rest.len(), |end| end + 1),
            Some(_) => 1,
            None => 0,
        };
        let rest = &rest[end..];
        text = if times.is_some() { rest.strip_prefix('?').unwrap_or(rest) } else { rest };
        all.push(Piece { kind, written, times });
    }
    all
}

/// Whether anything may stand beside a piece, before it or behind it.
fn is_open(all: &[Piece<'_>], at: usize, forward: bool) -> bool {
    let (into, out) = if forward { (Kind::Open, Kind::Close) } else { (Kind::Close, Kind::Open) };
    let mut left: Vec<Piece<'_>> = match forward {
        true => all[at + 1..].iter().rev().copied().collect(),
        false => all[..at].to_vec(),
    };
    while let Some(next) = left.pop() {
        match next.kind {
            Kind::Any => return next.times.is_some_and(|times| times != '?'),
            Kind::Bar => {
                let mut depth = 0;
                while let Some(other) = left.pop() {
                    match other.kind {
                        kind if kind == into => depth += 1,
                        kind if kind == out && depth == 0 => break,
                        kind if kind == out => depth -= 1,
                        _ => {}
                    }
                }
            }
            kind if kind == out => {}
            _ => return false,
        }
    }
    true
}

/// Fixed texts of an expression that may be a part of a longer word.
fn parts_of_words(expression: &str, begins: usize, ends: usize) -> Vec<String> {
    let all = pieces(expression);
    let is_letter = |at: &usize| matches!(all[*at].kind, Kind::Letter(_));
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let (mut wrong, mut at) = (Vec::new(), 0);
    while at < all.len() {
        let run: Vec<usize> = (at..all.len()).take_while(is_letter).collect();
        at += run.len().max(1);
        let letters = run.iter().map(|at| match all[*at].kind {
            Kind::Letter(letter) => letter,
            _ => ' ',
        });
        let text: String = letters.collect();
        let (Some(from), Some(to)) = (run.first(), run.last()) else { continue };
        let count = text.chars().filter(|letter| is_word(*letter)).count();
        let is_ascii = text.is_ascii() && !(count == 1 && all[*to].times.is_some());
        let is_begun = text.starts_with(is_word) && count <= begins && is_open(&all, *from, false);
        let is_ended = text.ends_with(|letter| is_word(letter) && letter != '_')
            && count <= ends
            && is_open(&all, *to, true);
        if is_ascii && (is_begun || is_ended) {
            wrong.push(text);
        }
    }
    wrong
}

/// Pieces that fit a line end and do not name it.
fn hidden_line_ends(expression: &str) -> Vec<String> {
    let is_hidden = |piece: &Piece<'_>| match piece.written {
        r"\W" | r"\D" => true,
        written => written.starts_with("[^") && !written.contains(r"\n"),
    };
    let found = pieces(expression).into_iter().filter(is_hidden);
    found.map(|piece| piece.written.to_owned()).collect()
}

/// Alternatives of conditions that are more than words.
fn conditions() -> Vec<String> {
    let causes = Signatures::builtin().base.causes.iter();
    let written =
        causes.flat_map(|one| one.when.iter().chain(one.more.keys()).chain(one.less.keys()));
    let expressions = written.filter_map(|one| words(one.trim_start_matches('!')));
    let all = expressions.flat_map(alternatives).filter(|one| !is_plain(one));
    all.map(str::to_owned).collect()
}

fn signatures() -> impl Iterator<Item = &'static str> {
    Signatures::builtin().expressions.iter().map(|one| one.written)
}

/// What is found of the expressions of causes, each with what is wrong.
fn all_wrong<'a>(
    expressions: impl Iterator<Item = &'a str>,
    wrong: impl Fn(&str) -> Vec<String>,
) -> Vec<(String, Vec<String>)> {
    let all = expressions.map(|one| (one.to_owned(), wrong(one)));
    all.filter(|(_, wrong)| !wrong.is_empty()).collect()
}

#[test]
fn parts_of_words_and_hidden_line_ends_are_found() {
    let parts = |expression| parts_of_words(expression, BEGINS, ENDS).join(",");
    for (expression, want) in [
        (r"(?:hang|hung)\w*", "hang,hung"),
        (r"\b(?:hang|hung)\b", ""),
        (r"Gradient.{0,40}(?:nan|inf)", "nan,inf"),
        (r"\bGradient.{0,40}(?:\bnan\b|\binf\b)", ""),
        (r"CUDA out of memory", ""),
        (r"version .?GLIBC_(?P<glibc>[\d.]+).? not found", ""),
        (r"Loaded .{0,9}oom:", "Loaded ,oom:"),
    ] {
        assert_eq!(parts(expression), want, "{expression}");
    }
    assert_eq!(hidden_line_ends(r"a[^:]b[^:\n]\W").join(","), r"[^:],\W");
}

#[test]
fn no_expression_goes_over_a_line_end_that_it_does_not_name() {
    let conditions = conditions();
    let mut wrong = all_wrong(signatures(), hidden_line_ends);
    wrong.extend(all_wrong(conditions.iter().map(String::as_str), hidden_line_ends));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn short_words_stand_between_boundaries() {
    let wrong = all_wrong(causes(), |one| parts_of_words(one, BEGINS, ENDS));
    assert!(wrong.is_empty(), "{wrong:#?}");
    let conditions = conditions();
    let wrong =
        all_wrong(conditions.iter().map(String::as_str), |one| parts_of_words(one, ENDS, 0));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Expressions of causes; those of facts find numbers, whatever stands around them.
fn causes() -> impl Iterator<Item = &'static str> {
    let causes = Signatures::builtin().base.causes.iter();
    causes.flat_map(|one| one.text.iter().chain(&one.circumstance)).map(String::as_str)
}

#[test]
fn one_word_alone_is_never_sure_whatever_is_spoken_of() {
    let around = "nccl float16 fp16 half gptq awq gguf docker container two gpus 2 gpus multi-gpu \
                  p2p iommu tensor parallel vllm llama.cpp took 3 ms in every model";
    let is_word = |one: &str| one.bytes().all(|byte| byte.is_ascii_lowercase()) && one.len() <= 12;
    // A name with capitals is no word of a sentence.
    let words = causes().flat_map(|one| {
        required(one).into_iter().filter(|fixed| is_word(fixed) && one.contains(fixed.as_str()))
    });
    for fixed in words {
        let mut reader = Reader::default();
        reader.push(format!("{fixed} {around}\nex{fixed}e and {fixed}ing, {around}\n").as_bytes());
        let answer = explain(&reader.finish(), &Facts::default(), &RuleBase::default());
        let sure = answer.problems.iter().find(|one| one.confidence.is_sure());
        assert!(sure.is_none(), "{fixed}: {sure:?}");
    }
}
