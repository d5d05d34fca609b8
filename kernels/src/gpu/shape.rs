use serde::{Deserialize, Serialize};

/// Size of a problem. What a kernel does not have is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shape {
    /// Rows of the output: tokens.
    pub m: u32,
    /// Columns of the output: output channels.
    pub n: u32,
    /// Inner dimension: input channels.
    pub k: u32,
    /// Weights that share a scale.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub group: u32,
    /// Tokens in the key/value cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub context: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}
