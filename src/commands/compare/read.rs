//! Files of runs, one at a time.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use warpscope_probes::bounded::{Accept, Input, into_text, read_all};

use crate::commands::cli::CliError;
use crate::runs::compare::Groups;
use crate::runs::run_log::{PointStream, Reader, SampleMode, begins_run_log};
use crate::runs::samples as points;

/// Largest document of another tool, which is held whole.
const MAX_DOCUMENT: u64 = 256 << 20;
/// The beginning that shows what a file is.
const HEAD: u64 = 1 << 20;

/// Samples of one file, and what a person should know about it.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) groups: Groups,
    pub(crate) remarks: Vec<String>,
    /// Devices of the machine, whether or not they were used.
    pub(crate) devices: BTreeSet<String>,
}

pub(crate) fn read(path: &Path) -> Result<Contents, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let contents = contents(path).map_err(|error| wrong(error.to_string()))?;
    if contents.groups.is_empty() {
        return Err(wrong("holds no measurement".to_owned()));
    }
    Ok(contents)
}

/// What a file is shows in its beginning; it is opened once, because a pipe cannot be opened again.
fn contents(path: &Path) -> io::Result<Contents> {
    let mut input = BufReader::with_capacity(1 << 16, Input::open(path, Accept::Pipes)?);
    let mut head = Vec::new();
    input.by_ref().take(HEAD).read_to_end(&mut head)?;
    if begins_run_log(&head) {
        return journal(head.chain(input));
    }
    points::format(&String::from_utf8_lossy(&head)).map_err(io::Error::other)?;
    document(head.chain(input))
}

fn document(input: impl Read) -> io::Result<Contents> {
    let text = into_text(read_all(input, MAX_DOCUMENT)?)?;
    let read = points::read(&text).map_err(io::Error::other)?;
    let left_out =
        (read.left_out > 0).then(|| format!("{} entries without a time left out", read.left_out));
    let mut contents = Contents {
        remarks: left_out.into_iter().chain(read.damaged).collect(),
        ..Contents::default()
    };
    for point in read.points {
        contents.groups.add(point, SampleMode::default());
    }
    Ok(contents)
}

/// A journal is read as a stream: a record at a time, whatever the size of the file.
fn journal(input: impl BufRead) -> io::Result<Contents> {
    let mut reader = Reader::new(input);
    let mut stream = PointStream::default();
    let mut groups = Groups::default();
    let mut give = |point, regime| groups.add(point, regime);
    while let Some(record) = reader.record()? {
        stream.take(record, &mut give);
    }
    stream.finish(&mut give);
    let skipped = reader.skipped();
    let remarks = (skipped.count > 0).then(|| skipped.to_string());
    Ok(Contents { groups, remarks: remarks.into_iter().collect(), devices: stream.devices })
}
