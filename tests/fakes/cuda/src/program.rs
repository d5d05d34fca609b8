//! What runs: PTX, in the interpreter. A cubin that is one of warpscope's own runs as the PTX it was assembled from; of
//! another one only the names are known, and a launch of it is refused.

use ptx_interpreter::{Fault, FaultKind, Limits, Module};
use warpscope_kernels::image::by_bytes;

use crate::codes::{
    ILLEGAL_ADDRESS, INVALID_VALUE, LAUNCH_FAILED, LAUNCH_TIMEOUT, MISALIGNED_ADDRESS,
};
use crate::image::Cubin;
use crate::launch::Launch;

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// Shared memory it always has.
    pub(crate) shared_bytes: u32,
    /// Local memory of a thread.
    pub(crate) local_bytes: u32,
    /// Most threads of a block, if it says so.
    pub(crate) threads: Option<u32>,
}

/// Where a parameter lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// A loaded program.
pub(crate) enum Program {
    /// PTX that the interpreter runs.
    Runs(Module),
    /// Names, and why nothing runs.
    Named {
        /// Entry points.
        names: Vec<String>,
        /// Why, in a sentence.
        why: String,
    },
}

impl Program {
    /// PTX as a program handed it over. What the interpreter does not read is taken for invalid, unless it is one of
    /// warpscope's own images, which an assembler has accepted.
    pub(crate) fn of_ptx(text: &str) -> Result<Self, String> {
        match Module::parse(text) {
            Ok(module) => Ok(Self::Runs(module)),
            Err(error) => {
                let own = by_bytes(text.as_bytes()).ok_or_else(|| error.to_string())?;
                let names = own.entries.iter().map(|entry| entry.name.to_owned()).collect();
                Ok(Self::Named { names, why: format!("the interpreter does not run it: {error}") })
            }
        }
    }

    /// A cubin.
    pub(crate) fn of_cubin(cubin: &Cubin, bytes: &[u8]) -> Self {
        let source = by_bytes(bytes).and_then(|image| image.source()?.text());
        let why = match source.as_deref().map(Module::parse) {
            Some(Ok(module)) => return Self::Runs(module),
            Some(Err(error)) => format!("the interpreter does not run its PTX: {error}"),
            None => "no PTX is known for this cubin".to_owned(),
        };
        Self::Named { names: cubin.kernels.iter().map(|it| it.name.clone()).collect(), why }
    }

    /// An entry point by name. Of one that does not run, nothing but the name is known.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        let module = match self {
            Self::Runs(module) => module,
            Self::Named { names, .. } => {
                return names.iter().any(|known| known == name).then(|| Entry {
                    name: name.to_owned(),
                    params: Vec::new(),
                    shared_bytes: 0,
                    local_bytes: 0,
                    threads: None,
                });
            }
        };
        let found = module.entry(name)?;
        let offsets = found.param_offsets().0;
        let param = |(offset, param): (u32, &ptx_interpreter::Param)| Param {
            offset: offset as usize,
            size: param.bytes as usize,
        };
        let threads = found.required_threads.or(found.max_threads);
        Some(Entry {
            name: name.to_owned(),
            params: offsets.into_iter().zip(&found.params).map(param).collect(),
            shared_bytes: found.static_shared,
            local_bytes: found.local_bytes,
            threads: threads.map(|sizes| sizes.iter().product()),
        })
    }

    /// The module, or why there is none.
    pub(crate) fn module(&self) -> Result<&Module, &str> {
        match self {
            Self::Runs(module) => Ok(module),
            Self::Named { why, .. } => Err(why),
        }
    }
}

/// Runs a launch, and says how many instructions of warps that took.
pub(crate) fn run(
    module: &Module,
    name: &str,
    launch: &Launch,
    memory: &mut ptx_interpreter::Memory,
    limits: Limits,
) -> Result<u64, Fault> {
    let Launch { grid, block, shared, ref params, .. } = *launch;
    ptx_interpreter::launch(module, name, grid, block, shared, params, memory, limits)
        .map(|outcome| outcome.instructions)
}

/// What hardware makes of a fault, and whether it ends the context. What no hardware notices, as a race, ends it too.
pub(crate) fn status(kind: FaultKind) -> (u32, bool) {
    match kind {
        FaultKind::Bounds => (ILLEGAL_ADDRESS, true),
        FaultKind::Misaligned => (MISALIGNED_ADDRESS, true),
        FaultKind::Limit => (LAUNCH_TIMEOUT, true),
        FaultKind::Launch => (INVALID_VALUE, false),
        FaultKind::Race
        | FaultKind::Uninitialised
        | FaultKind::InFlight
        | FaultKind::Barrier
        | FaultKind::Divergence
        | FaultKind::Trap => (LAUNCH_FAILED, true),
    }
}
