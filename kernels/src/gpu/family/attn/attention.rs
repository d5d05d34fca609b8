//! What attention reads and writes, and what computes it.

use crate::Sm;
use crate::gpu::family::elementwise::{Heads, State};
use crate::gpu::{Element, Slot};

/// Threads of a block.
pub(super) const THREADS: u32 = 128;

/// What attention reads and writes, and how heads share the cache.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Queries, `[tokens, heads, head]`; the first is at the state's position.
    pub q: Slot,
    /// Cached keys, `[positions, kv heads, head]`, those of the queries included.
    pub keys: Slot,
    /// Cached values.
    pub values: Slot,
    /// Result, as the queries.
    pub out: Slot,
    /// Where the position is.
    pub state: State,
    /// Heads, of `HEAD`.
    pub heads: Heads,
    /// Factor on the products of queries and keys: 1/√head, and less where they carry a gain.
    pub scale: f32,
}

/// What computes the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// fp32 arithmetic, whatever the storage.
    Plain,
    /// Tensor cores: fp16 since sm_70, bf16 since sm_80.
    Cores,
}

impl Engine {
    /// The best there is for many queries of a format on a device.
    pub fn best(sm: Sm, element: Element) -> Self {
        let since = match element {
            Element::F16 => (7, 0),
            Element::Bf16 => (8, 0),
            _ => return Self::Plain,
        };
        if (sm.major, sm.minor) >= since { Self::Cores } else { Self::Plain }
    }
}

/// Width of a head; there are kernels for no other.
pub(super) const HEAD: u32 = 128;

/// Why there is no kernel for some heads, where there is none.
pub(super) fn check(heads: Heads) -> Result<(), String> {
    let Heads { heads, kv_heads, head } = heads;
    if kv_heads == 0 || heads % kv_heads != 0 {
        return Err(format!("{heads} query heads cannot share {kv_heads} kv heads"));
    }
    if head == HEAD {
        return Ok(());
    }
    Err(format!("heads of {head}; there are kernels for {HEAD}"))
}
