//! How many blocks and threads a launch has, and what they find in their special registers.

use super::Limits;
use super::block::Block;
use crate::fault::{Fault, Trouble};
use crate::lanes::{WARP, Words};
use crate::module::Entry;
use crate::program::Special;

/// Most blocks along x, y and z.
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Most threads of a block along x, y and z, and altogether.
const BLOCK: [u32; 3] = [1024, 1024, 64];
const THREADS: u64 = 1024;
/// Most blocks of a cluster that every device with clusters takes.
const CLUSTER: u64 = 8;

/// Blocks, threads, and what they share.
pub(super) struct Grid {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) cluster: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) total_shared: u32,
    pub(super) sms: u32,
}

/// What a driver checks, too.
pub(super) fn check(
    entry: &Entry,
    grid: &Grid,
    params: &[u8],
    limits: Limits,
) -> Result<(), String> {
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

impl Grid {
    /// The block of a cluster by its rank: x first.
    pub(super) fn block_at(&self, cluster: [u32; 3], rank: u32) -> [u32; 3] {
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

    pub(super) fn special(&self, special: Special, warp: u32, block: [u32; 3]) -> Words {
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
    pub(super) fn fault(
        &self,
        entry: &Entry,
        block: &Block<'_>,
        at: [u32; 3],
        trouble: Trouble,
    ) -> Fault {
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
