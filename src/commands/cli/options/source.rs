//! Where frames come from.

use std::path::PathBuf;
use std::time::Duration;

use super::typed::Typed;
use crate::config::Id;

/// When to show GPUs of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhatIf {
    /// Where no real one answers, or where one is named.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Where frames come from.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceOptions {
    /// Time between frames.
    pub interval: Duration,
    /// GPUs of the catalogue, as named.
    pub gpus: Vec<String>,
    /// When to show them.
    pub what_if: WhatIf,
    /// NVML library to load instead of the usual one.
    pub library: Option<PathBuf>,
    /// Recording to play instead of asking this machine.
    pub recording: Option<PathBuf>,
    /// Speed of the recording.
    pub speed: f64,
    /// Where to begin in the recording.
    pub start: Duration,
}

impl SourceOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            interval: get.span(Id::Interval).unwrap_or(Duration::from_secs(1)),
            gpus: get.list(Id::Gpus),
            what_if: match get.text(Id::WhatIf).as_str() {
                "always" => WhatIf::Always,
                "never" => WhatIf::Never,
                _ => WhatIf::Auto,
            },
            library: get.path(Id::Library),
            recording: get.path(Id::Recording).or_else(|| get.path(Id::Source)),
            speed: get.factor(Id::Speed).unwrap_or(1.0),
            start: get.span(Id::Start).unwrap_or_default(),
        }
    }
}
