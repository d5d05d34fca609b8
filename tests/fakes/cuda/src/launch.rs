//! Launches: checked as the driver checks them, then run by the interpreter.

use std::time::Duration;

use ptx_interpreter::Limits;

use crate::codes::{
    INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, NOT_SUPPORTED, UNKNOWN,
};
use crate::driver::{Answer, Board, Driver};
use crate::faults::{Effect, Place};
use crate::module::Function;
use crate::program::{run, status};
use crate::table::Handle;

/// A kernel, how many threads, and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) function: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    /// The parameters, laid out as the kernel declares them.
    pub(crate) params: Vec<u8>,
}

/// What a launch costs in simulated time, besides its instructions.
const LAUNCH_TIME: Duration = Duration::from_micros(2);
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const BLOCK: [u32; 3] = [1024, 1024, 64];
const THREADS: u64 = 1024;

impl Launch {
    pub(crate) fn function(&self) -> Handle {
        std::ptr::without_provenance_mut(self.function)
    }

    /// Leaves the last half of the blocks out, along the last axis that has several; false where there is one block only.
    fn loses_blocks(&mut self) -> bool {
        let several = self.grid.iter_mut().rev().find(|blocks| **blocks > 1);
        several.map(|blocks| *blocks /= 2).is_some()
    }
}

impl Driver {
    /// Whether the driver takes a launch.
    pub(crate) fn check(&self, launch: &Launch) -> Answer {
        let (context, _) = self.current()?;
        let function = self.functions.get(launch.function())?;
        if function.context != context.addr() {
            return Err(INVALID_HANDLE);
        }
        let within = |sizes: [u32; 3], most: [u32; 3]| {
            sizes.iter().zip(most).all(|(size, most)| (1..=most).contains(size))
        };
        let threads: u64 = launch.block.iter().map(|size| u64::from(*size)).product();
        if !within(launch.grid, GRID) || !within(launch.block, BLOCK) || threads > THREADS {
            return Err(INVALID_VALUE);
        }
        if threads > function.threads().into() {
            return Err(LAUNCH_OUT_OF_RESOURCES);
        }
        if launch.shared > function.dynamic_shared {
            return Err(INVALID_VALUE);
        }
        Ok(())
    }

    /// Runs a launch. A fault of the kernel shows, as on hardware, at the next call: the board is spoilt from here on.
    pub(crate) fn run(&mut self, board: usize, launch: &Launch) -> Answer {
        if let Some(answer) = self.doom(board) {
            return answer;
        }
        let function = self.functions.get(launch.function())?;
        let module = self.modules.get(std::ptr::without_provenance_mut(function.module))?;
        let (program, name) = (module.program.clone(), function.entry.name.clone());
        let module = match program.runs(&name) {
            Ok(module) => module,
            Err(why) => {
                self.tell(format!("{name} is not run: {why}"));
                return Err(NOT_SUPPORTED);
            }
        };
        let mut launch = launch.clone();
        match self.strike_entry(&name) {
            Some(Effect::Sticky(code)) => return self.spoil(board, code, "as the scenario says"),
            Some(Effect::Skip) if !launch.loses_blocks() => return Ok(()),
            Some(effect) => effect.befall(),
            None => {}
        }
        let limits = self.limits(board);
        let outcome = run(module, &name, &launch, &mut self.boards[board].memory.device, limits);
        match outcome {
            Ok(instructions) => {
                self.boards[board].pass_time(LAUNCH_TIME);
                self.boards[board].execute(instructions * 32);
                Ok(())
            }
            Err(fault) => match status(fault.kind) {
                (code, true) => self.spoil(board, code, &fault.to_string()),
                (code, false) => {
                    self.tell(fault.to_string());
                    Err(code)
                }
            },
        }
    }

    /// What a launch may take on a board.
    fn limits(&self, board: usize) -> Limits {
        let model = self.boards[board].seat.model;
        let shared_bytes = model.limits().shared_optin_kib << 10;
        let instructions = self.scenario.limit.unwrap_or(Limits::default().instructions);
        Limits { instructions, shared_bytes, sms: model.sms.0, ..Limits::default() }
    }

    /// What the scenario does to work that starts now, if anything.
    pub(crate) fn doom(&mut self, board: usize) -> Option<Answer> {
        let effect = self.strike(&Place::Launch);
        if let Some(Effect::Code(code)) = effect {
            return Some(Err(code));
        }
        let number = self.boards[board].seat.board;
        let dying = self.scenario.dying.contains(&number).then_some(Effect::Sticky(UNKNOWN));
        match effect.or(dying) {
            Some(Effect::Sticky(code)) => Some(self.spoil(board, code, "as the scenario says")),
            _ => None,
        }
    }

    /// Leaves an error behind that every later call returns.
    pub(crate) fn spoil(&mut self, board: usize, code: u32, why: &str) -> Answer {
        let name = crate::codes::result(code).map_or("", |result| result.0);
        eprintln!("stand-in CUDA: {code} {name} on device {board}: {why}");
        self.boards[board].broken = Some(code);
        let blocking = std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|value| value == "1");
        if blocking { Err(code) } else { Ok(()) }
    }
}

impl Board {
    /// Lets the simulated time of so many instructions pass: one a clock on every core, which no board reaches.
    pub(crate) fn execute(&mut self, instructions: u64) {
        let (sms, cores) = self.seat.model.sms;
        let per_ns = f64::from(sms * cores) * f64::from(self.seat.model.boost_mhz) / 1000.0;
        self.clock += instructions as f64 / per_ns;
    }

    /// Blocks of a function that a multiprocessor holds at once. CUDA C++ programming guide, "Hardware Multithreading";
    /// register and shared memory granularities of `cuda_occupancy.h`.
    pub(crate) fn occupancy(&self, function: &Function, threads: u32, dynamic: usize) -> u32 {
        let limits = self.seat.model.limits();
        let modern = limits.cc >= (8, 0);
        let warps = threads.div_ceil(32);
        let registers = (function.registers * 32).next_multiple_of(256);
        let by_registers = 65536 / registers / warps.next_multiple_of(4);
        let granule = if modern { 128 } else { 256 };
        let shared = u64::from(function.entry.shared_bytes) + dynamic as u64;
        let shared = shared + u64::from(limits.shared_reserved_kib << 10);
        let shared = shared.next_multiple_of(granule).max(1);
        let by_shared = u64::from(limits.shared_per_sm_kib << 10) / shared;
        let by_warps = limits.threads_per_sm / 32 / warps;
        by_registers.min(by_warps).min(limits.blocks_per_sm).min(by_shared as u32)
    }
}
