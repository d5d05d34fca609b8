//! `warpscope tune SPEC`: build, check, time and judge the candidates of a kernel, again at every save.

mod cache;
mod facts;
mod lines;
mod past;
mod reference;
mod report;
mod run_log;
mod session;
mod show;
mod watch;
mod workspace;

use std::fs::Permissions;
use std::io::{self, IsTerminal};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::output::file::Target;
use crate::commands::signals::Signals;
use crate::commands::tune::run_log::RunLog;
use crate::commands::tune::session::{Session, read};
use crate::commands::tuned::winners_path;
use crate::config::args;
use crate::tuner::Libraries;
use show::{Show, view};
use watch::files;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "tune",
    about: "Build, check and time the candidates of one kernel, again after every save",
    more: "The spec is a TOML file: a command that prints name=... t_us=... lines, or a GPU kernel in CUDA C++, PTX or machine code with its launch; how to check its result; shapes, number formats and parameter values. `restrictions` leave combinations out, `budget` limits how many are tried, and `strategy` is \"grid\", \"random\" or \"local\"; `metrics` and `objective` are computed from what was measured. A candidate with a wrong result is never timed. Correct ones are timed interleaved with the baseline. In a terminal, every save of a source starts a new search; Ctrl-C stops and keeps what was measured. Runs are kept in $XDG_STATE_HOME/warpscope/tune/NAME.jsonl, else below ~/.local/state, for compare and history; the winners beside them, for `warpscope tuned`.\n\
           Exits with 0 if a correct candidate was found for every shape, with 1 if not or if none could be judged, and with 3 if the kernel needs a GPU and there is none.",
    args: &[
        &[&args::TUNE_SPEC, &args::TUNE_ONCE, &args::TUNE_RESUME],
        &[&args::RECORD, &args::TUNE_EXPORT, &args::FORCE],
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

/// Tunes what the spec says.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let path = &options.get(&args::TUNE_SPEC);
    let folder = folder_of(path)?;
    let spec = read(path)?;
    let watching = !options.get(&args::TUNE_ONCE) && io::stdout().is_terminal();
    let signals = Signals::watch().map_err(failed)?;
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
    let log = RunLog::open(options, &spec)?;
    let show = Show::new(view(options.get(&args::JSON)), output::style(options), log);
    let private = Permissions::from_mode(0o700);
    let scratch = tempfile::Builder::new().prefix("warpscope-tune-").permissions(private).tempdir();
    let mut session = Session {
        path,
        folder: &folder,
        scratch: scratch.map_err(failed)?,
        libraries,
        signals,
        watching,
        export,
        winners: winners_path(&options.env),
        cache: run_log::folder(options)
            .map(|folder| folder.join(format!("{}.cache.jsonl", spec.name))),
        resume: options.get(&args::TUNE_RESUME),
        show,
    };
    session.follow(spec)
}

fn failed(error: io::Error) -> CliError {
    CliError::Failed(format!("cannot begin: {error}"))
}

/// Where commands run: the folder of the spec.
fn folder_of(path: &Path) -> Result<PathBuf> {
    let path = path.canonicalize().map_err(CliError::at(path))?;
    Ok(path.parent().unwrap_or(Path::new("/")).to_owned())
}
