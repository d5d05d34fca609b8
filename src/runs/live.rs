//! A run that is being recorded: of each kernel the last points, however many there are.

use std::collections::VecDeque;

use super::compare::{Quartiles, Series};
use super::run_log::{End, Record, Taken, command_name};
use super::samples::Key;

/// Points kept of each kernel.
pub const POINTS: usize = 512;
/// Kernels kept; those that came last.
const KERNELS: usize = 256;

/// What is known of a run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveRun {
    /// Its run log.
    pub file: String,
    /// What was run, without the folder of the program.
    pub command: String,
    /// Milliseconds since 1970 at its start.
    pub at_ms: u64,
    /// Milliseconds since 1970 at its last record.
    pub last_ms: u64,
    /// Kernels, the one that came last first.
    pub kernels: Vec<LiveKernel>,
    /// Samples so far.
    pub samples: u64,
    /// Points that are kept and not judged, and why the last of them is not.
    pub tainted: (u64, Option<String>),
    /// The last remark.
    pub remark: Option<String>,
    /// How it ended.
    pub end: Option<End>,
    /// Whether nobody records it any more.
    pub is_over: bool,
}

/// One kernel of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveKernel {
    /// What is measured.
    pub key: Key,
    /// What was varied.
    pub config: Option<String>,
    /// Samples so far.
    pub samples: u64,
    /// Quartiles of the last points, oldest first.
    pub points: VecDeque<Quartiles>,
}

impl LiveRun {
    /// A run in a file, of which nothing was read yet.
    pub fn new(file: String) -> Self {
        Self { file, ..Self::default() }
    }

    /// Takes the next record of the file. The first of a run forgets the runs before it.
    pub fn take(&mut self, record: Record) {
        match record {
            Record::Run(run) => {
                let (command, at_ms) = (command_name(&run.command), run.at_ms);
                *self = Self { command, at_ms, last_ms: at_ms, ..Self::new(self.file.clone()) };
            }
            Record::Identity(_) => {}
            Record::Point(taken) => self.point(*taken),
            Record::Around(around) => {
                self.seen(around.at_ms);
                if let Some(why) = around.tainted.into_iter().next() {
                    self.taint(around.points, why);
                }
            }
            Record::Mark(mark) => {
                self.seen(mark.at_ms);
                self.remark = Some(mark.text);
            }
            Record::End(end) => {
                self.seen(end.at_ms);
                self.end = Some(end);
            }
        }
    }

    /// Milliseconds from its start to its last record.
    pub fn lasted_ms(&self) -> u64 {
        self.last_ms.saturating_sub(self.at_ms)
    }

    fn point(&mut self, Taken { at_ms, mut point, .. }: Taken) {
        let samples = point.t_ns.len() as u64;
        if let Some(why) = point.tainted.pop() {
            self.taint(1, why);
        }
        let Some(quartiles) = Series::new(point.t_ns).quartiles() else { return };
        self.seen(at_ms.unwrap_or(0));
        self.samples += samples;
        let is_it = |one: &LiveKernel| one.key == point.key && one.config == point.config;
        let at = self.kernels.iter().position(is_it).unwrap_or_else(|| {
            let (key, config) = (point.key, point.config);
            self.kernels.insert(0, LiveKernel { key, config, ..LiveKernel::default() });
            self.kernels.truncate(KERNELS);
            0
        });
        let kernel = &mut self.kernels[at];
        kernel.samples += samples;
        if kernel.points.len() == POINTS {
            kernel.points.pop_front();
        }
        kernel.points.push_back(quartiles);
    }

    /// The kernel with the most points, of several the one that came last.
    pub fn longest(&self) -> Option<&LiveKernel> {
        self.kernels.iter().rev().max_by_key(|one| one.points.len())
    }

    fn seen(&mut self, at_ms: u64) {
        self.last_ms = self.last_ms.max(at_ms);
    }

    fn taint(&mut self, points: u64, why: String) {
        self.tainted = (self.tainted.0.saturating_add(points), Some(why));
    }
}

impl LiveKernel {
    /// Kernel, shape, number format and what was varied.
    pub fn name(&self) -> String {
        let config = self.config.iter().map(|config| format!(" {config}"));
        format!("{}{}", self.key, config.collect::<String>())
    }

    /// Median of the medians that are kept.
    pub fn median(&self) -> Option<f64> {
        Series::new(self.points.iter().map(|one| one.median)).median()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::run_log::Reader;

    fn read(text: &str) -> LiveRun {
        let mut run = LiveRun::new("run.jsonl".to_owned());
        let mut reader = Reader::new(text.as_bytes());
        while let Some(record) = reader.record().expect("memory does not fail") {
            run.take(record);
        }
        run
    }

    #[test]
    fn the_kernel_that_came_last_comes_first_and_the_longest_is_known() {
        let run = read(
            r#"{"type":"run","schema":1,"at_ms":1000,"command":["/usr/bin/python","tune.py"]}
{"type":"point","at_ms":2000,"name":"gemm","t_ns":[1,3,2]}
{"type":"point","at_ms":3000,"name":"gemv","t_ns":[7]}
{"type":"point","at_ms":4000,"name":"gemm","t_ns":[5]}
{"type":"around","at_ms":4500,"points":2,"tainted":["throttled"]}
{"type":"mark","at_ms":5000,"text":"new tile"}"#,
        );
        assert_eq!(
            (run.command.as_str(), run.lasted_ms(), run.samples),
            ("python tune.py", 4000, 5)
        );
        let medians =
            |kernel: &LiveKernel| kernel.points.iter().map(|one| one.median).collect::<Vec<_>>();
        let seen: Vec<_> = run.kernels.iter().map(|one| (one.name(), medians(one))).collect();
        assert_eq!(seen, [("gemv".into(), vec![7.0]), ("gemm".into(), vec![2.0, 5.0])]);
        assert_eq!(run.longest().map(LiveKernel::name).as_deref(), Some("gemm"));
        assert_eq!(run.tainted, (2, Some("throttled".to_owned())));
        assert_eq!((run.remark.as_deref(), run.end), (Some("new tile"), None));
    }

    #[test]
    fn the_next_run_of_a_file_begins_anew() {
        let run = read(
            r#"{"type":"run","schema":1,"at_ms":1}
{"type":"point","name":"a","t_ns":[1]}
{"type":"end","at_ms":2,"samples":1,"exit":0}
{"type":"run","schema":1,"at_ms":9}
{"type":"point","name":"b","t_ns":[1]}"#,
        );
        assert_eq!((run.kernels.len(), run.kernels[0].name()), (1, "b".to_owned()));
        assert_eq!((run.at_ms, run.end), (9, None));
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let mut run = LiveRun::default();
        for at in 0..3000 {
            let name = format!("k{}", if at < 2000 { 0 } else { at });
            let point = format!("{{\"type\":\"point\",\"name\":\"{name}\",\"t_ns\":[1]}}");
            let mut reader = Reader::new(point.as_bytes());
            run.take(reader.record().expect("reads").expect("a point"));
        }
        assert_eq!((run.kernels.len(), run.samples), (KERNELS, 3000));
        assert!(run.kernels.iter().all(|one| one.points.len() <= POINTS));
    }
}
