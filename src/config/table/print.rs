//! What is printed, for how long, and what a command without a subject is asked for.

use super::id::Id;
use super::row::{ArgSpec, Form};
use crate::config::value::Kind;

/// Shells completions are made for.
pub const SHELLS: &[&str] = &["bash", "elvish", "fish", "powershell", "zsh"];

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec::switch(
        Id::Json,
        &[("json", "on")],
        "Print JSON: numbers as numbers, null for unknown",
    ),
    ArgSpec {
        apart: &["json", "markdown"],
        ..ArgSpec::switch(Id::Csv, &[("csv", "on")], "Print CSV: one line per verdict")
    },
    ArgSpec {
        apart: &["json"],
        ..ArgSpec::switch(Id::Markdown, &[("markdown", "on")], "Print a Markdown table")
    },
    ArgSpec {
        default: Some("jsonl"),
        help: "jsonl writes whole frames, csv one row per GPU and frame",
        ..ArgSpec::option(Id::LineFormat, "format", "FORMAT", Kind::OneOf(&["jsonl", "csv"]))
    },
    ArgSpec::switch(
        Id::Redact,
        &[("redact", "on")],
        "Replace host and user names, identifiers, command lines and home paths by placeholders",
    ),
    ArgSpec::switch(
        Id::RequireGpu,
        &[("require-gpu", "on")],
        "End with code 3 when no GPU answers",
    ),
    ArgSpec::switch(Id::Once, &[("once", "on")], "End after one complete frame"),
    ArgSpec {
        short: Some('n'),
        help: "End after so many frames",
        ..ArgSpec::option(Id::Count, "count", "N", Kind::Count)
    },
    ArgSpec {
        short: Some('d'),
        help: "End after this time",
        ..ArgSpec::option(Id::Duration, "duration", "TIME", Kind::Span)
    },
    ArgSpec {
        help: "sample prints a documented configuration, check reads one and names its errors, path says where it is looked for",
        ..ArgSpec::operand(
            Id::Action,
            Form::RequiredOperand,
            "ACTION",
            Kind::OneOf(&["sample", "check", "path"]),
        )
    },
    ArgSpec {
        help: "Command to describe instead of the whole program",
        ..ArgSpec::operand(Id::CommandName, Form::Operand, "COMMAND", Kind::Text)
    },
    ArgSpec {
        help: "Shell to complete for",
        ..ArgSpec::operand(Id::Shell, Form::RequiredOperand, "SHELL", Kind::OneOf(SHELLS))
    },
];
