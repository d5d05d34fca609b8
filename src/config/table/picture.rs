//! What a screenshot shows.

use super::id::Id;
use super::row::ArgSpec;
use crate::config::value::Kind;

pub(super) const ROWS: &[ArgSpec] = &[
    ArgSpec {
        default: Some("overview"),
        help: "Panel to draw",
        ..ArgSpec::option(Id::Panel, "panel", "NAME", Kind::Text)
    },
    ArgSpec {
        default: Some("120x36"),
        help: "Columns and lines of the picture",
        ..ArgSpec::option(Id::Size, "size", "SIZE", Kind::Cells)
    },
    ArgSpec {
        default: Some("svg"),
        help: "Kind of picture",
        ..ArgSpec::option(Id::PictureFormat, "format", "FORMAT", Kind::OneOf(&["svg", "text"]))
    },
    ArgSpec {
        short: Some('o'),
        help: "File to write instead of standard output",
        ..ArgSpec::option(Id::Output, "output", "FILE", Kind::Path)
    },
    ArgSpec::switch(
        Id::Force,
        &[("force", "on")],
        "Replace the file to write where it exists already",
    ),
    ArgSpec {
        help: "Show what a benchmark said: a file of its events, one per line",
        ..ArgSpec::option(Id::BenchEvents, "bench-events", "FILE", Kind::Path)
    },
];
