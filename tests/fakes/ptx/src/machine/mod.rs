//! Runs a kernel: clusters of blocks one after the other, the blocks of one by turns, and so the warps of a block.
//!
//! One thread does it all, so that a launch gives the same bits and the same faults every time. Rejected: blocks side by side, which without `unsafe`
//! needs a lock for every access to device memory, and changes results where blocks add up in the order in which they come.

mod access;
mod alone;
mod atomic;
mod barrier;
mod block;
mod bulk;
mod clocks;
mod cluster;
mod collective;
mod collisions;
mod copies;
mod descriptor;
mod engine;
mod gathering;
mod hands;
mod registers;
mod shared;
mod sleep;
mod waiting;
mod warp;
mod warpgroup;
mod window;

use block::Block;
use clocks::Agents;
use hands::Hands;
use registers::Constants;
use shared::Shared;

use crate::decode::align;
use crate::fault::{Fault, FaultKind, Trouble};
use crate::lanes::{WARP, Words};
use crate::memory::Memory;
use crate::module::{Entry, Module};
use crate::program::{Constant, Special};

/// What a launch may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of warps, all blocks together.
    pub instructions: u64,
    /// Shared memory of a block, static and dynamic, bytes.
    pub shared_bytes: u32,
    /// Multiprocessors, for kernels that ask.
    pub sms: u32,
    /// Which block comes when.
    pub order: Order,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: 1 << 32, shared_bytes: 48 << 10, sms: 1, order: Order::default() }
    }
}

/// The order of blocks, one after the other: a device promises none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The first one first.
    #[default]
    Forwards,
    /// The last one first.
    Backwards,
    /// From both ends, those in the middle last.
    Inwards,
}

impl Order {
    /// Which of so many is next.
    fn number(self, turn: u64, count: u64) -> u64 {
        match self {
            Self::Forwards => turn,
            Self::Backwards => count - 1 - turn,
            Self::Inwards if turn.is_multiple_of(2) => turn / 2,
            Self::Inwards => count - 1 - turn / 2,
        }
    }
}

/// What became of a launch that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Instructions of warps that were executed.
    pub instructions: u64,
}

/// Most blocks along x, y and z.
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Most threads of a block along x, y and z, and altogether.
const BLOCK: [u32; 3] = [1024, 1024, 64];
const THREADS: u64 = 1024;
/// Most blocks of a cluster that every device with clusters takes.
const CLUSTER: u64 = 8;
/// Alignment of dynamic shared memory behind what is declared.
const DYNAMIC_ALIGNMENT: u32 = 16;

/// Blocks, threads, and what they share.
struct Grid {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    dynamic_shared: u32,
    total_shared: u32,
    sms: u32,
}

/// Runs a kernel on parameters laid out as it declares them. Memory is as the kernel left it, also after a fault.
#[expect(
    clippy::too_many_arguments,
    reason = "cuLaunchKernel's own, and what stands for the device"
)]
pub fn launch(
    module: &Module,
    entry: &str,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    params: &[u8],
    memory: &mut Memory,
    limits: Limits,
) -> Result<Outcome, Fault> {
    let refuse = |what: String| Fault {
        kind: FaultKind::Launch,
        what,
        entry: entry.to_owned(),
        line: 0,
        block: [0; 3],
        thread: None,
    };
    let found =
        module.entry(entry).ok_or_else(|| refuse("no such kernel in the module".to_owned()))?;
    let start = align(found.static_shared, DYNAMIC_ALIGNMENT.max(found.program.dynamic_align));
    let total =
        if dynamic_shared > 0 { start.saturating_add(dynamic_shared) } else { found.static_shared };
    let cluster = found.cluster.unwrap_or([1; 3]);
    let grid = Grid { grid, block, cluster, dynamic_shared, total_shared: total, sms: limits.sms };
    check(found, &grid, params, limits).map_err(refuse)?;
    memory.load(module);
    let constants = constants(module, found, memory, start);
    run(found, &grid, params, &constants, memory, limits)
}

/// What a driver checks, too.
fn check(entry: &Entry, grid: &Grid, params: &[u8], limits: Limits) -> Result<(), String> {
    let within = |sizes: [u32; 3], most: [u32; 3]| {
        sizes.iter().zip(most).all(|(size, most)| (1..=most).contains(size))
    };
    let product = |sizes: [u32; 3]| sizes.iter().map(|size| u64::from(*size)).product::<u64>();
    let threads = product(grid.block);
    if !within(grid.grid, GRID) {
        return Err(format!("a grid of {:?} blocks", grid.grid));
    }
    if !within(grid.block, BLOCK) || threads > THREADS {
        return Err(format!("blocks of {:?} threads", grid.block));
    }
    if entry.max_threads.is_some_and(|most| threads > product(most)) {
        return Err(format!("{threads} threads a block, more than .maxntid"));
    }
    if entry.required_threads.is_some_and(|wanted| grid.block != wanted) {
        return Err(format!("blocks of {:?} threads, not those of .reqntid", grid.block));
    }
    let whole = grid.grid.iter().zip(grid.cluster).all(|(blocks, of)| of > 0 && blocks % of == 0);
    if !whole || product(grid.cluster) > CLUSTER {
        return Err(format!("a grid of {:?} blocks in clusters of {:?}", grid.grid, grid.cluster));
    }
    if grid.total_shared > limits.shared_bytes {
        let most = limits.shared_bytes;
        return Err(format!("{} bytes of shared memory of {most}", grid.total_shared));
    }
    let (_, end) = entry.param_offsets();
    if params.len() != end as usize {
        return Err(format!("{} bytes of parameters, not {end}", params.len()));
    }
    Ok(())
}

fn constants(module: &Module, entry: &Entry, memory: &Memory, dynamic: u32) -> Constants {
    let value = |constant: &Constant| match constant {
        Constant::Word(value) => u64::from(*value),
        Constant::Long(value) => *value,
        Constant::Address(index) => memory.variable(module, *index as usize),
        Constant::Dynamic => u64::from(dynamic),
    };
    let program = &entry.program;
    Constants {
        words: program
            .word_constants
            .iter()
            .map(|constant| [value(constant) as u32; WARP])
            .collect(),
        longs: program.long_constants.iter().map(|constant| [value(constant); WARP]).collect(),
    }
}

fn run(
    entry: &Entry,
    grid: &Grid,
    params: &[u8],
    constants: &Constants,
    memory: &mut Memory,
    limits: Limits,
) -> Result<Outcome, Fault> {
    let program = &entry.program;
    let threads: u32 = grid.block.iter().product();
    let agents = Agents {
        blocks: grid.cluster.iter().product::<u32>() as usize,
        warps: threads.div_ceil(32) as usize,
        engines: program.engines,
    };
    let block = |rank| Block::new(program, constants, threads, rank);
    let mut blocks: Vec<Block<'_>> = (0..agents.blocks).map(block).collect();
    let mut shared = Shared::new(grid.total_shared as usize, program.granule, agents);
    let most = limits.instructions;
    let mut hands = Hands { program, params, memory, shared: &mut shared, done: 0, most };
    let clusters: Vec<u32> = grid.grid.iter().zip(grid.cluster).map(|(all, of)| all / of).collect();
    let count: u64 = clusters.iter().map(|side| u64::from(*side)).product();
    for turn in 0..count {
        let number = limits.order.number(turn, count);
        let [width, height] = [u64::from(clusters[0]), u64::from(clusters[1])];
        let cluster = [number % width, number / width % height, number / width / height];
        let cluster = cluster.map(|side| side as u32);
        cluster::restart(&mut blocks, &mut hands);
        for (rank, block) in blocks.iter_mut().enumerate() {
            let at = grid.block_at(cluster, rank as u32);
            for warp in block.warps() {
                for (special, register) in &program.specials {
                    let value = grid.special(*special, warp.number as u32, at);
                    warp.registers.set_word(*register, &value, u32::MAX);
                }
            }
        }
        cluster::run(&mut blocks, &mut hands).map_err(|(rank, trouble)| {
            let at = grid.block_at(cluster, rank as u32);
            grid.fault(entry, &blocks[rank], at, *trouble)
        })?;
    }
    Ok(Outcome { instructions: hands.done })
}

impl Grid {
    /// The block of a cluster by its rank: x first.
    fn block_at(&self, cluster: [u32; 3], rank: u32) -> [u32; 3] {
        let [width, height, _] = self.cluster;
        let inside = [rank % width, rank / width % height, rank / width / height];
        std::array::from_fn(|axis| cluster[axis] * self.cluster[axis] + inside[axis])
    }

    /// Number of a block in its cluster.
    fn rank(&self, block: [u32; 3]) -> u32 {
        let inside: [u32; 3] = std::array::from_fn(|axis| block[axis] % self.cluster[axis]);
        inside[0] + self.cluster[0] * (inside[1] + self.cluster[1] * inside[2])
    }

    /// A thread by its number in the block.
    fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [number % x, number / x % y, number / x / y]
    }

    fn special(&self, special: Special, warp: u32, block: [u32; 3]) -> Words {
        let threads: u32 = self.block.iter().product();
        let of_lane = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| f(lane as u32));
        let all = |value: u32| [value; WARP];
        match special {
            Special::Thread(axis) => {
                of_lane(&|lane| self.thread(32 * warp + lane)[usize::from(axis)])
            }
            Special::Threads(axis) => all(self.block[usize::from(axis)]),
            Special::Block(axis) => all(block[usize::from(axis)]),
            Special::Blocks(axis) => all(self.grid[usize::from(axis)]),
            Special::Lane => of_lane(&|lane| lane),
            Special::Warp => all(warp),
            Special::Warps => all(threads.div_ceil(32)),
            Special::MaskEqual => of_lane(&|lane| 1 << lane),
            Special::MaskBelow => of_lane(&|lane| (1 << lane) - 1),
            Special::MaskUpTo => of_lane(&|lane| u32::MAX >> (31 - lane)),
            Special::MaskAbove => of_lane(&|lane| !(u32::MAX >> (31 - lane))),
            Special::MaskFrom => of_lane(&|lane| u32::MAX << lane),
            Special::Multiprocessor => all(block[0] % self.sms.max(1)),
            Special::Multiprocessors => all(self.sms),
            Special::Zero => all(0),
            Special::DynamicShared => all(self.dynamic_shared),
            Special::TotalShared => all(self.total_shared),
            Special::InCluster(axis) => {
                let axis = usize::from(axis);
                all(block[axis] % self.cluster[axis])
            }
            Special::Cluster(axis) => all(self.cluster[usize::from(axis)]),
            Special::ClusterAt(axis) => {
                let axis = usize::from(axis);
                all(block[axis] / self.cluster[axis])
            }
            Special::Clusters(axis) => {
                let axis = usize::from(axis);
                all(self.grid[axis] / self.cluster[axis])
            }
            Special::Rank => all(self.rank(block)),
            Special::Ranks => all(self.cluster.iter().product()),
        }
    }

    #[cold]
    fn fault(&self, entry: &Entry, block: &Block<'_>, at: [u32; 3], trouble: Trouble) -> Fault {
        let (line, number) = block.place(trouble.lane);
        Fault {
            kind: trouble.kind,
            what: trouble.what,
            entry: entry.name.clone(),
            line,
            block: at,
            thread: Some(self.thread(number)),
        }
    }
}
