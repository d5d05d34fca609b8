//! A run on paper: who ran what, every sample taken, and the state of the machine around each.
//!
//! JSON Lines, one record a line, the first one naming the run. What takes time to find out about it, such as commit and driver, follows in a
//! line of its own (`Identity`): nothing waits for it, and a killed run keeps its points. Raw samples and never only means: a mean cannot be
//! compared again. Lines begin with their kind, so that a reader of ten million samples parses each once. Points are written when they come and the machine
//! around them when the next frame does: a point that waited for its window would be lost with the program.

mod cpu;
mod identity;
mod line;
mod reader;
mod stream;
mod window;

use serde::{Deserialize, Serialize};
use warpscope_probes::bounded::Skipped;

pub use cpu::{CpuSample, CpuWindow};
pub use identity::{Device, Dirty, ENVIRONMENT, Identity, SampleMode, command_name};
pub use reader::{Reader, begins_run_log};
pub use stream::{HELD_POINTS, HELD_SAMPLES, PointStream};
pub use window::{Span, Window};

use crate::runs::samples::Point;

/// Number of the journal's format.
pub const RUN_LOG_SCHEMA: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Record {
    /// First line of a run.
    Run(Box<Identity>),
    /// All that is known of the run by now; replaces its first line.
    Identity(Box<Identity>),
    /// Samples, and the machine while they were taken.
    Point(Box<Taken>),
    /// The machine around points that stand above it.
    Around(Box<Around>),
    /// A remark of the user.
    Mark(Mark),
    /// Last line of a run that ended by itself.
    End(End),
}

/// Samples, and the machine while they were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// Milliseconds since 1970 when the last sample was taken.
    #[serde(default)]
    pub at_ms: Option<u64>,
    /// The samples.
    #[serde(flatten)]
    pub point: Point,
    /// The machine around them; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// The machine around the points just before it in its run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Around {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// How many points, counted backwards.
    pub points: u64,
    /// Model of the GPU the run worked on, for points that name no device.
    pub device: Option<String>,
    /// What that GPU did; none where nobody could look.
    pub window: Option<Window>,
    /// What the CPUs did, of a program that was seen on no GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuWindow>,
    /// Why these points are kept and not judged.
    pub tainted: Vec<String>,
}

impl Around {
    /// Writes onto the last points what it says of them.
    pub fn mark(&self, points: &mut [Point]) {
        let count = usize::try_from(self.points).unwrap_or(usize::MAX).min(points.len());
        let (_, last) = points.split_at_mut(points.len() - count);
        for point in last {
            if point.key.device.is_none() {
                point.key.device.clone_from(&self.device);
            }
            for why in &self.tainted {
                if !point.tainted.contains(why) {
                    point.tainted.push(why.clone());
                }
            }
        }
    }
}

/// A remark of the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// What it says.
    pub text: String,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Samples of the run.
    pub samples: u64,
    /// Exit code of the command, where there was one.
    #[serde(default)]
    pub exit: Option<i32>,
    /// Number of the signal that asked the run to end, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

impl End {
    /// Why the run is no success.
    pub fn failure(&self) -> Option<String> {
        match (self.signal, self.exit) {
            (Some(signal), _) => Some(format!("a run was ended by signal {signal}")),
            (None, Some(code)) if code != 0 => Some(format!("a run ended with exit code {code}")),
            _ => None,
        }
    }
}

/// One run read back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Who ran what; empty where the line is lost.
    pub identity: Identity,
    /// Its samples.
    pub points: Vec<Point>,
    /// Remarks.
    pub marks: Vec<Mark>,
    /// How it ended; none when it was killed.
    pub end: Option<End>,
}

/// A journal read back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Journal {
    /// Its runs, in order.
    pub runs: Vec<Run>,
    /// Lines that could not be read.
    pub skipped: Skipped,
}

impl Journal {
    /// Takes one record.
    pub fn take(&mut self, record: Record) {
        match record {
            Record::Run(identity) => self.runs.push(Run { identity: *identity, ..Run::default() }),
            Record::Identity(identity) => self.run().identity = *identity,
            Record::Point(taken) => self.run().points.push(taken.point),
            Record::Around(around) => around.mark(&mut self.run().points),
            Record::Mark(mark) => self.run().marks.push(mark),
            Record::End(end) => self.run().end = Some(end),
        }
    }

    fn run(&mut self) -> &mut Run {
        if self.runs.is_empty() {
            self.runs.push(Run::default());
        }
        self.runs.last_mut().expect("one was just put there")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::samples::parse_line;

    fn text(records: &[Record]) -> String {
        let line = |record| serde_json::to_string(record).expect("serialises") + "\n";
        records.iter().map(line).collect()
    }

    fn read(text: &str) -> Journal {
        Journal::read(text.as_bytes()).expect("memory does not fail")
    }

    fn records() -> (Identity, Point, Vec<Record>) {
        let identity = Identity { command: vec!["tune".into()], at_ms: 5, ..Identity::default() };
        let point =
            parse_line("name=gemm m=16 dtype=bf16 t_ns=10.5,11 tainted=shared").expect("a point");
        let window = Window { frames: 3, others: vec![7], ..Window::default() };
        let taken = Taken { at_ms: Some(6), point: point.clone(), window: Some(window) };
        let all = vec![
            Record::Run(Box::new(identity.clone())),
            Record::Point(Box::new(taken)),
            Record::Mark(Mark { at_ms: 7, text: "new tile".into() }),
            Record::End(End { at_ms: 8, samples: 2, exit: Some(0), signal: None }),
        ];
        (identity, point, all)
    }

    #[test]
    fn what_is_written_reads_back() {
        let (identity, point, all) = records();
        let journal = read(&text(&all));
        assert_eq!(journal.skipped, Skipped::default());
        let run = &journal.runs[0];
        assert_eq!((&run.identity, &run.points, run.marks.len()), (&identity, &vec![point], 1));
        assert_eq!(run.end.as_ref().map(|end| end.samples), Some(2));
    }

    #[test]
    fn what_is_found_out_later_takes_the_place_of_the_first_line() {
        let mut identity = Identity { at_ms: 5, ..Identity::default() };
        let first = Record::Run(Box::new(identity.clone()));
        identity.commit = Some("c0ffee".into());
        identity.dirty = Dirty::NotHashed;
        let later = Record::Identity(Box::new(identity.clone()));
        let journal = read(&(text(&[first]) + "name=a t_us=1\n" + &text(&[later])));
        let run = &journal.runs[0];
        assert_eq!((journal.runs.len(), &journal.skipped), (1, &Skipped::default()));
        assert_eq!((&run.identity, run.points.len()), (&identity, 1));
    }

    #[test]
    fn every_state_of_a_folder_reads_back_and_older_journals_have_two() {
        for (json, dirty) in [
            ("null", Dirty::No),
            ("\"5a5a\"", Dirty::Hash("5a5a".into())),
            ("\"not hashed\"", Dirty::NotHashed),
            ("\"unknown\"", Dirty::Unknown),
        ] {
            let identity: Identity =
                serde_json::from_str(&format!("{{\"dirty\":{json}}}")).expect("reads");
            assert_eq!(identity.dirty, dirty);
            let text = serde_json::to_string(&identity).expect("serialises");
            assert!(text.contains(&format!("\"dirty\":{json}")), "{text}");
        }
    }

    #[test]
    fn the_machine_around_points_marks_as_many_as_it_says_and_no_more() {
        let mut journal =
            read("{\"type\":\"run\"}\nname=a t_us=1\nname=b t_us=1\nname=c device=cpu t_us=1");
        for (points, marked) in [(2, [false, true, true]), (99, [true; 3])] {
            let around = Around {
                points,
                device: Some("T4".into()),
                tainted: vec!["shared".into()],
                ..Around::default()
            };
            journal.take(Record::Around(Box::new(around)));
            let points = &journal.runs[0].points;
            let seen: Vec<bool> = points.iter().map(|one| one.tainted == ["shared"]).collect();
            assert_eq!(seen.as_slice(), &marked[..]);
        }
        let device = |at: usize| journal.runs[0].points[at].key.device.as_deref();
        assert_eq!((device(1), device(2)), (Some("T4"), Some("cpu")));
    }

    #[test]
    fn a_torn_line_costs_itself_only_wherever_it_was_torn() {
        let (.., all) = records();
        let (first, second) = (text(&all[..1]), text(&all[1..2]));
        for end in 1..second.len() - 1 {
            let torn = format!("{first}{}\n{second}", &second[..end]);
            let journal = read(&torn);
            assert_eq!(
                (journal.runs[0].points.len(), journal.skipped.count),
                (1, 1),
                "torn at {end}"
            );
        }
    }

    #[test]
    fn a_run_of_another_format_is_refused_by_name() {
        let journal = read("{\"type\":\"run\",\"schema\":99}\n{\"type\":\"dream\"}");
        assert_eq!(journal.skipped.count, 2);
        let first = journal.skipped.first.expect("is told");
        assert!(first.0 == 1 && first.1.starts_with("format 99"), "{first:?}");
    }

    #[test]
    fn only_known_variables_are_written_down() {
        let mut identity = Identity::default();
        identity.take_environment(|name| Some(format!("value of {name}")));
        assert_eq!(identity.environment.len(), identity::ENVIRONMENT.len());
        assert!(!identity.environment.contains_key("AWS_SECRET_ACCESS_KEY"));
    }
}
