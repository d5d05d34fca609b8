//! Journals in the formats of other tools.
//!
//! The journal stays the truth: an export may hold less of it, never something that is not in it. Where a format has one number for many
//! samples, only clean samples go into it.

mod nvbench;
mod table;
mod trace;
mod tuned;
mod tuners;
mod wisdom;

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::runs::compare::Series;
use crate::runs::run_log::{Identity, Mark, Record, Window};
use crate::runs::samples::{Key, Point};
pub use tuned::tuned;
pub use wisdom::wisdom;

/// A point and what was known around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Milliseconds since 1970.
    pub at_ms: Option<u64>,
    /// The samples.
    pub point: Point,
    /// The machine around them.
    pub window: Option<Window>,
}

/// One run with everything an export may want.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Who ran what.
    pub identity: Identity,
    /// What was measured, in order.
    pub measured: Vec<Measured>,
    /// Remarks.
    pub marks: Vec<Mark>,
}

/// Runs of a journal read for export.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recordings {
    /// The runs, in order.
    pub runs: Vec<Recorded>,
}

impl Recordings {
    /// Takes one record.
    pub fn take(&mut self, record: Record) {
        match record {
            Record::Run(identity) => {
                self.runs.push(Recorded { identity: *identity, ..Recorded::default() });
            }
            Record::Identity(identity) => self.run().identity = *identity,
            Record::Point(taken) => self.run().measured.push(Measured {
                at_ms: taken.at_ms,
                point: taken.point,
                window: taken.window,
            }),
            Record::Around(around) => {
                let measured = &mut self.run().measured;
                let count =
                    usize::try_from(around.points).unwrap_or(usize::MAX).min(measured.len());
                let first = measured.len() - count;
                for one in &mut measured[first..] {
                    around.mark(std::slice::from_mut(&mut one.point));
                    one.window.clone_from(&around.window);
                }
            }
            Record::Mark(mark) => self.run().marks.push(mark),
            Record::End(_) => {}
        }
    }

    fn run(&mut self) -> &mut Recorded {
        if self.runs.is_empty() {
            self.runs.push(Recorded::default());
        }
        self.runs.last_mut().expect("one was just put there")
    }
}

/// One format that is written.
pub struct Export {
    /// What is typed.
    pub id: &'static str,
    /// What reads it.
    pub about: &'static str,
    /// Writes it.
    pub write: fn(&[Recorded], &mut dyn Write) -> io::Result<()>,
}

/// Every format.
pub const EXPORTS: &[Export] = &[
    Export { id: "csv", about: "one row per sample", write: table::csv },
    Export { id: "t4", about: "results of kernel_tuner, schema 1.0.0", write: tuners::t4 },
    Export { id: "nvbench", about: "summaries as nvbench writes them", write: nvbench::nvbench },
    Export {
        id: "perfetto",
        about: "a trace for ui.perfetto.dev or chrome://tracing",
        write: trace::trace,
    },
    Export { id: "prometheus", about: "text for Prometheus", write: table::prometheus },
];

/// Ids of [`EXPORTS`].
pub const EXPORT_IDS: &[&str] = &["csv", "t4", "nvbench", "perfetto", "prometheus"];

/// Samples of one kernel in one configuration.
struct Group<'a> {
    key: &'a Key,
    config: &'a str,
    /// Clean samples, nanoseconds, in order.
    times: Vec<f64>,
    /// Clocks of the clean samples, MHz; as many as times, or not to be used.
    clocks: Vec<f64>,
    tainted: usize,
    /// When the last one was taken.
    at_ms: Option<u64>,
}

impl Group<'_> {
    fn series(&self) -> Series {
        Series::new(self.times.iter().copied())
    }
}

/// The measurements of a run by kernel and configuration.
fn groups(run: &Recorded) -> Vec<Group<'_>> {
    let mut places: BTreeMap<(&Key, &str), usize> = BTreeMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for one in &run.measured {
        let (key, config) = (&one.point.key, one.point.config.as_deref().unwrap_or_default());
        let place = *places.entry((key, config)).or_insert(groups.len());
        if place == groups.len() {
            let (times, clocks) = (Vec::new(), Vec::new());
            groups.push(Group { key, config, times, clocks, tainted: 0, at_ms: None });
        }
        let group = &mut groups[place];
        group.at_ms = one.at_ms.or(group.at_ms);
        if one.point.tainted.is_empty() {
            group.times.extend(&one.point.t_ns);
            group.clocks.extend(&one.point.sm_mhz);
        } else {
            group.tainted += one.point.t_ns.len();
        }
    }
    groups
}

/// Words of `name=value` in a configuration; a text without any is one value.
fn settings(config: &str) -> BTreeMap<String, String> {
    let words: Vec<&str> = config.split_whitespace().collect();
    let pairs: Option<BTreeMap<String, String>> = words
        .iter()
        .map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    match pairs {
        Some(pairs) => pairs,
        None => [("config".to_owned(), config.to_owned())].into(),
    }
}

#[cfg(test)]
mod tests;
