//! Reported outcomes, asked in the words of the people who met them as the command line reads them.
//!
//! The rows of a file were written down before the program was asked about any of them. What it said then is the honest measure.

use std::ffi::OsString;

use serde::Deserialize;
use warpscope_probes::rules::RuleBase;

use crate::commands::ALL;
use crate::commands::answer::{Request, doubted};
use crate::commands::cli::raw_args::{Parsed, parse};
use crate::commands::cli::resolve;
use crate::config::Environment;
use crate::engine::{Confidence, Outcome, Verdict, evaluate_without_fixes};

const ROWS: &str = include_str!("../../../tests/verdicts/asked/draw_2811c.jsonl");

/// More questions that are refused, or answered wrongly and surely, are a step back, and so are fewer right ones.
const MOST_REFUSED: usize = 180;
const MOST_SURELY_WRONG: usize = 180;
const LEAST_RIGHT: usize = 0;

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

fn reported() -> Vec<Reported> {
    let rows = ROWS.lines().map(serde_json::from_str);
    rows.collect::<Result<_, _>>().expect("rows of the sample")
}

/// Prints how often each mark was given and every row that is not right: `cargo test people_are_answered -- --nocapture`.
#[test]
fn people_are_answered_in_their_own_words() {
    let base = RuleBase::builtin();
    let (mut marks, mut missed) = (std::collections::BTreeMap::new(), Vec::new());
    for one in reported() {
        let (mark, said) = match one.answers(base) {
            Err(error) => (Mark::Refused, error),
            Ok(verdicts) => {
                let said =
                    |one: &Verdict| format!("{} {}: {}", one.outcome, one.config, one.reason);
                (one.mark(&verdicts), verdicts.iter().map(said).collect::<Vec<_>>().join(" | "))
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
    println!("{}\n{marks:?}", missed.join("\n"));
    let count = |mark| marks.get(&mark).copied().unwrap_or(0);
    assert!(count(Mark::Refused) <= MOST_REFUSED);
    assert!(count(Mark::SurelyWrong) <= MOST_SURELY_WRONG);
    assert!(count(Mark::Right) >= LEAST_RIGHT);
}

#[test]
fn every_row_is_about_a_gpu_of_its_compute_capability() {
    for one in reported() {
        let Ok(verdicts) = one.answers(RuleBase::builtin()) else { continue };
        let has = verdicts.first().map(|verdict| verdict.has.clone()).unwrap_or_default();
        assert!(has.contains(&one.sm), "row {}: {has}", one.row);
    }
}
