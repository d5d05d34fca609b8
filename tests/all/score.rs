//! The engine against what people reported: `tests/verdicts/reported/` holds rows, each a question and how it ended, in blocks. All but the
//! first were put down before the rules were asked about them. Each block is counted by itself.
//!
//! An answer is *right* when it falls into the same of four classes as the report: works; runs slowly or by another route; wrong output;
//! fails. Partial counts as fails: both tell a person no. *Unknown* is an answer of its own. Everything else is *wrong*, and *confidently
//! wrong* when a person was told that it runs and it did not, or the reverse; that a thing works where another route was reported is
//! wrong, and does no such harm. An answer that says it is disputed, or of medium confidence, is still read as a yes or a no; the confidently
//! wrong of high confidence are printed beside. *No known obstacle* is counted apart:
//! it holds where the report is of something that ran. A question without a named version or setting stays one: nothing is filled in to
//! please a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use warpscope::engine::vocabulary::{CLOSED, meant};
use warpscope::engine::{
    Assumptions, Confidence, Origin, Outcome, Question, Target, Verdict, evaluate_without_fixes,
};
use warpscope_kernels::Sm;
use warpscope_probes::catalogue::{Catalogue, what_if};
use warpscope_probes::driver::Driver;
use warpscope_probes::releases::release_on;
use warpscope_probes::rules::{RuleBase, Settings};

use super::verdicts::base;

/// What the reports of a block are.
struct Block {
    name: &'static str,
    /// Fewer right answers than this are a step back. Raise it when rules get better.
    least_right: usize,
    /// More confidently wrong ones are a step back, too. Lower it when rules get better.
    most_wrong: usize,
    /// How the block came out when it was first asked, before any rule was mended for it: the honest measure.
    at_first: &'static str,
}

const fn block(
    name: &'static str,
    (least_right, most_wrong): (usize, usize),
    at_first: &'static str,
) -> Block {
    Block { name, least_right, most_wrong, at_first }
}

const BLOCKS: &[Block] = &[
    block("first", (98, 1), "rules were read from them"),
    block("causes", (74, 0), "30 of 78 right, 45 unknown"),
    block("held_out", (85, 0), "44 of 95 right, 7 confidently wrong"),
    block("held_out_later", (50, 1), "21 of 64 right, 29 unknown, 5 confidently wrong"),
    block("held_out_last", (53, 1), "32 of 63 right, 13 unknown, 8 confidently wrong"),
    block("local", (41, 1), "23 of 45 right, 18 unknown, 1 confidently wrong"),
    block("local_later", (42, 1), "19 of 54 right, 23 unknown, 9 confidently wrong"),
    block(
        "local_new",
        (82, 0),
        "in four parts: of 31, 14 right, 16 unknown, 1 confidently wrong; of 22 (some threads of which had been read) 17, 4, 1; looked for \
         when the rules were done, in threads that these did not know: of 27, 13, 4, 7, and of 15, 7, 3, 4",
    ),
    block("serving", (65, 1), "21 of 70 right, 40 unknown, 5 confidently wrong"),
    block("serving_new", (31, 1), "19 of 37 right, 14 unknown, 3 confidently wrong"),
    block(
        "serving_last",
        (16, 0),
        "drawn from these by lot: 8 of 21 right, 9 unknown, 2 confidently wrong",
    ),
    block("libraries", (38, 0), "27 of 40 right, 11 unknown, 2 confidently wrong"),
    block("libraries_later", (18, 0), "18 of 22 right, 4 unknown"),
    block(
        "mixed",
        (41, 1),
        "26 of 45 right, 8 unknown, 7 confidently wrong, one of these a fallback to the CPU put down as a failure",
    ),
    block("mixed_later", (39, 0), "25 of 48 right, 13 unknown, 7 confidently wrong"),
    block("mixed_last", (13, 0), "8 of 15 right, 3 unknown, 2 confidently wrong"),
    block("serving_2611", (39, 1), "19 of 48 right, 10 unknown, 13 confidently wrong"),
    block("serving_2611_end", (23, 0), "10 of 29 right, 6 unknown, 13 confidently wrong"),
    block(
        "serving_lot",
        (60, 3),
        "in two parts: up to 8.9, of 33, 15 right, 2 of 2 without a known obstacle, 8 unknown, 6 confidently wrong, and from 9.0, of 35, \
         19, 4 of 4, 5, 7; put down when the rules were done, of 16, 12, 0, 1, 3",
    ),
    block(
        "local_2611",
        (38, 2),
        "in two parts: of 36, 15 right, 2 of 2 without a known obstacle, 14 unknown, 5 confidently wrong; of 16, put down when the rules \
         were done, 6, 1 of 1, 3, 5",
    ),
    block(
        "local_lot",
        (80, 6),
        "in three parts: below 9.0, of 35, 18 right, 8 unknown, 4 confidently wrong, from 9.0 on, of 25, 17, 5, 2; put down when the \
         rules were done, below 9.0, of 22, 8, 4, 5, and from 9.0 on, of 12, 5, 1, 6; when they were mended by those, of 23, 8, 8, 5",
    ),
    block(
        "lot_serving",
        (31, 4),
        "up to 8.9, of 18, 7 right, 6 unknown, 5 confidently wrong, and from 9.0 on, of 23, 12 right, 0 of 1 without a known obstacle, \
         7 unknown, 3 confidently wrong",
    ),
    block("local_seen", (8, 0), "7 of 10 right, 2 unknown"),
    block("lot_local", (17, 8), "all below 9.0: 17 of 36 right, 3 unknown, 13 confidently wrong"),
    block("serving_grid", (9, 3), "5 of 20 right, 7 unknown, 5 confidently wrong"),
    block(
        "serving_cells",
        (20, 3),
        "up to 8.9, of 7, 6 right, 1 unknown; from 9.0 on, of 22, 10 right, 7 unknown, 5 confidently wrong, 3 of them of high confidence",
    ),
    block(
        "local_grid",
        (9, 6),
        "8 of 20 right, 0 of 1 without a known obstacle, 3 unknown, 6 confidently wrong",
    ),
    block(
        "local_draw",
        (14, 6),
        "up to 8.9, of 10, 4 right, 3 unknown, 2 confidently wrong, and from 9.0 on, of 12, 8, 0, 4; none of these of high confidence",
    ),
    block(
        "draw_2711",
        (29, 13),
        "up to 8.9, of 36, 17 right, 8 unknown, 8 confidently wrong, and from 9.0 on, of 24, 11, 1 of 1 without a known obstacle, 6, 5; one of these of high confidence",
    ),
    block(
        "draw_2811",
        (42, 8),
        "of 85, 42 right, 3 of 3 without a known obstacle, 26 unknown, 8 confidently wrong, two of these of high confidence, and 6 refused \
         for a word that the command line did not know",
    ),
    block(
        "draw_2811b",
        (37, 5),
        "of 64, 28 right, 3 of 4 without a known obstacle, 11 unknown, 5 confidently wrong, none of these of high confidence, 14 refused \
         for a word that the command line did not know, and 2 put aside",
    ),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "first")]
    block: String,
    case: Vec<Reported>,
}

fn first() -> String {
    BLOCKS[0].name.to_owned()
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
        // A month stands for the newest release of its end, a program for what is inside it and a word for the framework's own, as on the command line.
        let known = base.framework(&framework);
        let inside = |version: Option<&String>| {
            let release = version.and_then(|text| text.parse().ok());
            known?.inside(&self.framework, release.as_ref()).map(str::to_owned)
        };
        let released = |version: &String| {
            let dated = || release_on(&framework, version).map(str::to_owned);
            inside(Some(version)).or_else(dated).unwrap_or_else(|| version.clone())
        };
        let version = self.version.as_ref().map(released).or_else(|| inside(None));
        let mut config = self.set.clone();
        for (key, value) in self.set.iter().filter(|(key, _)| CLOSED.contains(key)) {
            if let Some(word) = meant(base, &framework, key, value) {
                config.set(key, word).expect("a value of rules");
            }
        }
        let question = Question {
            origin: if version.is_some() { Origin::Asked } else { Origin::Known },
            version,
            framework,
            config,
            ..Question::default()
        };
        let (assumptions, target) = (Assumptions::default(), self.target());
        let question = assumptions.asked(base, &question).expect("no model to contradict");
        let published = assumptions.about(base, &target, &question);
        evaluate_without_fixes(base, &target, &question, &published)
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

/// The reports by block.
fn reported() -> BTreeMap<String, Vec<Reported>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts/reported");
    let mut blocks: BTreeMap<String, Vec<Reported>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        blocks.entry(file.block).or_default().extend(file.case);
    }
    blocks.values_mut().for_each(|rows| rows.sort_by_key(|one| one.row));
    blocks
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

fn mark(reported: Outcome, said: Outcome) -> Mark {
    match () {
        () if said == Outcome::Unknown => Mark::Unknown,
        () if said == Outcome::NoObstacle && reported.is_bad() => Mark::Obstructed,
        () if said == Outcome::NoObstacle => Mark::Unobstructed,
        () if class(said) == class(reported) => Mark::Right,
        () if said.is_bad() != reported.is_bad() => Mark::ConfidentlyWrong,
        () => Mark::Wrong,
    }
}

#[test]
fn every_reported_row_is_there_once_with_its_source() {
    let blocks = reported();
    let known: BTreeSet<&str> = BLOCKS.iter().map(|one| one.name).collect();
    assert_eq!(blocks.keys().map(String::as_str).collect::<BTreeSet<_>>(), known);
    for (name, rows) in &blocks {
        assert!(rows.windows(2).all(|two| two[0].row < two[1].row), "{name}: a number twice");
    }
    for one in blocks.values().flatten() {
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
        assert_eq!(mark(reported, said), want, "{reported:?} {said:?}");
    }
}

/// How often each mark was given, by block of compute capability and together.
#[derive(Default)]
struct Score {
    blocks: BTreeMap<&'static str, BTreeMap<Mark, usize>>,
    /// Confidently wrong ones of high confidence.
    sure: BTreeMap<&'static str, usize>,
    missed: Vec<String>,
}

impl Score {
    fn of(rows: &[Reported]) -> Self {
        let mut score = Self::default();
        for one in rows {
            let verdict = one.ask(base());
            let mark = mark(one.outcome, verdict.outcome);
            for block in [one.block(), "together"] {
                *score.blocks.entry(block).or_default().entry(mark).or_default() += 1;
                let sure =
                    mark == Mark::ConfidentlyWrong && verdict.confidence == Some(Confidence::High);
                *score.sure.entry(block).or_default() += usize::from(sure);
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
            "{title:<16}{:>6}{:>16}{:>9}{:>7}{:>13}{:>6}",
            "right", "no obstacle, of", "unknown", "wrong", "confidently", "sure"
        );
        for block in self.blocks.keys() {
            let count = |mark| self.count(block, mark);
            println!(
                "{block:<16}{:>6}{:>11}{:>5}{:>9}{:>7}{:>13}{:>6}",
                count(Mark::Right),
                count(Mark::Unobstructed),
                count(Mark::Unobstructed) + count(Mark::Obstructed),
                count(Mark::Unknown),
                count(Mark::Wrong) + count(Mark::ConfidentlyWrong),
                count(Mark::ConfidentlyWrong),
                self.sure.get(block).copied().unwrap_or(0)
            );
        }
        println!("{}\n", self.missed.join("\n"));
    }
}

/// Prints the score of each block by compute capability, and every row that is not right: `cargo test score -- --nocapture`.
#[test]
fn reported_outcomes_are_met_and_rarely_contradicted() {
    let mut short = Vec::new();
    for (name, rows) in reported() {
        let score = Score::of(&rows);
        let block = BLOCKS.iter().find(|one| one.name == name).expect("every block is listed");
        println!("when first asked: {}", block.at_first);
        score.print(&name);
        let wrong = score.count("together", Mark::ConfidentlyWrong);
        let right = score.count("together", Mark::Right);
        if wrong > block.most_wrong || right < block.least_right {
            let all = rows.len();
            short.push(format!("{name}: {right} of {all} right, {wrong} confidently wrong"));
        }
    }
    assert!(short.is_empty(), "{short:#?}");
}
