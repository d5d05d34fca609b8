//! A tune session: one search after another, each begun by a save.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tempfile::TempDir;
use warpscope_kernels::cpu::{fma_flop_per_s, read_bytes_per_s};
use warpscope_probes::bounded::{self, Accept};

use super::cache::Cache;
use super::facts::Roof;
use super::show::Show;
use super::watch::{Watch, files};
use crate::commands::cli::{CliError, Exit, Result};
use crate::commands::identity::now_ms;
use crate::commands::output::file::Target;
use crate::commands::signals::Signals;
use crate::commands::tune::workspace::Workspace;
use crate::io::sink::export::tuned;
use crate::io::sink::noise_file::machine;
use crate::io::sink::state_file;
use crate::tuner::{
    Board, Fault, Halt, Interrupted, Invalid, Kind, Libraries, Problem, Spec, Winner, Winners,
    parse, search,
};

/// Largest spec that is read.
const MAX_SPEC: u64 = 2 << 20;
/// Time between two looks while a save is waited for.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes read and multiply-adds done to find the roof: tens of milliseconds each.
const ROOF: (usize, u64, usize) = (128 << 20, 1 << 18, 4);

/// What one iteration came to.
struct Outcome {
    board: Board,
    /// Files that were saved meanwhile.
    changes: Vec<String>,
    failed: Option<Invalid>,
    watch: Watch,
}

/// Everything that stays from one save to the next.
pub(crate) struct Session<'a> {
    pub(crate) path: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) scratch: TempDir,
    pub(crate) libraries: Libraries,
    pub(crate) signals: Signals,
    pub(crate) watching: bool,
    pub(crate) export: Option<Target<'a>>,
    /// Where what was measured is kept, and whether it counts in this search.
    pub(crate) cache: Option<PathBuf>,
    pub(crate) resume: bool,
    /// Where winners are kept.
    pub(crate) winners: Option<PathBuf>,
    pub(crate) show: Show,
}

impl Session<'_> {
    /// Iterations until the user ends them; one where nothing is watched.
    pub(crate) fn follow(&mut self, mut spec: Spec) -> Result<Exit> {
        let mut changes = Vec::new();
        loop {
            let outcome = self.iterate(&spec, &changes)?;
            if let Some(error) = self.show.broken.take() {
                return Err(error.into());
            }
            if let Some(exit) = self.ended(&outcome)? {
                return Ok(exit);
            }
            let Some(next) = self.next(outcome) else {
                return Ok(Exit::Fine);
            };
            (spec, changes) = next;
        }
    }

    /// How the program ends after an iteration; nothing where the next save is waited for.
    fn ended(&mut self, outcome: &Outcome) -> Result<Option<Exit>> {
        let signal = self.signals.came();
        if self.watching && signal.is_none() {
            return Ok(None);
        }
        self.show.leave(&outcome.board);
        if let Some(signal) = signal {
            return Ok(Some(if self.watching { Exit::Fine } else { Exit::Signal(signal) }));
        }
        if let Some(Invalid { fault, why }) = outcome.failed.clone() {
            let error =
                if fault == Fault::Constraints { CliError::NoGpu } else { CliError::Failed };
            return Err(error(why));
        }
        let solved = outcome.board.problems.iter().all(Problem::is_solved);
        Ok(Some(if solved { Exit::Fine } else { Exit::CheckFailed }))
    }

    /// Waits for a save and a spec that can be read; nothing when the user ends it.
    fn next(&mut self, mut outcome: Outcome) -> Option<(Spec, Vec<String>)> {
        if let Some(invalid) = outcome.failed.take() {
            self.show.say(&invalid.why);
        }
        let mut changes = outcome.changes;
        if changes.is_empty() {
            self.show.say("waiting for a save; Ctrl-C ends");
        }
        loop {
            while changes.is_empty() {
                if self.signals.came().is_some() {
                    self.show.leave(&outcome.board);
                    return None;
                }
                std::thread::sleep(LOOK);
                changes = outcome.watch.changed();
            }
            match read(self.path) {
                Ok(spec) => return Some((spec, changes)),
                Err(why) => self.show.say(&why.to_string()),
            }
            changes = Vec::new();
        }
    }

    /// One state of the source from build to verdict.
    fn iterate(&mut self, spec: &Spec, changes: &[String]) -> Result<Outcome> {
        let mut watched = match files(self.folder, &spec.sources) {
            Ok(watched) => watched,
            Err(why) if !self.watching => return Err(CliError::Usage(why)),
            Err(why) => {
                self.show.say(&why);
                Vec::new()
            }
        };
        watched.push(self.path.to_owned());
        let watch = Watch::new(self.folder, watched);
        let hash = watch.hash();
        self.show.iteration += 1;
        self.show.head = head(spec, self.show.iteration, &hash, changes);
        if spec.cpu_roof && self.show.roof.is_none() {
            self.show.roof = Some(roof(spec.kind));
        }
        if let Some(roof) = self.show.roof {
            self.show.head += &format!("; {}", roof.words());
        }
        self.show.log.begin(spec, &hash);
        if !changes.is_empty() {
            self.show.log.mark(format!("saved: {}", changes.join(", ")));
        }
        let cache = Cache::open(self.cache.clone(), &hash, self.resume);
        if self.resume {
            self.show.say(&format!("{} candidates were measured before", cache.len()));
        }
        self.show.cache = Some(Rc::new(cache));
        let seen = RefCell::new((watch, Vec::new()));
        let (board, failed) = self.work(spec, &seen);
        self.show.log.end();
        if failed.is_none() {
            self.keep_winners(&board, &hash);
        }
        self.write(&board)?;
        let (watch, changes) = seen.into_inner();
        Ok(Outcome { board, changes, failed, watch })
    }

    /// Build and search; what failed before there was anything to time.
    fn work(
        &mut self,
        spec: &Spec,
        seen: &RefCell<(Watch, Vec<String>)>,
    ) -> (Board, Option<Invalid>) {
        let (signals, watching) = (&self.signals, self.watching);
        let stop = || {
            if signals.came().is_some() {
                return true;
            }
            let mut seen = seen.borrow_mut();
            if watching && seen.1.is_empty() {
                seen.1 = seen.0.changed();
            }
            !seen.1.is_empty()
        };
        let winners = self.winners.as_deref().map(|path| state_file::read(path, Winners::parse));
        let mut workspace = Workspace {
            spec,
            folder: self.folder,
            scratch: self.scratch.path(),
            stop: &stop,
            libraries: &self.libraries,
            builds: BTreeMap::new(),
            cache: self.show.cache.clone(),
            winners: winners.and_then(Result::ok).unwrap_or_default(),
            wanted: BTreeMap::new(),
        };
        match workspace.prepare() {
            Ok(()) => {}
            Err(Halt::Interrupted) => return (Board::default(), None),
            Err(Halt::Invalid(invalid)) => {
                self.show.log.mark(format!("{}: {}", invalid.fault.word(), invalid.why));
                return (Board::default(), Some(invalid));
            }
        }
        let (board, ended) = search(spec, &mut workspace, &mut self.show);
        if ended == Ok(()) || self.signals.came().is_some() {
            self.show.finish(&board);
        }
        let lost = ended == Err(Interrupted);
        if lost {
            self.show.log.mark("ended before all candidates were tried".to_owned());
        }
        (board, None)
    }

    /// Keeps the best of every problem that was searched to its end. What cannot be kept is told, and no reason to fail.
    fn keep_winners(&mut self, board: &Board, source: &str) {
        let Some(path) = &self.winners else { return };
        let whole = board.problems.iter().filter(|problem| problem.is_searched);
        let new: Vec<Winner> =
            whole.filter_map(|problem| Winner::new(board, problem, source, now_ms())).collect();
        if new.is_empty() {
            return;
        }
        let kept = state_file::read(path, Winners::parse).and_then(|mut winners| {
            new.into_iter().for_each(|winner| winners.set(&machine(), winner));
            state_file::write(path, &winners)
                .map_err(|error| format!("{}: {error}", path.display()))
        });
        if let Err(why) = kept {
            self.show.say(&format!("the winner is not kept: {why}"));
        }
    }

    /// Exports what was tried; where nothing was, an earlier file stays.
    fn write(&mut self, board: &Board) -> Result<()> {
        let Some(target) = &mut self.export else { return Ok(()) };
        let Some(results) = tuned(board, now_ms()) else { return Ok(()) };
        target.write(|out| out.write_all(&results?))?;
        // The next iteration replaces what this one wrote.
        target.force = true;
        Ok(())
    }
}

fn head(spec: &Spec, iteration: usize, hash: &str, changes: &[String]) -> String {
    let changed = match changes {
        [] => String::new(),
        names => format!(", {} saved", names.join(", ")),
    };
    let stop = spec
        .early_stop
        .map_or_else(String::new, |factor| format!("; given up from {factor}x the best on"));
    format!("{} iteration {iteration}, source {}{changed}{stop}", spec.name, &hash[..8])
}

/// What the CPU can do: on one thread for warpscope's own kernels, on all for a program of its own.
fn roof(kind: Kind) -> Roof {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if kind == Kind::Cpu { 1 } else { all };
    let (bytes, rounds, passes) = ROOF;
    Roof {
        threads: Some(threads),
        read_bytes_per_s: read_bytes_per_s(threads, bytes, passes),
        flop_per_s: Some(fma_flop_per_s(threads, rounds, passes)),
    }
}

pub(crate) fn read(path: &Path) -> Result<Spec> {
    let text = bounded::text(path, Accept::Files, MAX_SPEC).map_err(CliError::at(path))?;
    parse(&path.display().to_string(), &text).map_err(CliError::usage)
}
