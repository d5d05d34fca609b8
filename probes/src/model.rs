//! A model as its files describe it: what a question needs to know, read without loading a weight.

use crate::rules::Settings;

/// One model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// Name for the screen: the folder's or the file's.
    pub name: String,
    /// What it says of a configuration: `model_type`, `checkpoint_dtype`, `quantization`, `head_dim`.
    pub settings: Settings,
    /// Bytes of the weights, where the files tell.
    pub weight_bytes: Option<u64>,
}
