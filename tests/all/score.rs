//! The engine against what people reported: `tests/verdicts/reported/` holds rows, each a question and how it ended, in blocks: the
//! reports that rules were first read from; those `held_out` (later ones, and the last), put down before the rules were asked about them; those of `local` use,
//! of `serving` frameworks and of `libraries`, likewise; and those whose `causes` of a miss were looked at. Each block is counted by itself.
//!
//! An answer is *right* when it falls into the same of four classes as the report: works; runs slowly or by another route; wrong output;
//! fails. Partial counts as fails: both tell a person no. *Unknown* is an answer of its own. Everything else is *wrong*, and *confidently
//! wrong* when a person was told that it runs and it did not, or the reverse; that a thing works where another route was reported is
//! wrong, and does no such harm; nor does an answer that says it is disputed. *No known obstacle* is counted apart: it holds where the report is of something that ran. A question without a named version or setting stays one: nothing is filled in to please a rule.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpscope::engine::{Assumptions, Origin, Outcome, Question, Target, Verdict, evaluate};
use warpscope_kernels::Sm;
use warpscope_probes::catalogue::{Catalogue, what_if};
use warpscope_probes::driver::Driver;
use warpscope_probes::releases::release_on;
use warpscope_probes::rules::{RuleBase, Settings};

use super::verdicts::base;

/// So many rows are reported.
const ROWS: usize = 107;

/// Fewer right answers than this are a step back. Raise it when rules get better.
const LEAST_RIGHT: usize = 97;

/// The same of the reports whose causes were looked at. Put so, 30 of 78 were right at first and 45 unknown.
const LEAST_RIGHT_CAUSES: usize = 70;

/// The same of the reports held out. Before any rule was changed for what they showed, 44 of 95 were right and 7 confidently wrong.
const LEAST_RIGHT_HELD_OUT: usize = 81;

/// The same of the reports held out later. When first asked, 21 of 64 were right, 29 unknown and 5 confidently wrong.
const LEAST_RIGHT_HELD_OUT_LATER: usize = 40;

/// The same of the last reports held out. When first asked, 32 of 63 were right, 13 unknown and 8 confidently wrong.
const LEAST_RIGHT_HELD_OUT_LAST: usize = 44;

/// The same of the reports of local use. When first asked, 23 of 45 were right, 18 unknown and 1 confidently wrong.
const LEAST_RIGHT_LOCAL: usize = 27;

/// The same of the reports of serving frameworks. When first asked, 21 of 70 were right, 40 unknown and 5 confidently wrong.
const LEAST_RIGHT_SERVING: usize = 58;

/// The same of the later reports of local use.
const LEAST_RIGHT_LOCAL_LATER: usize = 35;

/// The same of the reports of libraries. When first asked, 27 of 40 were right, 11 unknown and 2 confidently wrong.
const LEAST_RIGHT_LIBRARIES: usize = 37;

/// The same of the later reports of libraries. When first asked, 18 of 22 were right and 4 unknown.
const LEAST_RIGHT_LIBRARIES_LATER: usize = 18;

/// More confidently wrong answers than this share are not tolerated.
const MOST_CONFIDENTLY_WRONG: f64 = 0.03;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    block: Block,
    case: Vec<Reported>,
}

/// What the reports of a file are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Block {
    /// Rules were read from them.
    #[default]
    First,
    /// Put down before the rules were asked about them.
    HeldOut,
    /// The same, put down when rules had learned from the first.
    HeldOutLater,
    /// The same, put down when works-rules had been written for whole frameworks.
    HeldOutLast,
    /// The same, of what people run on their own machines, put down before the rules were asked.
    Local,
    /// The same, of serving frameworks and the kernels they load.
    Serving,
    /// The same, put down when rules had learned from those.
    LocalLater,
    /// The same, of libraries that frameworks are made of.
    Libraries,
    /// The same, put down with those and asked when rules had learned from them.
    LibrariesLater,
    /// Causes of misses were looked at.
    Causes,
}

/// One reported outcome.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reported {
    row: usize,
    gpu: String,
    sm: Option<Sm>,
    driver: Option<String>,
    framework: String,
    version: Option<String>,
    #[serde(default)]
    set: Settings,
    /// Version and configuration in the words of the thread.
    words: String,
    outcome: Outcome,
    /// The message they met.
    symptom: Option<String>,
    source: String,
}

impl Reported {
    fn ask(&self, base: &RuleBase) -> Verdict {
        let framework = framework_id(base, &self.framework);
        // A month stands for the newest release of its end, as on the command line.
        let released = |version: &String| {
            release_on(&framework, version).map_or_else(|| version.clone(), str::to_owned)
        };
        let question = Question {
            version: self.version.as_ref().map(released),
            framework,
            config: self.set.clone(),
            origin: if self.version.is_some() { Origin::Asked } else { Origin::Known },
            ..Question::default()
        };
        let (assumptions, target) = (Assumptions::default(), self.target());
        let question = assumptions.asked(base, &question).expect("no model to contradict");
        let published = assumptions.about(base, &target, &question);
        evaluate(base, &target, &question, &published)
    }

    /// The product of the catalogue where the name means one of this compute capability.
    fn target(&self) -> Target {
        let Some(sm) = self.sm else {
            return Target { label: self.gpu.clone(), ..Target::default() };
        };
        let part = Catalogue::load().find(&self.gpu).ok().filter(|part| part.sm == sm);
        let target = part.map_or_else(
            || Target::of_sm(self.gpu.clone(), sm),
            |part| Target::from_gpu(&what_if(part, 0), &Driver::default()),
        );
        Target { driver: self.driver.clone(), ..target }
    }

    fn missed(&self, mark: Mark, verdict: &Verdict) -> String {
        format!(
            "{mark:?}: row {} {} ({}), {}: reported {}, said {}: {} [{}]",
            self.row,
            self.gpu,
            self.sm.map_or_else(|| "?".to_owned(), |sm| sm.cc()),
            self.words,
            self.outcome,
            verdict.outcome,
            verdict.reason,
            self.source
        )
    }

    fn block(&self) -> &'static str {
        match self.sm.map(|sm| (sm.major, sm.minor)) {
            None => "not named",
            Some((..=4, _)) => "3.x",
            Some((5, _)) => "5.x",
            Some((6, _)) => "6.x",
            Some((7, 5)) => "7.5",
            Some((7, _)) => "7.0",
            Some((8, 9)) => "8.9",
            Some((8, _)) => "8.0-8.7",
            Some((9, _)) => "9.0",
            Some(_) => "10.0 and later",
        }
    }
}

/// The id of a framework named by id, name or alias; itself where no file speaks of it.
fn framework_id(base: &RuleBase, name: &str) -> String {
    let plain = |text: &str| text.replace(['-', '_', '.', ' '], "").to_lowercase();
    let is = |text: &String| plain(text) == plain(name);
    let known = base
        .frameworks()
        .iter()
        .find(|one| is(&one.id) || is(&one.name) || one.aliases.iter().any(is));
    known.map_or_else(|| name.to_owned(), |one| one.id.clone())
}

/// The reports of one block.
fn reported(block: Block) -> Vec<Reported> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts/reported");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut rows: Vec<Reported> = files
        .flat_map(|entry| {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("text");
            let file: File =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            if file.block == block { file.case } else { Vec::new() }
        })
        .collect();
    rows.sort_by_key(|one| one.row);
    rows
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Right,
    /// No obstacle was known, and it ran.
    Unobstructed,
    /// No obstacle was known, and it did not run.
    Obstructed,
    Unknown,
    Wrong,
    ConfidentlyWrong,
}

/// Works, detour, wrong output, fails.
fn class(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Works => 0,
        Outcome::Fallback | Outcome::Slow => 1,
        Outcome::WrongOutput => 2,
        Outcome::Partial | Outcome::Fails => 3,
        Outcome::NoObstacle | Outcome::Unknown => 4,
    }
}

fn mark(reported: Outcome, said: Outcome, disputed: bool) -> Mark {
    match () {
        () if said == Outcome::Unknown => Mark::Unknown,
        () if said == Outcome::NoObstacle && reported.is_bad() => Mark::Obstructed,
        () if said == Outcome::NoObstacle => Mark::Unobstructed,
        () if class(said) == class(reported) => Mark::Right,
        () if said.is_bad() != reported.is_bad() && !disputed => Mark::ConfidentlyWrong,
        () => Mark::Wrong,
    }
}

#[test]
fn every_reported_row_is_there_once_with_its_source() {
    let (rows, held_out) = (reported(Block::First), reported(Block::HeldOut));
    let (later, causes) = (reported(Block::HeldOutLater), reported(Block::Causes));
    let (last, local) = (reported(Block::HeldOutLast), reported(Block::Local));
    let (serving, local_later) = (reported(Block::Serving), reported(Block::LocalLater));
    let (libraries, libraries_later) =
        (reported(Block::Libraries), reported(Block::LibrariesLater));
    let numbers: Vec<_> = rows.iter().map(|one| one.row).collect();
    assert_eq!(numbers, (1..=ROWS).collect::<Vec<_>>());
    for block in
        [&held_out, &later, &last, &local, &serving, &local_later, &libraries, &libraries_later]
    {
        assert!(block.windows(2).all(|two| two[0].row < two[1].row), "a number is there twice");
    }
    let held =
        [held_out, later, last, local, serving, local_later, libraries, libraries_later, causes];
    for one in rows.iter().chain(held.iter().flatten()) {
        assert!(!one.source.is_empty() && !one.words.is_empty(), "row {}", one.row);
        assert_ne!(one.outcome, Outcome::Unknown, "row {}", one.row);
        let ran = one.outcome == Outcome::Works;
        assert!(one.symptom.is_some() || !one.outcome.is_bad() || ran, "row {}", one.row);
    }
}

#[test]
fn marks_follow_their_definition() {
    for (reported, said, want) in [
        (Outcome::Works, Outcome::Works, Mark::Right),
        (Outcome::Slow, Outcome::Fallback, Mark::Right),
        (Outcome::Fails, Outcome::Partial, Mark::Right),
        (Outcome::Works, Outcome::Fallback, Mark::Wrong),
        (Outcome::WrongOutput, Outcome::Fails, Mark::Wrong),
        (Outcome::WrongOutput, Outcome::Works, Mark::ConfidentlyWrong),
        (Outcome::Slow, Outcome::Fails, Mark::ConfidentlyWrong),
        (Outcome::Fails, Outcome::Unknown, Mark::Unknown),
        (Outcome::Slow, Outcome::NoObstacle, Mark::Unobstructed),
        (Outcome::WrongOutput, Outcome::NoObstacle, Mark::Obstructed),
    ] {
        assert_eq!(mark(reported, said, false), want, "{reported:?} {said:?}");
    }
    assert_eq!(mark(Outcome::Works, Outcome::Fails, true), Mark::Wrong);
}

/// How often each mark was given, by block of compute capability and together.
#[derive(Default)]
struct Score {
    blocks: BTreeMap<&'static str, BTreeMap<Mark, usize>>,
    missed: Vec<String>,
}

impl Score {
    fn of(rows: &[Reported]) -> Self {
        let mut score = Self::default();
        for one in rows {
            let verdict = one.ask(base());
            let mark = mark(one.outcome, verdict.outcome, verdict.disputed);
            for block in [one.block(), "together"] {
                *score.blocks.entry(block).or_default().entry(mark).or_default() += 1;
            }
            if mark != Mark::Right {
                score.missed.push(one.missed(mark, &verdict));
            }
        }
        score.missed.sort();
        score
    }

    fn count(&self, block: &str, mark: Mark) -> usize {
        self.blocks.get(block).and_then(|marks| marks.get(&mark)).copied().unwrap_or(0)
    }

    fn print(&self, title: &str) {
        println!(
            "{title:<16}{:>6}{:>16}{:>9}{:>7}{:>13}",
            "right", "no obstacle, of", "unknown", "wrong", "confidently"
        );
        for block in self.blocks.keys() {
            let count = |mark| self.count(block, mark);
            println!(
                "{block:<16}{:>6}{:>11}{:>5}{:>9}{:>7}{:>13}",
                count(Mark::Right),
                count(Mark::Unobstructed),
                count(Mark::Unobstructed) + count(Mark::Obstructed),
                count(Mark::Unknown),
                count(Mark::Wrong) + count(Mark::ConfidentlyWrong),
                count(Mark::ConfidentlyWrong)
            );
        }
        println!("{}\n", self.missed.join("\n"));
    }
}

/// Prints the score by block of compute capability and every row that is not right: `cargo test score -- --nocapture`.
#[test]
fn reported_outcomes_are_met_and_rarely_contradicted() {
    check("reported", &reported(Block::First), LEAST_RIGHT);
}

#[test]
fn reports_held_out_are_met_and_rarely_contradicted() {
    check("held out", &reported(Block::HeldOut), LEAST_RIGHT_HELD_OUT);
}

#[test]
fn reports_held_out_later_are_met_and_rarely_contradicted() {
    check("held out later", &reported(Block::HeldOutLater), LEAST_RIGHT_HELD_OUT_LATER);
}

#[test]
fn reports_held_out_last_are_met_and_rarely_contradicted() {
    check("held out last", &reported(Block::HeldOutLast), LEAST_RIGHT_HELD_OUT_LAST);
}

#[test]
fn reports_of_local_use_are_met_and_rarely_contradicted() {
    check("local", &reported(Block::Local), LEAST_RIGHT_LOCAL);
}

#[test]
fn reports_of_serving_are_met_and_rarely_contradicted() {
    check("serving", &reported(Block::Serving), LEAST_RIGHT_SERVING);
}

#[test]
fn later_reports_of_local_use_are_met_and_rarely_contradicted() {
    check("local later", &reported(Block::LocalLater), LEAST_RIGHT_LOCAL_LATER);
}

#[test]
fn reports_of_libraries_are_met_and_rarely_contradicted() {
    check("libraries", &reported(Block::Libraries), LEAST_RIGHT_LIBRARIES);
}

#[test]
fn later_reports_of_libraries_are_met_and_rarely_contradicted() {
    check("libraries later", &reported(Block::LibrariesLater), LEAST_RIGHT_LIBRARIES_LATER);
}

#[test]
fn reports_whose_causes_were_looked_at_are_met() {
    check("causes", &reported(Block::Causes), LEAST_RIGHT_CAUSES);
}

fn check(title: &str, rows: &[Reported], least_right: usize) {
    let score = Score::of(rows);
    score.print(title);
    let wrong = score.count("together", Mark::ConfidentlyWrong) as f64 / rows.len() as f64;
    assert!(wrong <= MOST_CONFIDENTLY_WRONG, "{:.1} % confidently wrong", wrong * 100.0);
    let right = score.count("together", Mark::Right);
    assert!(right >= least_right, "{right} of {} right", rows.len());
}
