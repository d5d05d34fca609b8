//! What a kernel did wrong, and where.

use std::fmt;

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An address that belongs to nobody, or may not be written.
    Bounds,
    /// An address that is no multiple of the size of the access.
    Misaligned,
    /// Two accesses to shared memory, one a write, that nothing orders.
    Race,
    /// A read of shared memory that nobody wrote.
    Uninitialised,
    /// An access to shared memory that an asynchronous copy is still on its way to.
    InFlight,
    /// A barrier that not all its threads reach.
    Barrier,
    /// An instruction for lanes of a warp that not all of them execute.
    Divergence,
    /// More instructions than the launch was allowed.
    Limit,
    /// `trap`
    Trap,
    /// A launch that no driver would take: sizes, parameters, an entry that is not there.
    Launch,
}

/// A fault: what, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// What happened, in a sentence.
    pub what: String,
    /// The kernel.
    pub entry: String,
    /// Line of the PTX, from 1; 0 where it is no line's fault.
    pub line: u32,
    /// The block.
    pub block: [u32; 3],
    /// The thread, or one of those it happened to.
    pub thread: Option<[u32; 3]>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entry)?;
        if self.line > 0 {
            let [x, y, z] = self.block;
            write!(f, ", PTX line {}, block ({x},{y},{z})", self.line)?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x},{y},{z})")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for Fault {}

/// A fault whose place is not known yet, but perhaps the lane.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) kind: FaultKind,
    pub(crate) lane: Option<u32>,
    pub(crate) what: String,
}

impl Trouble {
    pub(crate) fn new(kind: FaultKind, what: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, lane: None, what: what.into() })
    }

    pub(crate) fn at(kind: FaultKind, lane: usize, what: impl Into<String>) -> Box<Self> {
        Box::new(Self { kind, lane: Some(lane as u32), what: what.into() })
    }
}

/// What an instruction gives.
pub(crate) type Done<T = ()> = Result<T, Box<Trouble>>;
