//! A frame as metrics for Prometheus: base units, one family for each reading, every GPU a series.
//!
//! Both text forms are written here, sixty lines in all: the crates for it keep counters of a program and print only OpenMetrics, while a
//! frame is read once and old servers and `promtool check metrics` take the plain form.

mod families;
mod text;

use warpscope_probes::Frame;

pub use self::text::Form;

/// What is told beside the readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extras {
    /// How many configurations have each outcome, by the place of the GPU in the frame.
    pub verdicts: Vec<Vec<(&'static str, usize)>>,
    /// Whether GPU memory is told by user.
    pub users: bool,
}

/// All metrics of a frame as text.
pub fn exposition(frame: &Frame, extras: &Extras, form: Form) -> String {
    text::write(&families::all(frame, extras), form)
}

/// What the server that asks does with values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
    Info,
}

/// One value with what tells it from others of its family.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    labels: Vec<(&'static str, String)>,
    value: f64,
}

/// Values of one meaning.
#[derive(Clone, Debug, PartialEq)]
struct Family {
    name: String,
    kind: Kind,
    unit: &'static str,
    help: String,
    samples: Vec<Sample>,
}

#[cfg(test)]
mod tests;
