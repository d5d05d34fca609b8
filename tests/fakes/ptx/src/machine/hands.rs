//! What an instruction can reach besides its warp.

use super::shared::Shared;
use crate::fault::{Done, FaultKind, Trouble};
use crate::memory::Memory;
use crate::program::Program;

/// The block's and the device's state in the hands of a warp.
pub(super) struct Hands<'a> {
    pub(super) program: &'a Program,
    pub(super) params: &'a [u8],
    pub(super) memory: &'a mut Memory,
    pub(super) shared: &'a mut Shared,
    /// Instructions done in the launch, and how many may be.
    pub(super) done: u64,
    pub(super) most: u64,
    /// Whether the launch in front has ended.
    pub(super) predecessor_ended: bool,
    /// Blocks of the cluster that let the launch behind start, a bit for each.
    pub(super) let_go: u32,
}

impl Hands<'_> {
    #[inline]
    pub(super) fn count(&mut self) -> Done {
        self.done += 1;
        if self.done > self.most {
            return Err(Trouble::new(
                FaultKind::Limit,
                format!("still running after {} instructions", self.most),
            ));
        }
        Ok(())
    }
}
