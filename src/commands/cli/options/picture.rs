//! What a screenshot shows.

use std::path::PathBuf;

use super::typed::Typed;
use crate::config::{Id, Value};

/// Kind of picture a screenshot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Plain text.
    Text,
}

/// What a screenshot shows.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureOptions {
    /// Panel by name.
    pub panel: String,
    /// Columns and lines.
    pub size: (u16, u16),
    /// Kind of picture.
    pub format: PictureFormat,
    /// File to write; standard output without one.
    pub output: Option<PathBuf>,
    /// Benchmark events to show.
    pub bench_events: Option<PathBuf>,
}

impl PictureOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            panel: get.text(Id::Panel),
            size: match get.0.get(Id::Size) {
                Some(Value::Cells(columns, lines)) => (*columns, *lines),
                _ => (80, 24),
            },
            format: match get.text(Id::PictureFormat).as_str() {
                "text" => PictureFormat::Text,
                _ => PictureFormat::Svg,
            },
            output: get.path(Id::Output),
            bench_events: get.path(Id::BenchEvents),
        }
    }
}
