//! How much of a binary runs on a GPU.

use serde::{Deserialize, Serialize};

/// Containers of a binary on one GPU. A container is about one translation unit, so a binary can run in part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Coverage {
    /// Containers with machine code the GPU loads.
    pub cubin: u32,
    /// Containers the driver would have to compile from PTX.
    pub jit: u32,
    /// Containers with nothing for this GPU.
    pub none: u32,
}

impl Coverage {
    /// Containers in all.
    pub fn total(self) -> u32 {
        self.cubin + self.jit + self.none
    }
}
