//! Contexts: made, current to a thread, destroyed with all they own.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::codes::{
    DEVICE_UNAVAILABLE, INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, UNSUPPORTED_LIMIT,
};
use crate::driver::{Answer, Driver, stack};
use crate::faults::Place;
use crate::scenario::ComputeMode;
use crate::table::Handle;

/// A context.
pub(crate) struct Context {
    /// Number of its board.
    pub(crate) board: usize,
    pub(crate) flags: u32,
    /// Limits that were set, by `CUlimit`.
    limits: BTreeMap<u32, usize>,
}

/// The context a board shares among all who retain it.
#[derive(Default)]
pub(crate) struct Primary {
    pub(crate) context: Option<usize>,
    pub(crate) flags: u32,
    retained: u32,
}

/// Limits by `CUlimit`, and what they are until set: stack, printf buffer, heap; as the CUDA documentation of `cuCtxGetLimit` lists them.
const LIMITS: &[(u32, usize)] = &[(0, 1024), (1, 1 << 20), (2, 8 << 20), (5, 64), (6, 0)];

impl Driver {
    /// Makes a context, and takes the memory it needs.
    pub(crate) fn make_context(&mut self, device: c_int, flags: u32) -> Result<Handle, u32> {
        self.board(device)?;
        self.pass(&Place::Context)?;
        if self.scenario.mode != ComputeMode::Default {
            return Err(DEVICE_UNAVAILABLE);
        }
        let board = self.board(device)?;
        board.broken.map_or(Ok(()), Err)?;
        board.memory.open_context().ok_or(OUT_OF_MEMORY)?;
        let context = Context { board: device as usize, flags, limits: BTreeMap::new() };
        Ok(self.contexts.insert(context))
    }

    /// Ends a context and everything in it. Memory it still had is named if the scenario says so.
    pub(crate) fn end_context(&mut self, context: Handle) -> Answer {
        let ended = self.contexts.remove(context).map_err(|_| INVALID_CONTEXT)?;
        let leaks = self.boards[ended.board].memory.close_context(context.addr());
        if self.scenario.leaks {
            for (address, bytes) in leaks {
                eprintln!(
                    "stand-in CUDA: leak on device {}: {bytes} bytes at {address:#x} were never freed",
                    ended.board
                );
            }
        }
        self.modules.retain(|module| module.context != context.addr());
        self.functions.retain(|function| function.context != context.addr());
        self.streams.retain(|stream| stream.context != context.addr());
        self.events.retain(|event| event.context != context.addr());
        stack(|stack| stack.pop_if(|top| *top == context.addr()));
        Ok(())
    }

    /// The primary context, made at the first call.
    pub(crate) fn retain_primary(&mut self, device: c_int) -> Result<Handle, u32> {
        let primary = &self.board(device)?.primary;
        let (context, flags) = (primary.context, primary.flags);
        let context = match context {
            Some(context) => std::ptr::without_provenance_mut(context),
            None => self.make_context(device, flags)?,
        };
        let primary = &mut self.board(device)?.primary;
        primary.context = Some(context.addr());
        primary.retained += 1;
        Ok(context)
    }

    /// Gives the primary context back; with `all`, whoever else retains it.
    pub(crate) fn release_primary(&mut self, device: c_int, all: bool) -> Answer {
        let primary = &mut self.board(device)?.primary;
        let Some(context) = primary.context else {
            return if all { Ok(()) } else { Err(INVALID_CONTEXT) };
        };
        primary.retained = if all { 0 } else { primary.retained - 1 };
        if primary.retained > 0 {
            return Ok(());
        }
        primary.context = None;
        self.end_context(std::ptr::without_provenance_mut(context))
    }

    /// Makes a context current to the thread in place of the one that is; null leaves none.
    pub(crate) fn set_current(&mut self, context: Handle) -> Answer {
        if !context.is_null() {
            self.contexts.get(context).map_err(|_| INVALID_CONTEXT)?;
        }
        stack(|stack| {
            stack.pop();
            stack.extend(Some(context.addr()).filter(|address| *address != 0));
        });
        Ok(())
    }

    /// Makes a context current on top of those there are.
    pub(crate) fn push_current(&mut self, context: Handle) -> Answer {
        self.contexts.get(context).map_err(|_| INVALID_CONTEXT)?;
        stack(|stack| stack.push(context.addr()));
        Ok(())
    }

    /// A limit of the current context.
    pub(crate) fn limit(&mut self, limit: u32) -> Result<&mut usize, u32> {
        let (context, _) = self.current()?;
        let default = LIMITS.iter().find(|known| known.0 == limit);
        let default = default.ok_or(UNSUPPORTED_LIMIT)?.1;
        let context = self.contexts.get_mut(context).map_err(|_| INVALID_VALUE)?;
        Ok(context.limits.entry(limit).or_insert(default))
    }
}
