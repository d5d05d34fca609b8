//! What a one-shot command prints.

use std::path::PathBuf;
use std::time::Duration;

use super::typed::Typed;
use crate::config::Id;

/// What a one-shot command prints.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputOptions {
    /// JSON instead of text.
    pub json: bool,
    /// CSV instead of JSON Lines.
    pub csv: bool,
    /// Placeholders for what names a person or a machine.
    pub redact: bool,
    /// Form of a list of verdicts.
    pub form: Form,
    /// Which verdicts are shown.
    pub only: Option<Only>,
    /// Only this fix, counted from 1.
    pub fix: Option<u64>,
    /// File the fix is written to.
    pub write: Option<PathBuf>,
    /// Whether a file that is written may replace another.
    pub force: bool,
    /// Whether to end with code 3 when no GPU answers.
    pub require_gpu: bool,
    /// End after so many frames.
    pub count: Option<u64>,
    /// End after this time.
    pub duration: Option<Duration>,
}

/// Form of a list of verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// For people.
    #[default]
    Text,
    /// One document.
    Json,
    /// A table to be pasted into an issue.
    Markdown,
    /// One line per verdict.
    Csv,
}

/// Which verdicts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// What fails, gives wrong output or runs in part.
    Fails,
    /// Everything but what runs as asked.
    Problems,
    /// What nobody knows.
    Unknown,
}

impl OutputOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        let once = get.switch(Id::Once).then_some(1);
        Self {
            json: get.switch(Id::Json),
            csv: get.text(Id::LineFormat) == "csv",
            redact: get.switch(Id::Redact),
            form: form(get),
            only: match get.text(Id::Only).as_str() {
                "fails" => Some(Only::Fails),
                "problems" => Some(Only::Problems),
                "unknown" => Some(Only::Unknown),
                _ => None,
            },
            fix: get.number(Id::FixNumber),
            write: get.path(Id::Write),
            force: get.switch(Id::Force),
            require_gpu: get.switch(Id::RequireGpu),
            count: once.or(get.number(Id::Count)),
            duration: get.span(Id::Duration),
        }
    }
}

/// The parser lets only one of them stand.
fn form(get: &Typed<'_>) -> Form {
    let forms = [(Id::Json, Form::Json), (Id::Markdown, Form::Markdown), (Id::Csv, Form::Csv)];
    forms.into_iter().find(|row| get.switch(row.0)).map_or(Form::Text, |row| row.1)
}
