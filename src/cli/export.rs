//! `warpscope export`: a journal in the format of another tool.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use super::exit::{CliError, Exit};
use super::options::Options;
use super::output;
use crate::sink::Holds;
use crate::sink::export::{EXPORTS, Recordings};

/// Longest line of a journal.
const MAX_LINE: u64 = 64 << 20;

/// Writes the journal that was named.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    let asked = &options.export;
    let export = EXPORTS.iter().find(|export| export.id == asked.format);
    let export = export.ok_or_else(|| CliError::Usage(format!("no format {:?}", asked.format)))?;
    let journal = asked.journal.as_deref().unwrap_or(Path::new("")); // the operand is required
    let recordings = read(journal)?;
    if recordings.damaged > 0 {
        output::note(format_args!("warpscope: {} damaged lines left out", recordings.damaged));
    }
    let Some(path) = &options.picture.output else {
        let mut out = BufWriter::new(output::stdout());
        (export.write)(&recordings.runs, &mut out)?;
        out.flush()?;
        return Ok(Exit::Fine);
    };
    let written = File::create(path).map(BufWriter::new).and_then(|mut out| {
        (export.write)(&recordings.runs, &mut out)?;
        out.flush()
    });
    written.map_err(|error| CliError::Failed(format!("{}: {error}", path.display())))?;
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Recordings, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let failed = |error: io::Error| wrong(error.to_string());
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    if !input.fill_buf().map_err(failed)?.starts_with(Holds::Journal.start()) {
        return Err(wrong(
            "is no journal of runs; `warpscope record FILE -- COMMAND` writes one".to_owned(),
        ));
    }
    let mut recordings = Recordings::default();
    let mut line = Vec::new();
    while input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(failed)? > 0 {
        recordings.take(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(recordings)
}
