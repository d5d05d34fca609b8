//! What is printed, for how long, and what a command without a subject is asked for.

use std::time::Duration;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;

/// Form of a stream of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum LineFormat {
    /// Whole frames, one a line.
    Jsonl,
    /// One row per GPU and frame.
    Csv,
}

/// What `config` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum ConfigAction {
    /// Prints a documented sample.
    Sample,
    /// Reads the file and names its errors.
    Check,
    /// Prints where the file is looked for.
    Path,
}

/// Shells completions are made for.
const SHELLS: &[&str] = &["bash", "elvish", "fish", "nu", "powershell", "zsh"];

args! {
    JSON: bool = switch(&[("json", "on")])
        .help("Print JSON: numbers as numbers, null for unknown");
    CSV: bool = switch(&[("csv", "on")])
        .conflicts(&["json", "markdown"])
        .help("Print CSV: one line per row");
    MARKDOWN: bool = switch(&[("markdown", "on")])
        .conflicts(&["json"])
        .help("Print a Markdown table");
    LINE_FORMAT: LineFormat = option("format", "FORMAT", LineFormat::KIND)
        .default("jsonl")
        .help("jsonl writes whole frames, csv one row per GPU and frame");
    REDACT: bool = switch(&[("redact", "on")])
        .help("Replace host and user names, identifiers, command lines and home paths with placeholders");
    REQUIRE_GPU: bool = switch(&[("require-gpu", "on")])
        .help("Exit with code 3 when no GPU responds");
    ONCE: bool = switch(&[("once", "on")])
        .help("Stop after one complete frame");
    COUNT: Option<u64> = option("count", "N", Kind::Count)
        .short('n')
        .help("Stop after this many frames");
    DURATION: Option<Duration> = option("duration", "TIME", Kind::Span)
        .short('d')
        .help("Stop after this long");
    ACTION: ConfigAction = operand(Form::RequiredOperand, "ACTION", ConfigAction::KIND)
        .help("sample prints a documented configuration, check validates the file, path prints where the file is expected");
    COMMAND_NAME: Option<String> = operand(Form::Operand, "COMMAND", Kind::Text)
        .help("Command to describe instead of the whole program");
    SHELL: String = operand(Form::RequiredOperand, "SHELL", Kind::OneOf(SHELLS))
        .help("Shell to generate completions for");
}
