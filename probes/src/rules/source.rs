//! The text of one rule file on its way in.
//!
//! Where its lines begin is found once: counting them anew for every rule cost more the longer the file. Reading the files on several
//! threads was tried and left out: on a busy machine, as at the start of a program, it took longer.

use serde::Deserialize;

use super::base::{RuleBase, RuleError};
use super::file::{File, RuleEntry};
use super::text::{BuiltIn, Text};

/// One file on its way in.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) user: bool,
    form: Form<'a>,
}

/// What the text is.
enum Form<'a> {
    /// TOML as somebody wrote it, and where each line but the first begins.
    Written(&'a str, Vec<usize>),
    /// Lines of JSON from the build script, in which every place is a line already.
    Built(&'static str),
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str, user: bool) -> Self {
        let lines = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { name, user, form: Form::Written(text, lines) }
    }

    /// A file of the program's own.
    pub(super) fn built(name: &'a str, text: &'static str) -> Self {
        Self { name, user: false, form: Form::Built(text) }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> RuleError {
        let line = self.line(at);
        RuleError { file: self.name.to_owned(), line, message: message.into() }
    }

    /// Line of a place in the text, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        match &self.form {
            Form::Written(_, lines) => 1 + lines.partition_point(|start| *start <= at),
            Form::Built(_) => at,
        }
    }

    /// Adds the file to the base and returns the framework it speaks of.
    pub(super) fn add_to(&self, base: &mut RuleBase) -> Result<Text, RuleError> {
        match self.form {
            Form::Written(text, _) => self.add(base, self.written(text)?),
            Form::Built(text) => self.add_built(base, text),
        }
    }

    fn written(&self, text: &str) -> Result<File<String>, RuleError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message())
        })
    }

    /// The head of the file is its first line. Every rule is a line of its own: a file of them at once leaves torn-up heap behind.
    fn add_built(&self, base: &mut RuleBase, text: &'static str) -> Result<Text, RuleError> {
        let mut lines = text.lines();
        let head: File<BuiltIn> = self.json(lines.next().unwrap_or_default())?;
        let id = self.add(base, head)?;
        for line in lines {
            let (at, rule) = line.split_once(' ').unwrap_or_default();
            let entry: RuleEntry<BuiltIn> = self.json(rule)?;
            self.add_rule(base, (at.parse().unwrap_or(0), entry), &id)?;
        }
        Ok(id)
    }

    fn json<T: Deserialize<'static>>(&self, text: &'static str) -> Result<T, RuleError> {
        serde_json::from_str(text).map_err(|error| self.error(0, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\n\nb";
        let source = Source::new("demo.toml", text, false);
        let lines: Vec<_> = (0..=text.len()).map(|at| source.line(at)).collect();
        assert_eq!(lines, [1, 1, 2, 3, 3]);
    }
}
