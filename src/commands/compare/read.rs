//! Files of runs, one at a time.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use warpscope_probes::bounded::{Accept, Input, into_text, read_all};

use crate::commands::cli::CliError;
use crate::runs::compare::Groups;
use crate::runs::run_log::{PointStream, Reader, Record, SampleMode, begins_run_log};
use crate::runs::samples as points;

/// Largest document of another tool, which is held whole.
const MAX_DOCUMENT: u64 = 256 << 20;
/// The beginning that shows what a file is.
const HEAD: u64 = 1 << 20;

/// What a person should know about a file.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) remarks: Vec<String>,
    /// Devices of the machine, whether or not they were used.
    pub(crate) devices: BTreeSet<String>,
    /// Commands of its runs, by the names noise is kept under.
    pub(crate) commands: BTreeSet<String>,
}

/// Adds the samples of a file to a side: each run in it is a process.
pub(crate) fn read(path: &Path, groups: &mut Groups) -> Result<Contents, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    groups.next_process();
    let before = groups.points();
    let contents = contents(path, groups).map_err(|error| wrong(error.to_string()))?;
    if groups.points() == before {
        return Err(wrong("holds no measurement".to_owned()));
    }
    Ok(contents)
}

/// What a file is shows in its beginning; it is opened once, because a pipe cannot be opened again.
fn contents(path: &Path, groups: &mut Groups) -> io::Result<Contents> {
    let mut input = BufReader::with_capacity(1 << 16, Input::open(path, Accept::Pipes)?);
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    if begins_run_log(&head) {
        return run_log(head.chain(input), groups);
    }
    points::format(&String::from_utf8_lossy(&head)).map_err(io::Error::other)?;
    document(head.chain(input), groups)
}

fn document(input: impl Read, groups: &mut Groups) -> io::Result<Contents> {
    let text = into_text(read_all(input, MAX_DOCUMENT)?)?;
    let read = points::read(&text).map_err(io::Error::other)?;
    let left_out =
        (read.left_out > 0).then(|| format!("{} entries without a time left out", read.left_out));
    for point in read.points {
        groups.add(point, SampleMode::default());
    }
    Ok(Contents {
        remarks: left_out.into_iter().chain(read.damaged).collect(),
        ..Contents::default()
    })
}

/// A run log is read as a stream: a record at a time, whatever the size of the file.
fn run_log(input: impl BufRead, groups: &mut Groups) -> io::Result<Contents> {
    let mut reader = Reader::new(input);
    let mut stream = PointStream::default();
    let mut commands = BTreeSet::new();
    while let Some(record) = reader.record()? {
        if let Record::Run(run) = &record {
            stream.flush(&mut |point, regime| groups.add(point, regime));
            groups.next_process();
            commands.insert(run.command_name());
        }
        stream.take(record, &mut |point, regime| groups.add(point, regime));
    }
    stream.flush(&mut |point, regime| groups.add(point, regime));
    let skipped = reader.skipped();
    let remarks = (skipped.count > 0).then(|| skipped.to_string());
    Ok(Contents { remarks: remarks.into_iter().collect(), devices: stream.devices, commands })
}
