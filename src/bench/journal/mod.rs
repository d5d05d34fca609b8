//! A run on paper: who ran what, every sample taken, and the state of the machine around each.
//!
//! JSON Lines, one record a line, the first one naming the run. Raw samples and never only means: a mean cannot be compared again. Lines are
//! told apart by their first key, so that a reader of ten million samples parses each once.

mod identity;
mod window;

use serde::{Deserialize, Serialize};

pub use identity::{Device, ENVIRONMENT, Identity, Regime};
pub use window::{Span, Window};

use super::points::{Point, parse_line};

/// Number of the journal's format.
pub const JOURNAL_SCHEMA: u32 = 1;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Record {
    /// First line of a run.
    Run(Box<Identity>),
    /// Samples, and the machine while they were taken.
    Point(Box<Taken>),
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
    pub damaged: u64,
    /// The first of them, and why.
    pub first_damage: Option<String>,
}

impl Journal {
    /// Takes one line. What does not read is counted and costs itself only.
    pub fn take(&mut self, number: u64, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        if let Err(why) = self.try_take(line) {
            self.damaged += 1;
            self.first_damage.get_or_insert_with(|| format!("line {number}: {why}"));
        }
    }

    fn try_take(&mut self, line: &str) -> Result<(), String> {
        let text = |error: serde_json::Error| error.to_string();
        match kind(line) {
            Some("run") => {
                let identity: Identity = serde_json::from_str(line).map_err(text)?;
                if identity.schema != JOURNAL_SCHEMA {
                    return Err(format!(
                        "format {} of a run; this warpscope reads {JOURNAL_SCHEMA}",
                        identity.schema
                    ));
                }
                self.runs.push(Run { identity, ..Run::default() });
            }
            Some("point") => {
                let point = parse_line(line).map_err(|error| error.to_string())?;
                self.run().points.push(point);
            }
            Some("mark") => {
                let mark = serde_json::from_str(line).map_err(text)?;
                self.run().marks.push(mark);
            }
            Some("end") => {
                let end = serde_json::from_str(line).map_err(text)?;
                self.run().end = Some(end);
            }
            Some(other) => return Err(format!("a record of kind {other:?}")),
            None => {
                let point = parse_line(line).map_err(|error| error.to_string())?;
                self.run().points.push(point);
            }
        }
        Ok(())
    }

    fn run(&mut self) -> &mut Run {
        if self.runs.is_empty() {
            self.runs.push(Run::default());
        }
        self.runs.last_mut().expect("one was just put there")
    }
}

/// The kind a line names as its first key.
fn kind(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("{\"type\":\"")?;
    rest.split_once('"').map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(records: &[Record]) -> String {
        let line = |record| serde_json::to_string(record).expect("serialises") + "\n";
        records.iter().map(line).collect()
    }

    fn read(text: &str) -> Journal {
        let mut journal = Journal::default();
        for (number, line) in text.lines().enumerate() {
            journal.take(number as u64 + 1, line);
        }
        journal
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
            Record::End(End { at_ms: 8, samples: 2, exit: Some(0) }),
        ];
        (identity, point, all)
    }

    #[test]
    fn what_is_written_reads_back() {
        let (identity, point, all) = records();
        let journal = read(&text(&all));
        assert_eq!((journal.damaged, journal.first_damage), (0, None));
        let run = &journal.runs[0];
        assert_eq!((&run.identity, &run.points, run.marks.len()), (&identity, &vec![point], 1));
        assert_eq!(run.end.as_ref().map(|end| end.samples), Some(2));
    }

    #[test]
    fn a_torn_line_costs_itself_only_wherever_it_was_torn() {
        let (.., all) = records();
        let (first, second) = (text(&all[..1]), text(&all[1..2]));
        for end in 1..second.len() - 1 {
            let torn = format!("{first}{}\n{second}", &second[..end]);
            let journal = read(&torn);
            assert_eq!((journal.runs[0].points.len(), journal.damaged), (1, 1), "torn at {end}");
        }
    }

    #[test]
    fn a_run_of_another_format_is_refused_by_name() {
        let journal = read("{\"type\":\"run\",\"schema\":99}\n{\"type\":\"dream\"}");
        assert_eq!(journal.damaged, 2);
        assert!(journal.first_damage.is_some_and(|why| why.contains("line 1: format 99")));
    }

    #[test]
    fn only_known_variables_are_written_down() {
        let mut identity = Identity::default();
        identity.take_environment(|name| Some(format!("value of {name}")));
        assert_eq!(identity.environment.len(), identity::ENVIRONMENT.len());
        assert!(!identity.environment.contains_key("AWS_SECRET_ACCESS_KEY"));
    }
}
