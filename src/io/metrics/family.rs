//! Metrics before they are text.

use std::borrow::Cow;

/// What the server that asks does with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Counter,
    Info,
}

/// One value with what tells it from others of its family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample<'a> {
    /// Place of the GPU; none where it is of the machine.
    pub(super) gpu: Option<usize>,
    /// Labels besides those of the GPU or the machine.
    pub(super) more: Vec<(&'static str, Cow<'a, str>)>,
    pub(super) value: f64,
}

/// Values of one meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family<'a> {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
    pub(super) help: &'static str,
    pub(super) samples: Vec<Sample<'a>>,
}
