//! What a screenshot shows.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, option, switch};
use crate::config::value::Kind;

/// Format of a screenshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum PictureFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Plain text.
    Text,
}

args! {
    PANEL: String = option("panel", "NAME", Kind::Text)
        .default("overview")
        .help("Panel to draw");
    SIZE: (u16, u16) = option("size", "SIZE", Kind::Cells)
        .default("120x36")
        .help("Columns and lines of the picture");
    PICTURE_FORMAT: PictureFormat = option("format", "FORMAT", PictureFormat::KIND)
        .default("svg")
        .help("Format of the picture");
    OUTPUT: Option<PathBuf> = option("output", "FILE", Kind::Path)
        .short('o')
        .help("File to write instead of standard output");
    FORCE: bool = switch(&[("force", "on")])
        .help("Overwrite the output file if it exists");
    BENCH_EVENTS: Option<PathBuf> = option("bench-events", "FILE", Kind::Path)
        .help("Show benchmark results from this file of events, one per line");
}
