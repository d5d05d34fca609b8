//! Blocks of processes in turn, and the looks at what they say.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::commands::cli::{CliError, Result};
use crate::commands::process::{self, End};
use crate::commands::signals::Signals;
use crate::runs::compare::{
    Call, Comparison, Design, Groups, Limits, Terms, compare_groups, looks,
};
use crate::runs::run_log::SampleMode;
use crate::runs::samples::{self, Found, Key, Point, Scan};

/// Lines of a failed program's last words.
const LAST_WORDS: usize = 3;
/// What a program is measured by that prints nothing that is read.
const WALL_TIME: &str = "wall time";
/// The format whose lines may stand among others.
const LINES: &str = "lines";

/// How programs are run and read.
pub(crate) struct Measure {
    pub(crate) scan: Scan,
    pub(crate) limit: Duration,
    pub(crate) signals: Signals,
    pub(crate) folder: PathBuf,
    pub(crate) tells: bool,
}

/// One program of a comparison.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
    /// Where it runs; the current folder where none is named.
    pub(crate) folder: Option<PathBuf>,
}

impl Side {
    pub(crate) fn new(words: &[String]) -> Self {
        Self { name: words.join(" "), words: words.to_vec(), folder: None }
    }
}

/// What became of one process.
pub(crate) enum Once {
    /// What it measured, and what of it could not be read.
    Ended(Vec<Point>, Vec<String>),
    /// It failed: why.
    Failed(String),
    /// The user ended it.
    Stopped,
}

impl Measure {
    /// One process from start to end.
    pub(crate) fn once(&self, side: &Side) -> Once {
        let failed = |why: String| Once::Failed(format!("{}: {why}", side.name));
        let folder = side.folder.as_ref().unwrap_or(&self.folder);
        let stopped = || self.signals.came().is_some();
        let ended = match process::run(&side.words, folder, self.limit, &stopped) {
            Ok(ended) => ended,
            Err(error) => return failed(error.to_string()),
        };
        match ended.end {
            End::Stopped => Once::Stopped,
            End::Timeout => failed(format!(
                "still runs after {}; --timeout gives it more time",
                humantime::format_duration(self.limit)
            )),
            End::Exit(status) => match process::complaint(status) {
                Some(why) => {
                    let said = process::head(&ended.stderr, LAST_WORDS).join("\n");
                    failed(format!("{why}\n{said}").trim_end().to_owned())
                }
                None => match self.points(&String::from_utf8_lossy(&ended.stdout), ended.took) {
                    Ok((points, damaged)) => {
                        let damaged = damaged.into_iter();
                        let errors = damaged.map(|why| format!("{}: {why}", side.name)).collect();
                        Once::Ended(points, errors)
                    }
                    Err(why) => failed(why),
                },
            },
        }
    }

    /// What a program printed, as a document of a known benchmark, else line by line, else its wall time; and what of it is damaged.
    fn points(&self, text: &str, wall: Duration) -> Result<(Vec<Point>, Vec<String>), String> {
        let is_document = |reader: &&samples::Reader| reader.format() != LINES;
        if !self.scan.is_asked() && samples::reader(text).ok().filter(is_document).is_some() {
            let read = samples::read(text).map_err(|error| error.to_string())?;
            if read.points.is_empty() {
                return Err(read.without_a_point());
            }
            return Ok((read.points, read.damaged.into_iter().collect()));
        }
        let mut scan = self.scan.clone();
        let (mut points, mut damaged) = (Vec::new(), Vec::new());
        for found in text.lines().flat_map(|line| scan.take(line)) {
            match found {
                Found::Point(point) => points.push(*point),
                Found::Damaged(why) => damaged.push(why),
                Found::Remark(_) => {}
            }
        }
        if points.is_empty() && damaged.is_empty() {
            let key = Key { name: WALL_TIME.to_owned(), ..Key::default() };
            let t_ns = vec![wall.as_secs_f64() * 1e9];
            points.push(Point { key, t_ns, ..Point::default() });
        }
        Ok((points, damaged))
    }
}

/// So many processes of one program, one after the other; fewer where the user ended it. Also what of them could not be read.
pub(crate) fn processes(
    side: &Side,
    measure: &Measure,
    count: usize,
) -> Result<(Vec<Vec<Point>>, BTreeSet<String>)> {
    let (mut all, mut errors) = (Vec::new(), BTreeSet::new());
    while all.len() < count {
        match measure.once(side) {
            Once::Ended(points, damaged) => {
                all.push(points);
                errors.extend(damaged);
            }
            Once::Failed(why) => return Err(CliError::Failed(why)),
            Once::Stopped => break,
        }
        measure.tell(&format!("process {} of {count}", all.len()));
    }
    Ok((all, errors))
}

/// What was measured in turn.
#[derive(Default)]
pub(crate) struct Turns {
    pub(crate) comparison: Comparison,
    /// Processes that failed, and output that could not be read.
    pub(crate) errors: BTreeSet<String>,
}

impl Turns {
    /// Whether every measurement is decided.
    pub(crate) fn is_decided(&self) -> bool {
        let rows = &self.comparison.rows;
        !rows.is_empty() && rows.iter().all(|row| row.judgement.call != Call::Ambiguous)
    }
}

/// Runs the sides in turn until everything is decided, or so many blocks are spent, or a process fails, or the user ends it.
pub(crate) fn in_turn(sides: &[Side], measure: &Measure, most: usize) -> Turns {
    let mut groups = vec![Groups::default(); sides.len()];
    let looks = looks(most);
    // What is measured when it ends early is looked at once more.
    let limits = Limits::default().of_look(looks.len() + 1);
    let begun = Instant::now();
    let mut turns = Turns::default();
    for block in 1..=most {
        if !run_block(block, sides, measure, &mut groups, &mut turns.errors) {
            turns.comparison = judged(&groups, &limits);
            break;
        }
        if looks.contains(&block) {
            turns.comparison = judged(&groups, &limits);
            measure.tell(&progress(&turns.comparison, block, most, begun.elapsed()));
            if turns.is_decided() {
                break;
            }
        }
    }
    turns
}

/// One process of each side; whether all came to a good end. The order turns round with every block.
fn run_block(
    block: usize,
    sides: &[Side],
    measure: &Measure,
    groups: &mut [Groups],
    errors: &mut BTreeSet<String>,
) -> bool {
    let mut order: Vec<usize> = (0..sides.len()).collect();
    if block.is_multiple_of(2) {
        order.reverse();
    }
    let mut block = Vec::new();
    for side in order {
        match measure.once(&sides[side]) {
            Once::Ended(points, damaged) => {
                block.push((side, points));
                errors.extend(damaged);
            }
            Once::Failed(why) => {
                errors.insert(why);
                return false;
            }
            Once::Stopped => return false,
        }
    }
    for (side, points) in block {
        groups[side].next_process();
        points.into_iter().for_each(|point| groups[side].add(point, SampleMode::default()));
    }
    true
}

fn judged(groups: &[Groups], limits: &Limits) -> Comparison {
    let terms = Terms { limits: *limits, design: Design::Turns, ..Terms::default() };
    compare_groups(groups.to_vec(), &terms)
}

fn progress(comparison: &Comparison, block: usize, most: usize, passed: Duration) -> String {
    let open = comparison.rows.iter().find(|row| row.judgement.call == Call::Ambiguous);
    let decided = comparison.rows.len() - comparison.count(Call::Ambiguous);
    let each = passed.as_secs_f64() / block as f64;
    let left =
        humantime::format_duration(Duration::from_secs(((most - block) as f64 * each) as u64));
    let open = open.map_or_else(String::new, |row| {
        format!("; {}: {}; at most {left} left", row.key, row.judgement.reason)
    });
    format!("block {block} of {most}: {decided} of {} decided{open}", comparison.rows.len())
}
