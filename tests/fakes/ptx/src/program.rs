//! A kernel ready to run: every name resolved, every operand a register number.
//!
//! Immediates, addresses and special registers are registers too, filled when a block starts, so that running an
//! instruction never asks what kind its operands are.

use std::sync::atomic::AtomicBool;

use crate::lanes::Lanes;
use crate::numerics::convert::Conversion;
use crate::parse::syntax::Space;

/// Number of a register in its file. Constants follow the registers.
pub(crate) type Reg = u16;

/// The predicate that always holds.
pub(crate) const ALWAYS: Reg = 0;
/// The predicate register of the carry flag.
pub(crate) const CARRY: Reg = 1;

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub(crate) op: Op,
    pub(crate) kind: Kind,
    /// Predicate that guards it.
    pub(crate) guard: Reg,
    /// All ones where the guard is negated.
    pub(crate) flip: u32,
    pub(crate) line: u32,
}

/// How lanes go through an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Each for itself, on to the next.
    Alone,
    /// Together with lanes it names.
    Together,
    /// Perhaps elsewhere.
    Control,
    /// Each for itself, when something has happened.
    Waiting,
    /// Together with the other warps of their warpgroup.
    Group,
}

/// A number in a register of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// 32-bit file.
    Word(Reg),
    /// 64-bit file.
    Long(Reg),
}

/// A memory element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    /// Sign-extended where the register is wider.
    pub(crate) signed: bool,
}

/// An address operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Place,
    pub(crate) offset: i64,
}

/// What `ftz` and `sat` do to binary32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Adjust {
    /// Subnormal operands become zero.
    pub(crate) operands: bool,
    /// Subnormal results do.
    pub(crate) result: bool,
    /// The result is clamped to [0, 1].
    pub(crate) saturate: bool,
}

/// A load or a store.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    pub(crate) element: Element,
    /// Registers, one for each element; `None` where `_` throws it away.
    pub(crate) places: Vec<Option<Place>>,
    /// Bits of the registers, for sign extension.
    pub(crate) bits: u32,
    /// Volatile or stronger: no race with its like.
    pub(crate) strong: bool,
}

/// What an atomic does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Atom {
    Add,
    Min,
    Max,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
    Increment,
    Decrement,
    AddF32,
    AddF64,
    /// Two 16-bit floats, or one in the low half.
    Add16(Lanes),
}

/// An atomic access.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) address: Address,
    pub(crate) kind: Atom,
    pub(crate) bytes: u8,
    pub(crate) old: Option<Place>,
    pub(crate) operand: Place,
    pub(crate) second: Option<Place>,
}

/// Logic of predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// A predicate and whether it is negated (all ones).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) predicate: Reg,
    pub(crate) flip: u32,
}

/// How lanes are chosen by a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What a vote asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What a barrier does besides waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// Waits.
    Sync,
    /// Does not wait.
    Arrive,
    /// Counts the threads whose predicate holds.
    Count(Reg, Test),
    /// Whether it holds for all.
    And(Reg, Test),
    /// Whether it holds for any.
    Or(Reg, Test),
}

/// Add or subtract with the carry flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) subtract: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// A copy from device to shared memory that lands when it is waited for.
#[derive(Clone, Debug)]
pub(crate) struct AsyncCopy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: u8,
    /// Bytes to read; zeros behind.
    pub(crate) source_bytes: Option<Reg>,
    /// Reads nothing where this holds.
    pub(crate) ignore: Option<Test>,
}

/// A matrix product and its fragments, in words.
#[derive(Clone, Debug)]
pub(crate) struct MatrixProduct {
    pub(crate) form: &'static crate::numerics::mma::Mma,
    pub(crate) a: Vec<Reg>,
    pub(crate) b: Vec<Reg>,
    pub(crate) c: Vec<Reg>,
    pub(crate) d: Vec<Reg>,
}

/// What is done to an `mbarrier`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BarrierAct {
    Init(Reg),
    Invalidate,
    /// Arrivals, bytes announced before, and where the state goes.
    Arrive {
        count: Reg,
        bytes: Reg,
        state: Option<Reg>,
    },
    /// Bytes announced.
    Expect(Reg),
    /// Bytes said to have come.
    Complete(Reg),
    /// The thread's asynchronous copies so far arrive; whether the arrival is counted beside the others.
    ArriveCopies {
        counted: bool,
    },
}

/// `mbarrier.test_wait` and `try_wait`: the predicate, and a parity or a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarrierWait {
    pub(crate) address: Address,
    pub(crate) d: Reg,
    pub(crate) parity: Option<Reg>,
    pub(crate) state: Option<Reg>,
}

/// What a bulk copy moves on the side of device memory.
#[derive(Clone, Debug)]
pub(crate) enum BulkPart {
    /// So many bytes at an address.
    Bytes(Address, Reg),
    /// The tile of a tensor map at a column and a row.
    Tile(Address, [Reg; 2]),
}

/// `cp.async.bulk`: either way.
#[derive(Clone, Debug)]
pub(crate) struct BulkCopy {
    pub(crate) part: BulkPart,
    pub(crate) shared: Address,
    /// Of a load: the `mbarrier` that counts its bytes. A store has none.
    pub(crate) barrier: Option<Address>,
    /// Of a load: the blocks of the cluster it goes to.
    pub(crate) blocks: Option<Reg>,
}

/// Where a warpgroup's matrix A is.
#[derive(Clone, Debug)]
pub(crate) enum MatrixA {
    Registers(Vec<Reg>),
    /// In shared memory, where a descriptor says, and whether columns lie together.
    Shared(Reg, bool),
}

/// `wgmma.mma_async`
#[derive(Clone, Debug)]
pub(crate) struct GroupProduct {
    pub(crate) form: &'static crate::numerics::mma::GroupMma,
    pub(crate) columns: usize,
    pub(crate) d: Vec<Reg>,
    pub(crate) a: MatrixA,
    /// Descriptor, and whether columns of the product lie together.
    pub(crate) b: (Reg, bool),
    /// Whether it adds to what is in the accumulators.
    pub(crate) adds: Test,
    pub(crate) negate: bool,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Lanes do not see each other: function, destination, sources.
    Lanes(Lanes, Reg, [Reg; 4]),
    /// The same, with binary32 operands or results changed.
    Adjusted {
        f: Lanes,
        d: Reg,
        s: [Reg; 4],
        adjust: Adjust,
    },
    /// `cvt` in all its other forms; bits of the destination register.
    Convert {
        d: Place,
        a: Place,
        conversion: Box<Conversion>,
        bits: u32,
    },
    /// `setp`: comparison, destination, destination of the complement, sources, other predicate.
    Compare {
        f: Lanes,
        flush: bool,
        d: Reg,
        complement: Option<Reg>,
        s: [Reg; 2],
        with: Option<(Logic, Test)>,
    },
    /// Predicate logic.
    Predicate {
        logic: Logic,
        d: Reg,
        a: Test,
        b: Test,
    },
    /// `selp`
    Select {
        d: Place,
        a: Place,
        b: Place,
        test: Test,
    },
    /// `slct`: a where c is not negative.
    SelectSign {
        d: Place,
        a: Place,
        b: Place,
        c: Reg,
        float: bool,
    },
    /// `set`: a value for true where the predicate register holds, else 0.
    Spread {
        d: Reg,
        yes: u32,
        test: Test,
    },
    /// Carry arithmetic of 32 bits.
    Carry32(Carry, Reg, [Reg; 2]),
    /// Carry arithmetic of 64 bits.
    Carry64(Carry, Reg, [Reg; 2]),
    /// `mov d, {…}`: parts of so many bits, lowest first.
    Pack {
        d: Place,
        parts: Vec<Place>,
        bits: u32,
    },
    /// `mov {…}, a`
    Unpack {
        parts: Vec<Option<Place>>,
        a: Place,
        bits: u32,
    },
    /// Instructions executed so far, as a clock.
    Clock {
        d: Place,
        shift: u32,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    AsyncCopy(Box<AsyncCopy>),
    AsyncCommit,
    /// Waits until at most so many groups are on their way; `None`: for all, committed or not.
    AsyncWait(Option<u32>),
    /// `ldmatrix`: registers, transposed.
    LoadMatrix {
        d: Vec<Reg>,
        transposed: bool,
        address: Address,
    },
    /// `stmatrix`
    StoreMatrix {
        s: Vec<Reg>,
        transposed: bool,
        address: Address,
    },
    /// `movmatrix`
    Transpose {
        d: Reg,
        a: Reg,
    },
    MatrixProduct(Box<MatrixProduct>),
    /// `isspacep`
    IsSpace {
        d: Reg,
        a: Reg,
        space: Space,
    },
    Branch(u32),
    /// `brx.idx`
    BranchIndexed(Reg, Vec<u32>),
    /// Target, and the register that keeps the way back.
    Call(u32, Reg),
    /// Back to where the register says.
    Return(Reg),
    Exit,
    Trap,
    Barrier {
        id: Reg,
        threads: Option<Reg>,
        kind: BarrierKind,
    },
    WarpSync(Reg),
    Shuffle {
        mode: Shuffle,
        d: Reg,
        found: Option<Reg>,
        s: [Reg; 3],
        mask: Reg,
    },
    Vote {
        kind: Vote,
        d: Reg,
        test: Test,
        mask: Reg,
    },
    /// `match.any`
    MatchAny {
        d: Reg,
        a: Place,
        mask: Reg,
    },
    /// `match.all`
    MatchAll {
        d: Reg,
        found: Option<Reg>,
        a: Place,
        mask: Reg,
    },
    /// `redux`: reduction of the masked lanes.
    Reduce {
        f: fn(u32, u32) -> u32,
        d: Reg,
        a: Reg,
        mask: Reg,
    },
    ActiveMask(Reg),
    /// `elect`
    Elect {
        d: Option<Reg>,
        chosen: Reg,
        mask: Reg,
    },
    MBarrier(Address, BarrierAct),
    MBarrierWait(Box<BarrierWait>),
    /// Whether it orders nothing.
    ClusterArrive(bool),
    ClusterWait,
    /// Makes writes known to the asynchronous proxy.
    FenceProxy,
    /// Makes `mbarrier`s known to it and to the cluster.
    FenceBarriers,
    BulkCopy(Box<BulkCopy>),
    /// `cp.async.bulk.prefetch.L2`
    BulkPrefetch(Box<BulkPart>),
    BulkCommit,
    /// Waits until at most so many groups are on their way.
    BulkWait(u32),
    /// `mapa`: whether addresses are generic.
    MapAddress {
        d: Place,
        a: Place,
        rank: Reg,
        generic: bool,
    },
    GroupProduct(Box<GroupProduct>),
    GroupFence,
    GroupCommit,
    GroupWait(u32),
    /// `setmaxnreg`
    SetRegisters,
    /// `griddepcontrol.wait`
    AwaitPredecessor,
    /// `griddepcontrol.launch_dependents`
    LetSuccessorStart,
    /// Changes nothing here: fences, hints.
    Nothing,
}

/// Where a constant register's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Word(u32),
    Long(u64),
    /// Address of a module variable.
    Address(u32),
    /// Where dynamic shared memory begins.
    Dynamic,
}

/// Registers the machine fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// Thread in its block, by axis.
    Thread(u8),
    /// Threads of a block.
    Threads(u8),
    /// Block in its grid.
    Block(u8),
    /// Blocks of the grid.
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    /// Lanes equal, below, up to, above, from this one on.
    MaskEqual,
    MaskBelow,
    MaskUpTo,
    MaskAbove,
    MaskFrom,
    Multiprocessor,
    Multiprocessors,
    Zero,
    DynamicShared,
    TotalShared,
    /// Block in its cluster.
    InCluster(u8),
    /// Blocks of the cluster.
    Cluster(u8),
    /// Cluster in the grid.
    ClusterAt(u8),
    /// Clusters of the grid.
    Clusters(u8),
    /// Number of the block in its cluster.
    Rank,
    /// Blocks of the cluster altogether.
    Ranks,
}

/// An entry's code and what it needs.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) code: Vec<Inst>,
    /// Registers a warp has, by file.
    pub(crate) words: usize,
    pub(crate) longs: usize,
    pub(crate) predicates: usize,
    /// Constants behind the registers.
    pub(crate) word_constants: Vec<Constant>,
    pub(crate) long_constants: Vec<Constant>,
    pub(crate) specials: Vec<(Special, Reg)>,
    /// Local memory of a thread, bytes.
    pub(crate) local_bytes: u32,
    /// Shared memory declared, bytes; dynamic memory begins behind it.
    pub(crate) shared_bytes: u32,
    /// Which instructions some lane has ever done, whoever launched it.
    pub(crate) executed: Vec<AtomicBool>,
    /// Alignment of dynamic shared memory.
    pub(crate) dynamic_align: u32,
    /// Whether engines work beside the warps.
    pub(crate) engines: bool,
    /// Whether warpgroups multiply.
    pub(crate) group_products: bool,
    /// Parts of shared memory that accesses do not divide, bytes: 1 to 16.
    pub(crate) granule: u32,
}

impl Op {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Branch(_)
            | Self::BranchIndexed(..)
            | Self::Call(..)
            | Self::Return(_)
            | Self::Exit => Kind::Control,
            Self::Barrier { .. }
            | Self::MatrixProduct(_)
            | Self::LoadMatrix { .. }
            | Self::StoreMatrix { .. }
            | Self::Transpose { .. }
            | Self::WarpSync(_)
            | Self::Shuffle { .. }
            | Self::Vote { .. }
            | Self::MatchAny { .. }
            | Self::MatchAll { .. }
            | Self::Reduce { .. }
            | Self::Elect { .. }
            | Self::ClusterArrive(_)
            | Self::GroupFence
            | Self::GroupCommit
            | Self::GroupWait(_) => Kind::Together,
            Self::MBarrierWait(_) | Self::ClusterWait | Self::AwaitPredecessor => Kind::Waiting,
            Self::GroupProduct(_) | Self::SetRegisters => Kind::Group,
            _ => Kind::Alone,
        }
    }

    /// Whether an engine beside the warps does it, or it is about one.
    pub(crate) fn is_beside(&self) -> bool {
        matches!(
            self,
            Self::MBarrier(..)
                | Self::MBarrierWait(_)
                | Self::BulkCopy(_)
                | Self::GroupProduct(_)
                | Self::FenceProxy
        )
    }

    /// Bytes of the smallest part of shared memory the instruction touches by itself.
    pub(crate) fn shared_granule(&self) -> Option<u32> {
        let shared = |address: &Address| matches!(address.space, Space::Shared | Space::Generic);
        match self {
            Self::Load(access) | Self::Store(access) if shared(&access.address) => {
                Some(u32::from(access.element.bytes) * access.places.len() as u32)
            }
            Self::Atomic(atomic) if shared(&atomic.address) => Some(atomic.bytes.into()),
            Self::AsyncCopy(copy) => Some(copy.bytes.into()),
            _ => None,
        }
    }
}
