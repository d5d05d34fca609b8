//! Launches in order, of which some start before the one in front has ended: programmatic dependent launch.
//!
//! Of a launch that starts early a few clusters run up to their `griddepcontrol.wait` while the one in front has run as much as chance says, mostly
//! nothing. PTX promises no write of a launch in front before that wait, so what it did before it let this one start counts as not done. When the
//! first blocks of this launch let the one behind start before they wait themselves, that one starts, too. Rejected: all blocks at once, which takes
//! the memory of them all and finds no more than other seeds do.

use std::collections::BTreeMap;

use super::Limits;
use super::Outcome;
use super::ready::{Crew, Ready};
use crate::fault::Fault;
use crate::memory::Memory;
use crate::module::Module;

/// Most clusters of a launch that start early.
const AHEAD: u64 = 3;

/// A launch of a sequence.
pub struct Start<'a> {
    /// The launch.
    pub launch: &'a Ready<'a>,
    /// Whether it may start before the one in front has ended.
    pub early: bool,
}

/// Runs one kernel alone. Memory is as the kernel left it, also after a fault.
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
    let ready = Ready::new(module, entry, grid, block, dynamic_shared, params, memory, limits)?;
    launch_all(&[Start { launch: &ready, early: false }], memory, 0).map_err(|(_, fault)| fault)
}

/// Runs launches in order; a fault comes with the number of its launch. The seed says which clusters start early, and when.
pub fn launch_all(
    launches: &[Start<'_>],
    memory: &mut Memory,
    seed: u64,
) -> Result<Outcome, (usize, Fault)> {
    let mut chance = Chance(seed);
    let mut runs: Vec<Run<'_>> = launches.iter().map(Run::new).collect();
    for number in 0..runs.len() {
        let (before, behind) = runs.split_at_mut(number + 1);
        let run = &mut before[number];
        let clusters = run.ready.clusters();
        // Early as can be, or in the midst.
        let moment = if chance.below(2) == 0 { 0 } else { chance.below(clusters) };
        let mut crew = None;
        for turn in 0..clusters {
            if turn == moment && run.ready.lets_go() {
                let begun = start(behind, memory, &mut chance);
                begun.map_err(|(further, fault)| (number + 1 + further, fault))?;
            }
            let cluster = run.ready.limits.order.number(turn, clusters);
            run.cluster(cluster, &mut crew, memory).map_err(|fault| (number, fault))?;
        }
    }
    Ok(Outcome { instructions: runs.iter().map(|run| run.done).sum() })
}

/// Starts the first of these launches, if it may start early, and those behind it that are let.
fn start(
    behind: &mut [Run<'_>],
    memory: &mut Memory,
    chance: &mut Chance,
) -> Result<(), (usize, Fault)> {
    for (number, run) in behind.iter_mut().enumerate() {
        if !run.early || !run.start(memory, chance).map_err(|fault| (number, fault))? {
            break;
        }
    }
    Ok(())
}

/// A launch on its way.
struct Run<'a> {
    ready: &'a Ready<'a>,
    early: bool,
    /// Clusters that have started, by number; none for those that have ended.
    ahead: BTreeMap<u64, Option<Crew<'a>>>,
    done: u64,
}

impl<'a> Run<'a> {
    fn new(start: &Start<'a>) -> Self {
        Self { ready: start.launch, early: start.early, ahead: BTreeMap::new(), done: 0 }
    }

    /// Runs a few clusters until they wait; whether all of them let the launch behind start.
    fn start(&mut self, memory: &mut Memory, chance: &mut Chance) -> Result<bool, Fault> {
        let clusters = self.ready.clusters();
        let mut lets_go = true;
        for turn in 0..AHEAD.min(clusters) {
            // The first block often does more than others.
            let number = if turn == 0 { 0 } else { chance.below(clusters) };
            if self.ahead.contains_key(&number) {
                continue;
            }
            let mut crew = Crew::new(self.ready);
            crew.take(number);
            let ended = crew.run(memory, &mut self.done, false)?;
            lets_go &= crew.lets_go();
            self.ahead.insert(number, (!ended).then_some(crew));
        }
        Ok(lets_go)
    }

    /// Runs a cluster to its end, now that everything in front has ended. One that is new takes the place of another.
    fn cluster(
        &mut self,
        number: u64,
        idle: &mut Option<Crew<'a>>,
        memory: &mut Memory,
    ) -> Result<(), Fault> {
        let mut begun = match self.ahead.remove(&number) {
            Some(None) => return Ok(()),
            Some(begun) => begun,
            None => None,
        };
        let crew = match &mut begun {
            Some(crew) => crew,
            None => {
                let crew = idle.get_or_insert_with(|| Crew::new(self.ready));
                crew.take(number);
                crew
            }
        };
        crew.run(memory, &mut self.done, true).map(drop)
    }
}

/// Numbers that follow from a seed: SplitMix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % end.max(1)
    }
}
