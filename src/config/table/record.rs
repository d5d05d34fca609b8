//! Where a recording goes, and where its points come from.

use super::id::Id;
use super::row::{ArgSpec, Form};
use crate::config::value::Kind;
use crate::runs::points::PARSERS;

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        help: "Recording to write; an existing one is continued",
        ..ArgSpec::operand(Id::File, Form::RequiredOperand, "FILE", Kind::Path)
    },
    ArgSpec {
        help: "Start a new file when this one would grow beyond the size",
        ..ArgSpec::option(Id::MaxSize, "max-size", "SIZE", Kind::Size)
    },
    ArgSpec {
        default: Some("3"),
        help: "Older files to keep when --max-size is reached: FILE.1, FILE.2, …",
        ..ArgSpec::option(Id::Keep, "keep", "N", Kind::Count)
    },
    ArgSpec {
        help: "Program to run and record: its points among what it prints, and the machine around them",
        ..ArgSpec::operand(Id::Command, Form::Rest, "COMMAND", Kind::Words)
    },
    ArgSpec {
        help: "Record points of a process that runs already, until it ends; where to send them is printed",
        ..ArgSpec::option(Id::Attach, "attach", "PID", Kind::Count)
    },
    ArgSpec::switch(
        Id::Stdin,
        &[("stdin", "on")],
        "Record points among the lines of standard input, which is passed on",
    ),
    ArgSpec {
        help: "Look for lines of these tools too, separated by commas",
        ..ArgSpec::option(Id::Parsers, "parse", "LIST", Kind::AnyOf(PARSERS))
    },
    ArgSpec {
        help: "Look for lines that match this regular expression; groups name what they are: (?<name>…), (?<t_us>…), (?<per_s>…)",
        ..ArgSpec::option(Id::Pattern, "pattern", "REGEX", Kind::Text)
    },
    ArgSpec {
        help: "What to write beside the measurements",
        ..ArgSpec::operand(Id::Remark, Form::RequiredOperand, "TEXT", Kind::Words)
    },
];
