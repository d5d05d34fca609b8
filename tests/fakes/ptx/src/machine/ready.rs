//! A launch that can run, and the blocks of a cluster that do.

use super::Limits;
use super::block::Block;
use super::clocks::Agents;
use super::cluster;
use super::grid::{Grid, check};
use super::hands::Hands;
use super::registers::Constants;
use super::shared::Shared;
use crate::decode::align;
use crate::fault::{Fault, FaultKind};
use crate::lanes::WARP;
use crate::memory::Memory;
use crate::module::{Entry, Module};
use crate::program::{Constant, Op};

/// Alignment of dynamic shared memory behind what is declared.
const DYNAMIC_ALIGNMENT: u32 = 16;

/// A launch as a driver takes it: checked, its module loaded.
pub struct Ready<'a> {
    entry: &'a Entry,
    grid: Grid,
    params: &'a [u8],
    constants: Constants,
    pub(super) limits: Limits,
}

impl<'a> Ready<'a> {
    /// A kernel on parameters laid out as it declares them.
    #[expect(
        clippy::too_many_arguments,
        reason = "cuLaunchKernel's own, and what stands for the device"
    )]
    pub fn new(
        module: &'a Module,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        params: &'a [u8],
        memory: &mut Memory,
        limits: Limits,
    ) -> Result<Self, Fault> {
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
        let total_shared = match dynamic_shared {
            0 => found.static_shared,
            more => start.saturating_add(more),
        };
        let cluster = found.cluster.unwrap_or([1; 3]);
        let grid = Grid { grid, block, cluster, dynamic_shared, total_shared, sms: limits.sms };
        check(found, &grid, params, limits).map_err(refuse)?;
        memory.load(module);
        let constants = constants(module, found, memory, start);
        Ok(Self { entry: found, grid, params, constants, limits })
    }

    /// How many clusters it has.
    pub(super) fn clusters(&self) -> u64 {
        self.sides().iter().product()
    }

    fn sides(&self) -> [u64; 3] {
        std::array::from_fn(|axis| u64::from(self.grid.grid[axis] / self.grid.cluster[axis]))
    }

    /// Whether it ever lets the launch behind start before it has ended.
    pub(super) fn lets_go(&self) -> bool {
        self.entry.program.code.iter().any(|inst| matches!(inst.op, Op::LetSuccessorStart))
    }
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

/// The blocks of a cluster.
pub(super) struct Crew<'a> {
    ready: &'a Ready<'a>,
    blocks: Vec<Block<'a>>,
    shared: Shared,
    at: [u32; 3],
    let_go: u32,
}

impl<'a> Crew<'a> {
    pub(super) fn new(ready: &'a Ready<'a>) -> Self {
        let (program, grid) = (&ready.entry.program, &ready.grid);
        let threads: u32 = grid.block.iter().product();
        let agents = Agents {
            blocks: grid.cluster.iter().product::<u32>() as usize,
            warps: threads.div_ceil(32) as usize,
            engines: program.engines,
        };
        let block = |rank| Block::new(program, &ready.constants, threads, rank);
        let blocks = (0..agents.blocks).map(block).collect();
        let shared = Shared::new(grid.total_shared as usize, program.granule, agents);
        Self { ready, blocks, shared, at: [0; 3], let_go: 0 }
    }

    /// Makes its blocks those of a cluster by its number, new.
    pub(super) fn take(&mut self, number: u64) {
        let [width, height, _] = self.ready.sides();
        let cluster = [number % width, number / width % height, number / width / height];
        self.at = cluster.map(|side| side as u32);
        self.let_go = 0;
        cluster::restart(&mut self.blocks, &mut self.shared);
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            let at = self.ready.grid.block_at(self.at, rank as u32);
            for warp in block.warps() {
                for (special, register) in &self.ready.entry.program.specials {
                    let value = self.ready.grid.special(*special, warp.number as u32, at);
                    warp.registers.set_word(*register, &value, u32::MAX);
                }
            }
        }
    }

    /// Runs until all have ended or, where the launch in front has not, wait for it: whether they have ended. `done` counts instructions.
    pub(super) fn run(
        &mut self,
        memory: &mut Memory,
        done: &mut u64,
        predecessor_ended: bool,
    ) -> Result<bool, Fault> {
        // What waits looks again.
        self.shared.changes += 1;
        let mut hands = Hands {
            program: &self.ready.entry.program,
            params: self.ready.params,
            memory,
            shared: &mut self.shared,
            done: *done,
            most: self.ready.limits.instructions,
            predecessor_ended,
            let_go: self.let_go,
        };
        let ended = cluster::run(&mut self.blocks, &mut hands);
        (*done, self.let_go) = (hands.done, hands.let_go);
        ended.map_err(|(rank, trouble)| {
            let at = self.ready.grid.block_at(self.at, rank as u32);
            self.ready.grid.fault(self.ready.entry, &self.blocks[rank], at, *trouble)
        })
    }

    /// Whether each of its blocks has let the launch behind start, or has ended.
    pub(super) fn lets_go(&self) -> bool {
        let lets =
            |(rank, block): (usize, &Block<'_>)| self.let_go >> rank & 1 == 1 || block.has_ended();
        self.blocks.iter().enumerate().all(lets)
    }
}
