//! What searches found best, kept so that programs and later searches can use it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::parameters::Parameters;
use super::trial::{Board, Problem};
use crate::runs::samples::Key;

/// Number of the file's format.
pub const WINNERS_SCHEMA: u32 = 1;
/// Candidates within this share of the best are kept beside it.
const NEAR: f64 = 0.03;

/// A candidate and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// Its parameters.
    pub parameters: Parameters,
    /// Median of its samples, nanoseconds; less the drift of the machine while others were timed.
    pub median_ns: f64,
}

/// The best of one kernel, size and number format on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Winner {
    /// What was tuned.
    pub key: Key,
    /// The best first, then those that come near it.
    pub best: Vec<Timed>,
    /// Time against the baseline's: -0.1 is ten per cent less.
    pub change: f64,
    /// Milliseconds since 1970.
    pub at_ms: u64,
    /// Hash of the sources and the spec.
    pub source: String,
}

impl Winner {
    /// The best of a problem, where there is one with a time.
    pub fn new(board: &Board, problem: &Problem, source: &str, at_ms: u64) -> Option<Self> {
        let best = problem.best()?;
        let ratio = problem.ratio(best)?;
        let baseline = problem.trials[problem.baseline?].quartiles()?.median;
        let mut near: Vec<(usize, f64)> = (0..problem.trials.len())
            .filter_map(|at| Some((at, problem.ratio(at)?)))
            .filter(|one| {
                one.0 == best || problem.objective.is_none() && one.1 <= ratio * (1.0 + NEAR)
            })
            .collect();
        near.sort_by(|one, other| {
            (one.0 != best, one.1)
                .partial_cmp(&(other.0 != best, other.1))
                .expect("times are numbers")
        });
        let timed = |(at, ratio): (usize, f64)| Timed {
            parameters: board.candidates[at].clone(),
            median_ns: ratio * baseline,
        };
        Some(Self {
            key: problem.key.clone(),
            best: near.into_iter().map(timed).collect(),
            change: ratio - 1.0,
            at_ms,
            source: source.to_owned(),
        })
    }

    /// Whether all these words are among those of its key.
    fn is_named(&self, words: &[String]) -> bool {
        let key = self.key.to_string();
        let own: BTreeSet<&str> = key.split_whitespace().collect();
        words.iter().flat_map(|word| word.split_whitespace()).all(|word| own.contains(word))
    }
}

/// All winners of a home folder, which several machines may share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Winners {
    /// [`WINNERS_SCHEMA`] of the writer.
    pub schema: u32,
    /// By machine and key.
    pub machines: BTreeMap<String, BTreeMap<String, Winner>>,
}

impl Default for Winners {
    fn default() -> Self {
        Self { schema: WINNERS_SCHEMA, machines: BTreeMap::new() }
    }
}

impl Winners {
    /// Reads what a file holds.
    pub fn parse(text: &str) -> Result<Self, String> {
        let winners: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if winners.schema != WINNERS_SCHEMA {
            return Err(format!(
                "format {}; this warpscope reads {WINNERS_SCHEMA}: move the file away and tune again",
                winners.schema
            ));
        }
        let mut all = winners.machines.values().flat_map(BTreeMap::values);
        match all.find(|one| one.best.is_empty() || one.key.name.is_empty()) {
            Some(_) => Err("an entry without a kernel or a candidate".to_owned()),
            None => Ok(winners),
        }
    }

    /// Keeps a winner in place of the one before.
    pub fn set(&mut self, machine: &str, winner: Winner) {
        let own = self.machines.entry(machine.to_owned()).or_default();
        own.insert(winner.key.to_string(), winner);
    }

    /// The parameters that won the last search of this kernel, size and number format on a machine.
    pub fn last(&self, machine: &str, key: &Key) -> Option<&Parameters> {
        let mut own = self.machines.get(machine)?.values();
        let same = own.find(|winner| {
            let known = &winner.key;
            (&known.name, &known.shape, &known.dtype) == (&key.name, &key.shape, &key.dtype)
        })?;
        same.best.first().map(|best| &best.parameters)
    }

    /// Winners of a machine whose keys have all these words.
    pub fn named(&self, machine: &str, words: &[String]) -> Vec<&Winner> {
        let own = self.machines.get(machine).into_iter().flat_map(BTreeMap::values);
        own.filter(|winner| winner.is_named(words)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::{CandidateRun, ParsedOutput, State};

    fn board() -> Board {
        let trial = |times: [f64; 3], ratio: f64| CandidateRun {
            state: State::Done,
            said: ParsedOutput { times: times.to_vec(), ..ParsedOutput::default() },
            blocks: vec![ratio],
            ..CandidateRun::default()
        };
        let trials = vec![
            trial([100.0; 3], 1.0),
            trial([50.0, 51.0, 52.0], 0.5),
            trial([52.0; 3], 0.51),
            trial([60.0; 3], 0.6),
        ];
        let key = Key { name: "k".into(), dtype: Some("bf16".into()), ..Key::default() };
        let candidate = |block: u32| Parameters([("block".to_owned(), block.to_string())].into());
        Board {
            candidates: [1, 2, 4, 8].map(candidate).to_vec(),
            problems: vec![Problem { key, trials, baseline: Some(0), ..Problem::default() }],
        }
    }

    #[test]
    fn the_best_is_kept_with_those_near_it_and_found_by_words_of_its_key() {
        let board = board();
        let winner = Winner::new(&board, &board.problems[0], "5eed", 7).expect("a winner");
        let best: Vec<_> =
            winner.best.iter().map(|one| (one.parameters.to_string(), one.median_ns)).collect();
        assert_eq!(best, [("block=2".to_owned(), 50.0), ("block=4".to_owned(), 51.0)]);
        assert_eq!(winner.change, -0.5);
        let mut winners = Winners::default();
        winners.set("here", winner.clone());
        let text = serde_json::to_string(&winners).expect("serialises");
        let winners = Winners::parse(&text).expect("reads back");
        let named = |machine: &str, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            winners.named(machine, &words).len()
        };
        assert_eq!(named("here", &["k"]), 1);
        assert_eq!(named("here", &["k bf16"]), 1);
        assert_eq!(named("here", &[]), 1);
        assert_eq!((named("here", &["kk"]), named("there", &["k"])), (0, 0));
        let last = |machine: &str| winners.last(machine, &winner.key).map(ToString::to_string);
        assert_eq!((last("here").as_deref(), last("there")), (Some("block=2"), None));
    }

    #[test]
    fn files_of_others_are_refused() {
        for text in ["", "{}", r#"{"schema":2,"machines":{}}"#] {
            assert!(Winners::parse(text).is_err(), "{text}");
        }
        let empty = r#"{"schema":1,"machines":{"m":{"k":{"key":{"name":"k"},"best":[],"change":0,"at_ms":0,"source":""}}}}"#;
        assert!(Winners::parse(empty).is_err());
    }
}
