//! What happens to the benchmark, and what the outside is asked to do about it.

use warpscope_probes::Frame;

use super::Bench;
use super::device::Task;
use super::devices::DeviceTask;
use crate::features::Effect;
use crate::worker::Update;
use crate::worker::scheduler::BenchMode;

/// What happens to the benchmark.
#[derive(Debug)]
pub enum Msg {
    /// What came of the commands to a device's worker, by the device's key.
    Worker(String, Update),
}

/// What the outside is asked to do about the benchmark.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// See to the worker of a device, by the device's key.
    Worker(String, Task),
}

impl Bench {
    /// Handles what happened.
    pub fn update(&mut self, Msg::Worker(key, update): Msg) -> Vec<Effect> {
        effects(self.devices.handle(&key, update))
    }

    /// One key for all devices: what it does to the CPU's benchmark, it does to the others.
    pub fn toggle(&mut self) -> Vec<Effect> {
        effects(self.devices.toggle())
    }

    /// When to measure.
    pub fn set_mode(&mut self, mode: BenchMode) -> Vec<Effect> {
        effects(self.devices.set_mode(mode))
    }

    /// Handles a frame, also while the screen is frozen: foreign processes get their GPU.
    pub fn watch(&mut self, frame: &Frame) -> Vec<Effect> {
        effects(self.devices.frame(frame))
    }

    /// Gives every GPU back: nobody knows for how long the program stands still.
    pub fn suspend(&mut self) -> Vec<Effect> {
        effects(self.devices.give_way("warpscope was in the background"))
    }
}

/// What is to be done about workers.
pub(super) fn effects(tasks: Vec<DeviceTask>) -> Vec<Effect> {
    tasks.into_iter().map(|(key, task)| Cmd::Worker(key, task).into()).collect()
}
