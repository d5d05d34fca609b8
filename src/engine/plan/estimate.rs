//! Amounts that are known to a range.

use std::ops::{Add, Mul};

use serde::Serialize;
use warpscope_probes::model::ShapeSource;

/// One GiB, in bytes.
pub(super) const GIB: f64 = (1_u64 << 30) as f64;
/// One MiB, in bytes.
pub(super) const MIB: f64 = (1_u64 << 20) as f64;

/// An amount with its error bar. Bytes, where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Range {
    /// The least it may be.
    pub low: f64,
    /// What is expected.
    pub mid: f64,
    /// The most it may be.
    pub high: f64,
}

impl Range {
    /// An amount that is known.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, mid: value, high: value }
    }

    /// Three GiB figures.
    pub const fn gib(low: f64, mid: f64, high: f64) -> Self {
        Self { low: low * GIB, mid: mid * GIB, high: high * GIB }
    }

    /// Around a value, by a relative error on both sides.
    pub fn within(value: f64, error: f64) -> Self {
        Self { low: value * (1.0 - error), mid: value, high: value * (1.0 + error) }
    }

    /// The same with more room above and below.
    pub fn widened(self, below: f64, above: f64) -> Self {
        Self { low: (self.low - below).max(0.0), mid: self.mid, high: self.high + above }
    }

    /// What is left of `of` after this: the ends change places.
    pub fn taken_from(self, of: f64) -> Self {
        Self { low: of - self.high, mid: of - self.mid, high: of - self.low }
    }

    /// Whether a measurement lies in it.
    pub fn holds(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The sum of amounts whose errors have nothing to do with each other: the middles add up, and the ends as the roots of squares.
pub fn independent(parts: impl IntoIterator<Item = Range>) -> Range {
    let (mut mid, mut below, mut above) = (0.0, 0.0, 0.0);
    for part in parts {
        mid += part.mid;
        below += (part.mid - part.low).powi(2);
        above += (part.high - part.mid).powi(2);
    }
    Range { low: mid - below.sqrt(), mid, high: mid + above.sqrt() }
}

impl Add for Range {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { low: self.low + other.low, mid: self.mid + other.mid, high: self.high + other.high }
    }
}

impl Mul<f64> for Range {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self { low: self.low * factor, mid: self.mid * factor, high: self.high * factor }
    }
}

impl std::iter::Sum for Range {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// One part of the memory a model takes on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// How much.
    #[serde(flatten)]
    pub bytes: Range,
    /// Where it comes from: `header`, `config`, `table`, `rule`, `guess`.
    pub source: &'static str,
}

impl Estimate {
    /// By a rule of the framework.
    pub const fn rule(bytes: Range) -> Self {
        Self { bytes, source: "rule" }
    }

    /// By a constant that nobody publishes for this framework.
    pub const fn guess(bytes: Range) -> Self {
        Self { bytes, source: "guess" }
    }

    /// By the dimensions of a model.
    pub fn of_model(bytes: Range, source: ShapeSource) -> Self {
        let source = match source {
            ShapeSource::Header => "header",
            ShapeSource::Config => "config",
            ShapeSource::Table => "table",
            ShapeSource::Nearest => "guess",
        };
        Self { bytes, source }
    }
}

/// `12.8` GiB of bytes.
pub fn gib(bytes: f64) -> String {
    format!("{:.1}", bytes / GIB)
}
