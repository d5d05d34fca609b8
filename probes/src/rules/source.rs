//! The text of one rule file on its way in.
//!
//! Where its lines begin is found once: counting them anew for every rule cost more the longer the file. Reading the files on several
//! threads was tried and left out: on a busy machine, as at the start of a program, it took longer.

use super::base::RuleError;
use super::file::File;

/// One file on its way in.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) user: bool,
    text: &'a str,
    form: Form,
}

/// What the text is.
enum Form {
    /// TOML as somebody wrote it, and where each line but the first begins.
    Written(Vec<usize>),
    /// JSON from the build script, in which every place is a line already.
    Built,
}

impl<'a> Source<'a> {
    pub(super) fn new(name: &'a str, text: &'a str, user: bool) -> Self {
        let lines = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self { name, user, text, form: Form::Written(lines) }
    }

    /// A file of the program's own.
    pub(super) fn built(name: &'a str, text: &'a str) -> Self {
        Self { name, user: false, text, form: Form::Built }
    }

    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> RuleError {
        let line = self.line(at);
        RuleError { file: self.name.to_owned(), line, message: message.into() }
    }

    /// Line of a place in the text, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        match &self.form {
            Form::Written(lines) => 1 + lines.partition_point(|start| *start <= at),
            Form::Built => at,
        }
    }

    /// Reads the text, of the right shape.
    pub(super) fn read(&self) -> Result<File, RuleError> {
        match self.form {
            Form::Written(_) => toml::from_str(self.text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                self.error(at, error.message())
            }),
            Form::Built => {
                serde_json::from_str(self.text).map_err(|error| self.error(0, error.to_string()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let source = Source::new("demo.toml", "a\n\nb", false);
        let lines: Vec<_> = (0..=source.text.len()).map(|at| source.line(at)).collect();
        assert_eq!(lines, [1, 1, 2, 3, 3]);
    }
}
