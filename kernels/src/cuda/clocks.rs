//! Clocks of the multiprocessors around a sample: a small kernel in front of it and one behind it, and where they write.

use std::rc::Rc;

use super::context::{Block, Context, Stream};
use crate::gpu::family::clock::{clock_bytes, hold, mean_mhz, read_clocks};
use crate::gpu::{Arg, DeviceFacts, Launch, MachineError, Nanoseconds};

/// A place for two reads. It is no part of what a machine may allocate for others: a few kilobytes, as long as the machine lives.
pub(super) struct Clocks {
    block: Block,
    /// Of one read.
    bytes: usize,
}

impl Clocks {
    pub(super) fn new(context: &Rc<Context>, facts: &DeviceFacts) -> Result<Self, MachineError> {
        let bytes = clock_bytes(facts);
        Ok(Self { block: Block::new(context, 2 * bytes)?, bytes })
    }

    /// The launches in front of a sample and behind it.
    pub(super) fn launches(&self, facts: &DeviceFacts) -> [Launch; 2] {
        [0, self.bytes].map(|from| read_clocks(facts, Arg::U64(self.block.address() + from as u64)))
    }

    /// The launch that keeps a device busy while the host enqueues what is timed, where nothing that is timed can.
    pub(super) fn hold(&self) -> Launch {
        hold(Arg::U64(self.block.address()))
    }

    /// What both said, once the stream has come to its end: the clock between them, MHz.
    pub(super) fn between(
        &self,
        stream: &Stream,
        sample: Nanoseconds,
    ) -> Result<Option<f64>, MachineError> {
        let mut both = vec![0; 2 * self.bytes];
        stream.copy_out(self.block.address(), &mut both)?;
        let (before, behind) = both.split_at(self.bytes);
        Ok(mean_mhz(before, behind, sample))
    }
}
