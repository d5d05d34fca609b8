//! `warpscope export`: a journal in the format of another tool.

use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

use warpscope_probes::bounded::{Accept, Input};

use super::output;
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result};
use crate::commands::frames::source::note_skipped;
use crate::commands::output::file::Target;
use crate::config::args;
use crate::io::sink::export::{EXPORTS, Recordings};
use crate::runs::run_log::Reader;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "export",
    about: "Convert a run log to the format of another tool",
    args: &[&[&args::JOURNAL, &args::EXPORT_FORMAT, &args::OUTPUT, &args::FORCE], CONFIG_FILE],
    examples: &[
        ("export run.jsonl --format csv -o run.csv", "one row per sample"),
        ("export run.jsonl --format perfetto -o run.json", "for ui.perfetto.dev"),
    ],
    run,
    ..CommandSpec::BASE
};

/// Writes the journal that was named.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let format = options.get(&args::EXPORT_FORMAT);
    let export = EXPORTS.iter().find(|export| export.id == format);
    let export = export.ok_or_else(|| CliError::Usage(format!("no format {format:?}")))?;
    let recordings = read(&options.get(&args::JOURNAL))?;
    let Some(path) = options.get(&args::OUTPUT) else {
        let mut out = BufWriter::new(output::stdout());
        (export.write)(&recordings.runs, &mut out)?;
        out.flush()?;
        return Ok(Exit::Fine);
    };
    let target = Target { path: &path, force: options.get(&args::FORCE) };
    target.write(|out| (export.write)(&recordings.runs, out))?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Recordings> {
    let input = Input::open(path, Accept::Pipes).map_err(CliError::at(path))?;
    let mut reader = Reader::new(BufReader::with_capacity(1 << 16, input));
    let mut recordings = Recordings::default();
    while let Some(record) = reader.record().map_err(CliError::at(path))? {
        recordings.take(record);
    }
    if !reader.is_journal() {
        let why = "is not a run log; `warpscope record FILE -- COMMAND` writes one";
        return Err(CliError::at(path)(why));
    }
    note_skipped(path, reader.skipped());
    Ok(recordings)
}
