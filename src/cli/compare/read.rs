//! Files of runs, one at a time.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::super::exit::CliError;
use crate::bench::compare::Groups;
use crate::bench::journal::{PointStream, Regime};
use crate::bench::points;
use crate::sink::Holds;

/// Largest document of another tool that is read whole.
const MAX_DOCUMENT: u64 = 1 << 30;
/// Longest line of a journal.
const MAX_LINE: u64 = 64 << 20;

/// Samples of one file, and what a person should know about it.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) groups: Groups,
    pub(super) remarks: Vec<String>,
    /// Devices of the machine, whether or not they were used.
    pub(super) devices: BTreeSet<String>,
}

pub(super) fn read(path: &Path) -> Result<Contents, CliError> {
    let failed = |error: std::io::Error| CliError::Usage(format!("{}: {error}", path.display()));
    let mut input = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let contents = if input.fill_buf().map_err(failed)?.starts_with(Holds::Journal.start()) {
        journal(input).map_err(failed)?
    } else {
        document(input, path)?
    };
    if contents.groups.is_empty() {
        return Err(CliError::Usage(format!("{}: holds no measurement", path.display())));
    }
    Ok(contents)
}

fn document(mut input: impl BufRead, path: &Path) -> Result<Contents, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
    let mut text = String::new();
    let long = input.by_ref().take(MAX_DOCUMENT).read_to_string(&mut text);
    if long.map_err(|error| wrong(error.to_string()))? as u64 == MAX_DOCUMENT {
        return Err(wrong("larger than 1 GiB".to_owned()));
    }
    let read = points::read(&text).map_err(|error| wrong(error.to_string()))?;
    let left_out =
        (read.left_out > 0).then(|| format!("{} entries without a time left out", read.left_out));
    let mut contents = Contents {
        remarks: left_out.into_iter().chain(read.damaged).collect(),
        ..Contents::default()
    };
    for point in read.points {
        contents.groups.add(point, Regime::default());
    }
    Ok(contents)
}

/// A journal is read as a stream: a line at a time, whatever the size of the file.
fn journal(mut input: impl BufRead) -> std::io::Result<Contents> {
    let mut stream = PointStream::default();
    let mut groups = Groups::default();
    let mut give = |point, regime| groups.add(point, regime);
    let (mut line, mut number) = (Vec::new(), 0);
    while input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        number += 1;
        stream.take(number, &String::from_utf8_lossy(&line), &mut give);
        line.clear();
    }
    stream.finish(&mut give);
    let damaged = stream
        .first_damage
        .map(|why| format!("{} damaged lines, the first: {why}", stream.damaged));
    Ok(Contents { groups, remarks: damaged.into_iter().collect(), devices: stream.devices })
}
