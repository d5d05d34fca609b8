//! Many machines at once, as a server of metrics tells of them: columns of values rather than a frame each.
//!
//! A frame of ten thousand GPUs would be tens of megabytes a refresh; a fleet is two or three, and becomes frames for the machine in view.

pub mod answer;
mod build;
mod exporters;
mod frame;
mod gathered;
mod order;

use std::ops::Range;

pub use build::{Builder, MOST_GPUS};
pub use exporters::{Exporter, Metric, exporters};
pub use order::natural;

use crate::time::Timestamp;

/// How a machine does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It was there before, and the server has nothing newer.
    Lost,
    /// Its newest values are old.
    Late,
    /// Its values are new.
    #[default]
    Fresh,
}

/// A machine of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Version of its driver.
    pub driver: Option<String>,
    /// Version of CUDA that the driver has.
    pub cuda: Option<String>,
    /// How it does.
    pub state: State,
    /// When its newest value was taken.
    pub seen: Timestamp,
    /// Places of its GPUs.
    pub gpus: Range<usize>,
}

/// A GPU of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Place of its machine.
    pub machine: usize,
    /// Number within the machine, where it is told.
    pub index: Option<u32>,
    /// What tells it from the others of its machine.
    pub key: String,
    /// `GPU-…`.
    pub uuid: Option<String>,
    /// Place of its product's name in [`Fleet::models`].
    pub model: usize,
    /// Place of who holds it in [`Fleet::owners`].
    pub owner: Option<usize>,
    /// When its newest value was taken.
    pub seen: Timestamp,
}

/// Many machines at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fleet {
    /// Counts up from 1.
    pub seq: u64,
    /// The server's time.
    pub at: Timestamp,
    /// Seconds between refreshes.
    pub interval_s: f64,
    /// By name.
    pub machines: Vec<Machine>,
    /// By machine and number.
    pub gpus: Vec<Member>,
    /// Names of products; the empty one is not known.
    pub models: Vec<String>,
    /// Who holds GPUs: `namespace/pod`, a job.
    pub owners: Vec<String>,
    /// Values of every GPU, by the reading's key.
    pub columns: Vec<(&'static str, Vec<Option<f64>>)>,
    /// What the refresh cost.
    pub cost: Cost,
}

/// What was asked of the server for one refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Queries.
    pub queries: u32,
    /// Bytes of its answers.
    pub bytes: u64,
    /// Series in them.
    pub series: u64,
    /// Seconds from the first query to the last answer.
    pub seconds: f64,
}

impl Fleet {
    /// The values of a reading, one for each GPU.
    pub fn column(&self, field: &str) -> Option<&[Option<f64>]> {
        self.columns.iter().find(|column| column.0 == field).map(|column| &column.1[..])
    }

    /// One value.
    pub fn value(&self, field: &str, gpu: usize) -> Option<f64> {
        *self.column(field)?.get(gpu)?
    }

    /// How a GPU does: as its machine, and lost where it does not answer its exporter, or that tells of it no more.
    pub fn state(&self, gpu: usize) -> State {
        match self.value("up", gpu) {
            Some(up) if up <= 0.0 => State::Lost,
            _ => self.machines[self.gpus[gpu].machine].state,
        }
    }

    /// Memory that can be used, of the reading or of its parts.
    pub fn memory_total(&self, gpu: usize) -> Option<f64> {
        self.value("memory_total_bytes", gpu).or_else(|| {
            let used = self.value("memory_used_bytes", gpu)?;
            Some(used + self.value("memory_free_bytes", gpu)?)
        })
    }

    /// The name of a GPU's product; none where it is not told.
    pub fn model(&self, gpu: usize) -> Option<&str> {
        let name = self.models.get(self.gpus.get(gpu)?.model)?;
        (!name.is_empty()).then_some(name.as_str())
    }

    /// Who holds a GPU.
    pub fn owner(&self, gpu: usize) -> Option<&str> {
        self.owners.get(self.gpus.get(gpu)?.owner?).map(String::as_str)
    }

    /// The place of a machine.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.machines.iter().position(|machine| machine.name == name)
    }
}

#[cfg(test)]
mod tests;
