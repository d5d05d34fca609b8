//! Blocks of processes in turn, and the looks at what they say.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::commands::cli::CliError;
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

impl Measure {
    /// One process from start to end; none where the user ended it.
    pub(crate) fn once(&self, side: &Side) -> Result<Option<Vec<Point>>, CliError> {
        let failed = |why: String| CliError::Failed(format!("{}: {why}", side.name));
        let folder = side.folder.as_ref().unwrap_or(&self.folder);
        let stopped = || self.signals.came().is_some();
        let begun = Instant::now();
        let ended = process::run(&side.words, folder, self.limit, &stopped)
            .map_err(|error| failed(error.to_string()))?;
        let wall = begun.elapsed();
        match ended.end {
            End::Stopped => Ok(None),
            End::Timeout => Err(failed(format!(
                "still runs after {}; --timeout gives it more time",
                humantime::format_duration(self.limit)
            ))),
            End::Exit(status) => match process::complaint(status) {
                Some(why) => {
                    let said = process::head(&ended.stderr, LAST_WORDS).join("\n");
                    Err(failed(format!("{why}\n{said}").trim_end().to_owned()))
                }
                None => Ok(Some(self.points(&String::from_utf8_lossy(&ended.stdout), wall))),
            },
        }
    }

    /// What a program printed, as a document of a known benchmark, else line by line, else its wall time.
    fn points(&self, text: &str, wall: Duration) -> Vec<Point> {
        if let Ok(read) = samples::reader(text).and_then(|_| samples::read(text)) {
            return read.points;
        }
        let mut scan = self.scan.clone();
        let found = text.lines().flat_map(|line| scan.take(line));
        let points: Vec<Point> = found
            .filter_map(|found| match found {
                Found::Point(point) => Some(*point),
                Found::Remark(_) | Found::Damaged(_) => None,
            })
            .collect();
        if !points.is_empty() {
            return points;
        }
        let key = Key { name: WALL_TIME.to_owned(), ..Key::default() };
        vec![Point { key, t_ns: vec![wall.as_secs_f64() * 1e9], ..Point::default() }]
    }
}

/// So many processes of one program, one after the other; fewer where the user ended it.
pub(crate) fn processes(
    side: &Side,
    measure: &Measure,
    count: usize,
) -> Result<Vec<Vec<Point>>, CliError> {
    let mut all = Vec::new();
    while all.len() < count
        && let Some(points) = measure.once(side)?
    {
        all.push(points);
        measure.tell(&format!("process {} of {count}", all.len()));
    }
    Ok(all)
}

/// Runs the sides in turn until everything is decided, or so many blocks are spent, or the user ends it.
pub(crate) fn in_turn(
    sides: &[Side],
    measure: &Measure,
    most: usize,
) -> Result<Comparison, CliError> {
    let mut groups = vec![Groups::default(); sides.len()];
    let looks = looks(most);
    let limits = Limits::default().of_look(looks.len());
    let begun = Instant::now();
    let mut comparison = Comparison::default();
    for block in 1..=most {
        if !run_block(block, sides, measure, &mut groups)? {
            break;
        }
        if looks.contains(&block) {
            comparison = judged(&groups, &limits);
            measure.tell(&progress(&comparison, block, most, begun.elapsed()));
            if is_decided(&comparison) {
                return Ok(comparison);
            }
        }
    }
    Ok(if comparison.rows.is_empty() { judged(&groups, &limits) } else { comparison })
}

/// One process of each side; whether all came to their end. The order turns round with every block.
fn run_block(
    block: usize,
    sides: &[Side],
    measure: &Measure,
    groups: &mut [Groups],
) -> Result<bool, CliError> {
    let mut order: Vec<usize> = (0..sides.len()).collect();
    if block.is_multiple_of(2) {
        order.reverse();
    }
    let mut block = Vec::new();
    for side in order {
        let Some(points) = measure.once(&sides[side])? else { return Ok(false) };
        block.push((side, points));
    }
    for (side, points) in block {
        groups[side].next_process();
        points.into_iter().for_each(|point| groups[side].add(point, SampleMode::default()));
    }
    Ok(true)
}

fn judged(groups: &[Groups], limits: &Limits) -> Comparison {
    let terms = Terms { limits: *limits, design: Design::Turns, ..Terms::default() };
    compare_groups(groups.to_vec(), &terms)
}

fn is_decided(comparison: &Comparison) -> bool {
    !comparison.rows.is_empty()
        && comparison.rows.iter().all(|row| row.judgement.call != Call::Ambiguous)
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
