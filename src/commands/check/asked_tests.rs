//! Reported outcomes, asked in the words of the people who met them as the command line reads them.
//!
//! The rows of a file were written down before the program was asked about any of them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde::Deserialize;
use warpscope_probes::rules::RuleBase;

use crate::commands::ALL;
use crate::commands::answer::{Request, doubted};
use crate::commands::cli::raw_args::{Parsed, parse};
use crate::commands::cli::resolve;
use crate::config::Environment;
use crate::engine::{Confidence, Outcome, Verdict, evaluate_without_fixes};

/// Reports that were put down at one time.
struct Sample {
    name: &'static str,
    rows: &'static str,
    /// More questions that are refused, or answered wrongly and surely, are a step back, and so are fewer right ones.
    most_refused: usize,
    most_surely_wrong: usize,
    least_right: usize,
    /// How it came out when it was first asked, before anything was mended for it: the honest measure.
    at_first: &'static str,
}

const SAMPLES: &[Sample] = &[
    Sample {
        name: "draw_2811c",
        rows: include_str!("../../../tests/verdicts/asked/draw_2811c.jsonl"),
        most_refused: 6,
        most_surely_wrong: 4,
        least_right: 119,
        at_first: "of 180, 15 right, 143 refused for a word; in the nearest words that were understood 88 right, 41 unknown, 6 without a known \
                   obstacle (2 of them ran), 40 wrong, 22 of these surely, and 5 refused",
    },
    Sample {
        name: "draw_2811d",
        rows: include_str!("../../../tests/verdicts/asked/draw_2811d.jsonl"),
        most_refused: 3,
        most_surely_wrong: 3,
        least_right: 20,
        at_first: "of 64, 20 right, 7 in part, 2 without a known obstacle (both ran), 19 unknown, 13 wrong, 3 of these surely, 3 refused; half of \
                   the rows are about forks, wrappers, or GPUs and releases that only follow from the thread",
    },
];

/// One reported outcome.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reported {
    row: usize,
    gpu: String,
    sm: String,
    #[serde(default = "one")]
    count: usize,
    driver: Option<String>,
    /// The framework, and its release or the month.
    ask: String,
    words: String,
    outcome: Outcome,
    source: String,
    date: String,
}

const fn one() -> usize {
    1
}

/// What the answers to one question are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Right,
    /// Some configurations are said to run, others not.
    Mixed,
    /// No obstacle is known, and it ran.
    Unobstructed,
    /// No obstacle is known, and it did not run.
    Obstructed,
    Unknown,
    Wrong,
    SurelyWrong,
    Refused,
}

impl Reported {
    fn answers(&self, base: &RuleBase) -> Result<Vec<Verdict>, String> {
        let gpus = match self.count {
            1 => self.gpu.clone(),
            count => format!("{count}x{}", self.gpu),
        };
        let mut line = vec!["warpscope", "check", &*self.ask];
        line.extend(self.words.split_whitespace());
        line.extend(self.driver.iter().flat_map(|version| ["driver", version]));
        line.extend(["--gpu", &gpus]);
        let said = |error| format!("{error}");
        let Parsed::Run(raw) = parse(ALL, line.into_iter().map(OsString::from)).map_err(said)?
        else {
            return Err("help".to_owned());
        };
        let options = resolve(&raw, Environment::default(), ALL).map_err(said)?;
        let request = Request::new(&options, base).map_err(said)?;
        let target = request.gpus.first().ok_or("no GPU")?;
        let answer = |question| {
            let about = request.assumptions.about(base, target, question);
            let verdict = evaluate_without_fixes(base, target, question, &about);
            doubted(verdict, &request.said.open)
        };
        Ok(request.questions(base).map_err(said)?.iter().map(answer).collect())
    }

    fn mark(&self, verdicts: &[Verdict]) -> Mark {
        let is_decided =
            |one: &&Verdict| !matches!(one.outcome, Outcome::Unknown | Outcome::NoObstacle);
        let decided: Vec<&Verdict> = verdicts.iter().filter(is_decided).collect();
        let agrees = |one: &&Verdict| one.outcome.is_bad() == self.outcome.is_bad();
        let is_open = verdicts.iter().any(|one| one.outcome == Outcome::NoObstacle);
        match (decided.iter().filter(|one| agrees(one)).count(), decided.len()) {
            (0, 0) if is_open && self.outcome.is_bad() => Mark::Obstructed,
            (0, 0) if is_open => Mark::Unobstructed,
            (0, 0) => Mark::Unknown,
            (agreeing, all) if agreeing == all => Mark::Right,
            (0, _) if decided.iter().any(|one| one.confidence == Some(Confidence::High)) => {
                Mark::SurelyWrong
            }
            (0, _) => Mark::Wrong,
            _ => Mark::Mixed,
        }
    }
}

impl Sample {
    fn reported(&self) -> Vec<Reported> {
        let rows = self.rows.lines().map(serde_json::from_str);
        rows.collect::<Result<_, _>>().expect(self.name)
    }

    /// How often each mark was given, and every row that is not right.
    fn marks(&self, base: &RuleBase) -> (BTreeMap<Mark, usize>, Vec<String>) {
        let (mut marks, mut missed) = (BTreeMap::new(), Vec::new());
        for one in self.reported() {
            let (mark, said) = match one.answers(base) {
                Err(error) => (Mark::Refused, error),
                Ok(verdicts) => {
                    let has = verdicts.first().map_or("", |verdict| &verdict.has);
                    assert!(has.contains(&one.sm), "row {}: {has}", one.row);
                    (one.mark(&verdicts), said(&verdicts))
                }
            };
            *marks.entry(mark).or_insert(0) += 1;
            if mark != Mark::Right {
                missed.push(format!(
                    "{mark:?}: row {} {} {} ({}): reported {}, said {said} [{}, {}]",
                    one.row, one.ask, one.words, one.gpu, one.outcome, one.source, one.date
                ));
            }
        }
        missed.sort();
        (marks, missed)
    }
}

fn said(verdicts: &[Verdict]) -> String {
    let said = |one: &Verdict| format!("{} {}: {}", one.outcome, one.config, one.reason);
    verdicts.iter().map(said).collect::<Vec<_>>().join(" | ")
}

/// Prints the marks of each sample: `cargo test people_are_answered -- --nocapture`.
#[test]
fn people_are_answered_in_their_own_words() {
    for sample in SAMPLES {
        let (marks, missed) = sample.marks(RuleBase::builtin());
        println!(
            "{}\n{}: {marks:?}\nwhen first asked: {}\n",
            missed.join("\n"),
            sample.name,
            sample.at_first
        );
        let count = |mark| marks.get(&mark).copied().unwrap_or(0);
        assert!(count(Mark::Refused) <= sample.most_refused, "{}: {marks:?}", sample.name);
        assert!(count(Mark::SurelyWrong) <= sample.most_surely_wrong, "{}: {marks:?}", sample.name);
        assert!(count(Mark::Right) >= sample.least_right, "{}: {marks:?}", sample.name);
    }
}
