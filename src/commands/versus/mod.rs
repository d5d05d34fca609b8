//! `warpscope versus`: programs in turn, until it is decided which is faster.
//!
//! A machine drifts: clocks, neighbours, temperature. Sides that take turns (A B, B A, …) carry the drift alike, and each process counts once, so what
//! differs between processes is seen and not taken for a change of the code.

mod revisions;
mod turns;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::compare::{CI, Shown, check_report, outcome, show};
use crate::config::args;
use crate::runs::samples::Scan;
pub(crate) use turns::{Measure, Side, processes};
use turns::{Turns, in_turn};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "versus",
    about: "Run programs in turn until it is decided which is faster",
    more: "Each block runs every program once, in alternating order (A B, B A), so that drift of the machine falls on all sides alike. \
           What a program prints is read as compare and record read it: documents of known benchmarks, lines such as name=gemm t_us=41.3, output named by --parse or --pattern; \
           of a program that prints none the wall time is taken. It ends as soon as every measurement is decided (FASTER, SLOWER or SAME), at --blocks, or on Ctrl-C, \
           and says how many processes it would take where it is not. The chance of a false call is held at 1% over all looks. \
           A process that fails ends it too: what was measured before is judged.",
    args: &[
        &[&args::SIDES, &args::MAX_BLOCKS, &args::RUN_LIMIT, &args::REVISIONS, &args::BUILD],
        &[&args::PARSERS, &args::PATTERN],
        &[&args::FAIL_ON, &args::JSON, &args::MARKDOWN, &args::CSV],
        CI,
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("versus -- ./old --size 4096 -- ./new --size 4096", "two programs"),
        ("versus --blocks 100 -- ./a -- ./b -- ./c", "three, the first being the baseline"),
        (
            "versus --rev main --rev HEAD --build \"make bench\" -- ./bench",
            "two revisions of a repository",
        ),
    ],
    run,
    ..CommandSpec::BASE
};

fn run(options: &Options) -> Result<Exit> {
    check_report(options)?;
    let words = options.get(&args::SIDES);
    let commands: Vec<&[String]> =
        words.split(|word| word == "--").filter(|words| !words.is_empty()).collect();
    let (named, build) = (options.get(&args::REVISIONS), options.get(&args::BUILD));
    if named.is_empty() && build.is_some() {
        return Err(CliError::usage("--build builds revisions: name them by --rev"));
    }
    let measure = Measure::new(options)?;
    let (sides, _trees) = match (commands.len(), named.len()) {
        (1, 2..) => {
            let trees = revisions::Trees::check_out(&named, build, &measure)?;
            (trees.sides(commands[0]), Some(trees))
        }
        (2.., 0) => (commands.iter().map(|words| Side::new(words)).collect(), None),
        (_, 0) => {
            return Err(CliError::usage("name two programs: `warpscope versus -- ./old -- ./new`"));
        }
        _ => {
            return Err(CliError::usage(
                "name one program and two revisions: `--rev main --rev HEAD -- ./bench`",
            ));
        }
    };
    let most = options.get(&args::MAX_BLOCKS).clamp(2, 10_000) as usize;
    let turns = in_turn(&sides, &measure, most);
    let names: Vec<String> = sides.into_iter().map(|side| side.name).collect();
    let signal = measure.signals.came().filter(|_| !turns.is_decided());
    if turns.comparison.rows.is_empty() {
        return signal.map(Exit::Signal).ok_or_else(|| nothing(&turns, &names));
    }
    let errors: Vec<String> = turns.errors.into_iter().collect();
    let shown = Shown { comparison: &turns.comparison, names: &names, errors: &errors };
    show(&shown, options)?;
    Ok(signal.map_or_else(|| outcome(&shown, options), Exit::Signal))
}

/// Why there is nothing to compare.
fn nothing(turns: &Turns, names: &[String]) -> CliError {
    let errors = turns.errors.iter().cloned();
    let alone = turns.comparison.alone.iter().map(|one| one.line(names));
    CliError::Failed(errors.chain(alone).collect::<Vec<_>>().join("\n"))
}

impl Measure {
    /// How programs are run and read, as the options say.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let pattern = options.get(&args::PATTERN);
        let scan = Scan::new(&options.get(&args::PARSERS), pattern.as_deref());
        let folder: PathBuf = std::env::current_dir()?;
        Ok(Self {
            scan: scan.map_err(CliError::Usage)?,
            limit: options.get(&args::RUN_LIMIT),
            signals: crate::commands::signals::Signals::watch()?,
            folder,
            tells: io::stderr().is_terminal(),
        })
    }

    /// A line on how far it is, for those who watch.
    fn tell(&self, line: &str) {
        if self.tells {
            output::note(format_args!("{line}"));
        }
    }
}
