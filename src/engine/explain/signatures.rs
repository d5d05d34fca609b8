//! The signatures made ready: every expression with its fixed text, and one automaton over all fixed texts.
//!
//! Gigabytes of a log are searched for fixed texts only; expressions are tried on the few lines that have one. `regex` instead of
//! `aho-corasick` and `regex-lite` was rejected: three packages more, half a megabyte of tables, and a second of compiling expressions.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex_lite::Regex;
use warpscope_probes::errors::ErrorBase;

use super::literal;

/// What an expression belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Cause(usize),
    Circumstance(usize),
    Stated(usize),
    Echo(usize),
}

/// One expression, compiled when a line has its fixed text.
pub(super) struct Expression {
    pub(super) owner: Owner,
    pub(super) written: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Expression {
    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || Regex::new(&format!("(?i){}", self.written)).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// All expressions, and how lines that may match are found.
pub(super) struct Signatures {
    pub(super) base: &'static ErrorBase,
    pub(super) expressions: Vec<Expression>,
    /// Expressions of each fixed text of the automaton.
    users: Vec<Vec<usize>>,
    automaton: AhoCorasick,
    /// What ordinary logs say in words of failures.
    pub(super) benign: Regex,
}

impl Signatures {
    /// Those of the program.
    pub(super) fn builtin() -> &'static Self {
        static ALL: LazyLock<Signatures> = LazyLock::new(|| Signatures::new(ErrorBase::builtin()));
        &ALL
    }

    fn new(base: &'static ErrorBase) -> Self {
        let causes = base.causes.iter().enumerate().map(|(at, one)| (Owner::Cause(at), &one.text));
        let beside = base.causes.iter().enumerate();
        let beside = beside.map(|(at, one)| (Owner::Circumstance(at), &one.circumstance));
        let stated = base.stated.iter().enumerate().map(|(at, one)| (Owner::Stated(at), &one.text));
        let echoes = base.echoes.iter().enumerate().map(|(at, one)| (Owner::Echo(at), &one.text));
        let all = causes.chain(beside).chain(stated).chain(echoes);
        let written = all.flat_map(|(owner, text)| text.iter().map(move |one| (owner, one)));
        let expressions: Vec<Expression> = written
            .map(|(owner, one)| Expression { owner, written: one, compiled: OnceLock::new() })
            .collect();
        let mut texts: Vec<String> = Vec::new();
        let mut users: Vec<Vec<usize>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, expression) in expressions.iter().enumerate() {
            for fixed in literal::required(expression.written) {
                let next = texts.len();
                let known = *places.entry(fixed.clone()).or_insert(next);
                if known == next {
                    texts.push(fixed);
                    users.push(Vec::new());
                }
                users[known].push(at);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&texts)
            .expect("a few thousand short texts");
        let benign: Vec<&str> =
            base.benign.iter().flat_map(|one| &one.text).map(String::as_str).collect();
        let benign = Regex::new(&format!("(?i){}", benign.join("|"))).expect("valid expressions");
        Self { base, expressions, users, automaton, benign }
    }

    /// Expressions whose fixed text the line has, in order.
    pub(super) fn candidates(&self, line: &str) -> Vec<usize> {
        let found = self.automaton.find_overlapping_iter(line);
        let mut all: Vec<usize> =
            found.flat_map(|hit| self.users[hit.pattern().as_usize()].iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The first place from `at` on that has a fixed text.
    pub(super) fn next(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let input = aho_corasick::Input::new(bytes).span(at..bytes.len());
        self.automaton.find(input).map(|hit| hit.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_compiles_and_has_a_fixed_text() {
        let mut wrong = Vec::new();
        for expression in &Signatures::builtin().expressions {
            let written = expression.written;
            assert!(expression.regex().is_some(), "{written}");
            let fixed = literal::required(written);
            if literal::shortest(&fixed) < 3 {
                wrong.push(written);
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
