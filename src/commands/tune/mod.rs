//! `warpscope tune SPEC`: build, check, time and judge the candidates of a kernel, again at every save.

mod facts;
mod lines;
mod process;
mod report;
mod run_log;
mod show;
mod watch;
mod workspace;

use std::cell::RefCell;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use warpscope_kernels::cpu::{fma_flop_per_s, read_bytes_per_s};
use warpscope_probes::bounded::{self, Accept};

use super::identity::now_ms;
use super::output;
use crate::commands::cli::command::{CONFIG_FILE, CommandSpec, STYLE};
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::compare::thresholds::thresholds;
use crate::commands::output::file::Target;
use crate::commands::tune::run_log::RunLog;
use crate::commands::tune::workspace::{Scratch, Workspace};
use crate::config::args;
use crate::io::sink::export::tuned;
use crate::runs::compare::Limits;
use crate::runs::points::Key;
use crate::tuner::{
    Board, Fault, Halt, Interrupted, Invalid, Kind, Libraries, Problem, Spec, parse, search,
};
use facts::Roof;
use show::{Show, view};
use watch::{Watch, files};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "tune",
    about: "Build, check and time the candidates of one kernel, again after every save",
    more: "The spec is a TOML file: a command that prints name=… t_us=… lines, or a GPU kernel in CUDA C++, PTX or machine code with its launch; how to check its result; shapes, number formats and parameter values. A candidate with a wrong result is never timed. Correct ones are timed interleaved with the baseline. In a terminal, every save of a source starts a new search; Ctrl-C stops and keeps what was measured. Runs are kept in $XDG_STATE_HOME/warpscope/tune/NAME.jsonl, else below ~/.local/state, for compare and history.\n\
           Exits with 0 if a correct candidate was found for every shape, with 1 if not, and with 3 if the kernel needs a GPU and there is none.",
    args: &[
        &[
            &args::TUNE_SPEC,
            &args::TUNE_ONCE,
            &args::RECORD,
            &args::TUNE_EXPORT,
            &args::FORCE,
            &args::NOISE,
        ],
        &[&args::JSON],
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        (
            "tune examples/tune/sum.toml --once",
            "the grid once, on any machine with a shell and awk",
        ),
        (
            "tune examples/tune/gemv.toml --export gemv.json",
            "a CUDA kernel after every save, with results for kernel_tuner",
        ),
    ],
    run,
    ..CommandSpec::BASE
};

/// Largest spec that is read.
const MAX_SPEC: u64 = 2 << 20;
/// Time between two looks while a save is waited for.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes read and multiply-adds done to find the roof: tens of milliseconds each.
const ROOF: (usize, u64, usize) = (128 << 20, 1 << 18, 4);

/// Tunes what the spec says.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let path = &options.get(&args::TUNE_SPEC);
    let folder = folder_of(path)?;
    let spec = read(path)?;
    let watching = !options.get(&args::TUNE_ONCE) && io::stdout().is_terminal();
    let signals = Signals::watch().map_err(failed)?;
    let thresholds = thresholds(options);
    // Found before anything is made: a wrong name is told at once.
    files(&folder, &spec.sources).map_err(CliError::Usage)?;
    let libraries = Libraries::find();
    let lines = spec.cuda.as_ref().map(|cuda| libraries.lines(cuda, spec.contract.work));
    for line in lines.into_iter().flatten() {
        output::note(format_args!("warpscope: {line}"));
    }
    let force = options.get(&args::FORCE);
    let export = options.get(&args::TUNE_EXPORT);
    let export = export.as_deref().map(|path| Target { path, force });
    export.map_or(Ok(None), |target| target.check())?;
    let show = Show::new(
        view(options.get(&args::JSON)),
        output::style(options),
        RunLog::open(options, &spec)?,
    );
    let mut session = Session {
        path,
        folder: &folder,
        scratch: Scratch::new().map_err(failed)?,
        libraries,
        signals,
        watching,
        limits: &|key| thresholds.limits(key),
        export,
        show,
    };
    session.follow(spec)
}

fn failed(error: io::Error) -> CliError {
    CliError::Failed(format!("cannot begin: {error}"))
}

/// Where commands run: the folder of the spec.
fn folder_of(path: &Path) -> Result<PathBuf, CliError> {
    let wrong = |error: io::Error| CliError::Usage(format!("{}: {error}", path.display()));
    let path = path.canonicalize().map_err(wrong)?;
    Ok(path.parent().unwrap_or(Path::new("/")).to_owned())
}

fn read(path: &Path) -> Result<Spec, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let text = bounded::text(path, Accept::Files, MAX_SPEC);
    let text = text.map_err(|error| wrong(error.to_string()))?;
    parse(&path.display().to_string(), &text).map_err(|error| CliError::Usage(error.to_string()))
}

/// The signals that end a search, so that what was measured is kept and no program is left behind.
struct Signals(Arc<AtomicI32>);

impl Signals {
    fn watch() -> io::Result<Self> {
        let came = Arc::new(AtomicI32::new(0));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut kinds = vec![SignalKind::interrupt(), SignalKind::terminate()];
        if io::stdout().is_terminal() {
            // Elsewhere `nohup` may have it ignored, and a handler would undo that.
            kinds.push(SignalKind::hangup());
        }
        let streams: Vec<_> = {
            let _inside = runtime.enter();
            kinds.into_iter().map(|kind| signal(kind).map(|stream| (kind, stream))).collect()
        };
        for stream in streams {
            let ((kind, mut stream), came) = (stream?, Arc::clone(&came));
            runtime.spawn(async move {
                while stream.recv().await.is_some() {
                    came.store(kind.as_raw_value(), Ordering::Relaxed);
                }
            });
        }
        let forever = std::future::pending::<()>();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(forever))?;
        Ok(Self(came))
    }

    fn came(&self) -> Option<u8> {
        u8::try_from(self.0.load(Ordering::Relaxed)).ok().filter(|signal| *signal > 0)
    }
}

/// What one iteration came to.
struct Outcome {
    board: Board,
    /// Files that were saved meanwhile.
    changes: Vec<String>,
    failed: Option<Invalid>,
    watch: Watch,
}

/// Everything that stays from one save to the next.
struct Session<'a> {
    path: &'a Path,
    folder: &'a Path,
    scratch: Scratch,
    libraries: Libraries,
    signals: Signals,
    watching: bool,
    limits: &'a dyn Fn(&Key) -> Limits,
    export: Option<Target<'a>>,
    show: Show,
}

impl Session<'_> {
    /// Iterations until the user ends them; one where nothing is watched.
    fn follow(&mut self, mut spec: Spec) -> Result<Exit, CliError> {
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
    fn ended(&mut self, outcome: &Outcome) -> Result<Option<Exit>, CliError> {
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
    fn iterate(&mut self, spec: &Spec, changes: &[String]) -> Result<Outcome, CliError> {
        let mut watched = match files(self.folder, &spec.sources) {
            Ok(watched) => watched,
            Err(why) if !self.watching => return Err(CliError::Usage(why)),
            Err(why) => {
                self.show.say(&why);
                Vec::new()
            }
        };
        watched.push(self.path.to_owned());
        let watch = Watch::new(watched);
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
        let seen = RefCell::new((watch, Vec::new()));
        let (board, failed) = self.work(spec, &seen);
        self.show.log.end();
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
        let mut workspace =
            Workspace::new(spec, self.folder, &self.scratch, &stop, &self.libraries);
        match workspace.prepare() {
            Ok(()) => {}
            Err(Halt::Interrupted) => return (Board::default(), None),
            Err(Halt::Invalid(invalid)) => {
                self.show.log.mark(format!("{}: {}", invalid.fault.word(), invalid.why));
                return (Board::default(), Some(invalid));
            }
        }
        let (board, ended) = search(spec, self.limits, &mut workspace, &mut self.show);
        if ended == Ok(()) || self.signals.came().is_some() {
            self.show.finish(&board, self.limits);
        }
        let lost = ended == Err(Interrupted);
        if lost {
            self.show.log.mark("ended before all candidates were tried".to_owned());
        }
        (board, None)
    }

    fn write(&mut self, board: &Board) -> Result<(), CliError> {
        let Some(target) = &mut self.export else { return Ok(()) };
        target.write(|out| tuned(board, now_ms(), out))?;
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
        read_bytes_per_s: Some(read_bytes_per_s(threads, bytes, passes)),
        flop_per_s: Some(fma_flop_per_s(threads, rounds, passes)),
    }
}
