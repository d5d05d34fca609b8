//! Metrics before they are text.

/// What the server that asks does with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Gauge,
    Counter,
    Info,
}

/// One value with what tells it from others of its family.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: f64,
}

/// Values of one meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) unit: &'static str,
    pub(super) help: String,
    pub(super) samples: Vec<Sample>,
}
