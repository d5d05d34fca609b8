//! What happens to the benchmark, and what the outside is asked to do about it.

use warpscope_probes::Frame;

use super::fleet::Order;
use super::gpu::{News, Task};
use super::{Bench, Phase};
use crate::features::{Effect, Shared};
use crate::worker::BenchEvent;

/// What happens to the benchmark.
#[derive(Debug)]
pub enum Msg {
    /// It is to start with the dashboard.
    Start,
    /// The CPU's child spoke.
    Cpu(Box<BenchEvent>),
    /// The CPU's child ended; the text says how.
    CpuEnded(String),
    /// What the child of a GPU did, by the GPU's key.
    Gpu(String, News),
}

/// What the outside is asked to do about the benchmark.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Start the CPU's child.
    Start,
    /// Pause it for a reason, or let it run on.
    Pause(Option<&'static str>),
    /// See to the child of a GPU, by the GPU's key.
    Gpu(String, Task),
}

/// Why the benchmark waits, as shown.
const BY_KEY: &str = "by key";
const ON_BATTERY: &str = "on battery";

impl Bench {
    /// Takes what happened.
    pub fn update(&mut self, msg: Msg, shared: &Shared) -> Vec<Effect> {
        match msg {
            Msg::Start if self.phase == Phase::Off => self.toggle(),
            Msg::Start => Vec::new(),
            Msg::Cpu(event) => {
                let starting = self.phase == Phase::Starting;
                self.take(*event);
                self.mind_battery(shared, starting && shared.on_battery())
            }
            Msg::CpuEnded(how) => {
                self.ended(how);
                Vec::new()
            }
            Msg::Gpu(key, news) => gpu_tasks(self.gpus.hear(&key, news)).collect(),
        }
    }

    /// One key for the CPU's benchmark and those of the GPUs: what it does to the one, it does to the others.
    pub fn toggle(&mut self) -> Vec<Effect> {
        let (cpu, paused) = match &self.phase {
            Phase::Off | Phase::Finished | Phase::Died(_) => {
                self.phase = Phase::Starting;
                (Cmd::Start, false)
            }
            Phase::Paused(_) => (Cmd::Pause(None), false),
            Phase::Starting | Phase::Running => (Cmd::Pause(Some(BY_KEY)), true),
        };
        let gpus = self.gpus.pause(paused);
        std::iter::once(cpu.into()).chain(gpu_tasks(gpus)).collect()
    }

    /// Looks at a frame, also while the screen stands still: whoever comes to a GPU is given way to.
    pub fn watch(&mut self, frame: &Frame) -> Vec<Effect> {
        gpu_tasks(self.gpus.frame(frame)).collect()
    }

    /// Gives every GPU back: nobody knows for how long the program stands still.
    pub fn suspend(&mut self) -> Vec<Effect> {
        gpu_tasks(self.gpus.give_way("warpscope was in the background")).collect()
    }

    /// A laptop that is unplugged is left alone, unless the user lets the benchmark run on.
    pub(super) fn mind_battery(&self, shared: &Shared, unplugged: bool) -> Vec<Effect> {
        match &self.phase {
            Phase::Running if unplugged => vec![Cmd::Pause(Some(ON_BATTERY)).into()],
            Phase::Paused(why) if why == ON_BATTERY && !shared.on_battery() => {
                vec![Cmd::Pause(None).into()]
            }
            _ => Vec::new(),
        }
    }
}

/// Orders of the GPUs' benchmarks, for the outside.
pub(super) fn gpu_tasks(orders: Vec<Order>) -> impl Iterator<Item = Effect> {
    orders.into_iter().map(|(key, task)| Cmd::Gpu(key, task).into())
}
