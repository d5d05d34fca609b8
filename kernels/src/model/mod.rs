//! M0, the micro decoder that shows what a number format does to a language model.
//!
//! Four sandwich-norm layers whose weights lie on a 4-bit grid: every format holds the very same real numbers, so one fp64
//! reference grades all of them and every difference is arithmetic. Trained weights were rejected: they would have
//! to be shipped, and rounding them to 4 bits would mix quantisation into the comparison.

mod decoder;
mod golden;
mod grid;
mod health;
mod layers;
pub mod oracle;
mod shape;
mod vocab;

pub use decoder::{Decoder, argmax};
pub use golden::{Golden, GoldenStep, ParseGoldenError, error_limit, golden, golden_of};
pub(crate) use grid::hash;
pub use grid::{GROUP, Grid, Pattern};
pub use health::{Health, OPS, Op, Place};
pub use layers::{Layer, Model};
pub(crate) use oracle::attend;
pub(crate) use shape::{EPSILON, MATRICES, NORMS};
pub use shape::{
    LIVE_PROFILES, LayerTensor, M0, M1, PROFILES, Profile, Shape, TensorId, prompt, seeded_prompt,
};
pub use vocab::{piece, text};
