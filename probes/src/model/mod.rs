//! A model as its files describe it: what a question needs to know, read without loading a weight.
//!
//! Each format has a parser over bytes that names no file; `read.rs` is the edge that opens them. Files come from strangers: a length
//! is compared with what is there before it is believed, and nothing is allocated because a file claims to be large. Crates for
//! safetensors and GGUF were rejected: they map whole files, and what is asked of them here is a sum of sizes and four words.

mod architecture;
mod config;
mod error;
mod fetch;
mod find;
mod fit;
mod folder;
mod ggml;
mod gguf;
mod index;
mod known;
mod packing;
mod quantization;
mod read;
mod roles;
mod safetensors;
mod shape;

use crate::rules::Settings;

pub use error::ModelError;
pub use fetch::Hub;
pub use find::{Listed, NotFound, Places, find};
pub use quantization::{QUANTIZATIONS, Quantization, WeightFormat};
pub use shape::{
    Attention, EXL_HEAD_BITS, LayerRun, Mlp, Shape, ShapeSource, WeightGroup, WeightRole,
};

/// One model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Name for the screen: the folder's or the file's.
    pub name: String,
    /// What it says of a configuration: `model_type`, `checkpoint_dtype`, `quantization`, `head_dim`.
    pub settings: Settings,
    /// Bytes of the weights, where the files tell.
    pub weight_bytes: Option<u64>,
    /// Its dimensions, where enough of them is known to plan memory.
    pub shape: Option<Shape>,
    /// What else was read of it, for people: a name and a phrase.
    pub details: Vec<(&'static str, String)>,
}

/// What a parser found, before the model has a name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Facts {
    settings: Settings,
    weight_bytes: Option<u64>,
    shape: Option<Shape>,
    details: Vec<(&'static str, String)>,
}

impl Facts {
    /// Sets a key where the value is one the key can have. A word nobody could write in a rule decides nothing.
    fn set(&mut self, key: &str, value: &str) {
        // A value that its key refuses is left out, not an error: the model is still readable.
        let _ = self.settings.set(key, value);
    }

    fn detail(&mut self, name: &'static str, phrase: impl Into<String>) {
        self.details.push((name, phrase.into()));
    }
}
