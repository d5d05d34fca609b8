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

impl Shape {
    /// Refuses a size that a kernel does not have: it would be told as if it counted.
    pub(crate) fn only(self, has: &[&str]) -> Result<Self, String> {
        let Self { m, n, k, group, context } = self;
        let all = [("m", m), ("n", n), ("k", k), ("group", group), ("context", context)];
        match all.iter().find(|(name, size)| *size > 0 && !has.contains(name)) {
            Some((name, size)) => Err(format!("it has no {name}; give 0 instead of {size}")),
            None => Ok(self),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}
