//! Newtypes for every unit a reading can have, so that watts cannot meet degrees.

use serde::{Deserialize, Serialize};

/// A value a [`crate::Field`] can print and, where it is one, give as a number.
pub trait Scalar {
    /// Unit as printed after the number; empty for counts and text.
    const UNIT: &'static str = "";
    /// The value as a number; `None` for text.
    fn number(&self) -> Option<f64>;
    /// The value as text, without unit.
    fn text(&self) -> String;
}

macro_rules! units {
    ($($(#[$meta:meta])* $name:ident($repr:ty), $unit:literal, $format:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl Scalar for $name {
            const UNIT: &'static str = $unit;
            fn number(&self) -> Option<f64> { Some(self.0 as f64) }
            fn text(&self) -> String { format!($format, self.0) }
        }
    )*};
}

units! {
    /// Share of a whole, 0–100.
    Percent(f32), "%", "{:.0}";
    /// Bytes.
    Bytes(u64), "B", "{}";
    /// Degrees Celsius.
    Celsius(f32), "°C", "{:.0}";
    /// Degrees to the temperature limit of a board (T.Limit): no temperature, and below zero beyond it.
    TLimit(i32), "°C T.Limit", "{}";
    /// Watts.
    Watts(f64), "W", "{:.1}";
    /// Joules since the driver was loaded.
    Joules(f64), "J", "{:.0}";
    /// Megahertz.
    MegaHertz(u32), "MHz", "{}";
    /// Bytes per second.
    BytesPerSecond(f64), "B/s", "{:.0}";
    /// Seconds.
    Seconds(f64), "s", "{:.1}";
    /// Bits, as of a bus width.
    Bits(u32), "bit", "{}";
    /// Revolutions per minute.
    Rpm(u32), "rpm", "{}";
}

macro_rules! counts {
    ($($ty:ty),*) => {$(
        impl Scalar for $ty {
            fn number(&self) -> Option<f64> { Some(*self as f64) }
            fn text(&self) -> String { self.to_string() }
        }
    )*};
}

counts!(u8, u16, u32, u64, f32, f64);

impl Scalar for bool {
    fn number(&self) -> Option<f64> {
        Some(f64::from(u8::from(*self)))
    }

    fn text(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

impl Scalar for String {
    fn number(&self) -> Option<f64> {
        None
    }

    fn text(&self) -> String {
        self.clone()
    }
}

impl Scalar for warpscope_kernels::Sm {
    fn number(&self) -> Option<f64> {
        None
    }

    fn text(&self) -> String {
        self.to_string()
    }
}
