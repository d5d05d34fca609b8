//! Files of runs, one at a time.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use warpscope_probes::bounded::{self, Accept, Input, into_text, read_all};

use crate::commands::cli::{CliError, Result};
use crate::runs::compare::Groups;
use crate::runs::run_log::{Dirty, PointStream, Reader, Record, SampleMode, begins_run_log};
use crate::runs::samples::{self as points, Sidecar};

/// Largest document of another tool, which is held whole.
pub(super) const MAX_DOCUMENT: u64 = 256 << 20;
/// Largest file of samples beside one, and of all beside one document.
const MAX_SIDECAR: u64 = 16 << 20;
const MAX_SIDECARS: u64 = 256 << 20;
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
    /// Runs that failed, and results that could not be read.
    pub(crate) errors: Vec<String>,
}

/// Adds the samples of a file to a side: each run in it is a process.
pub(crate) fn read(path: &Path, groups: &mut Groups) -> Result<Contents> {
    groups.next_process();
    let before = groups.points();
    let contents = contents(path, groups).map_err(CliError::at(path))?;
    if groups.points() == before {
        return Err(CliError::at(path)("holds no measurement"));
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
    points::reader(&String::from_utf8_lossy(&head)).map_err(io::Error::other)?;
    document(head.chain(input), path.parent().unwrap_or(Path::new("")), groups)
}

fn document(input: impl Read, folder: &Path, groups: &mut Groups) -> io::Result<Contents> {
    let text = into_text(read_all(input, MAX_DOCUMENT)?)?;
    let mut read = points::read(&text).map_err(io::Error::other)?;
    if read.points.is_empty() {
        return Err(io::Error::other(read.without_a_point()));
    }
    let mut left = MAX_SIDECARS;
    for sidecar in std::mem::take(&mut read.sidecars) {
        match beside(folder, &sidecar, MAX_SIDECAR.min(left)) {
            Ok(bytes) => {
                left -= bytes.len() as u64;
                read.fill(&sidecar, &bytes);
            }
            Err(error) => {
                read.damaged.get_or_insert_with(|| format!("{}: {error}", sidecar.file));
            }
        }
    }
    let left_out =
        (read.left_out > 0).then(|| format!("{} entries without a time left out", read.left_out));
    for point in read.points {
        groups.add(point, SampleMode::default());
    }
    Ok(Contents {
        errors: read.damaged.iter().cloned().collect(),
        remarks: left_out.into_iter().chain(read.damaged).collect(),
        ..Contents::default()
    })
}

/// Reads a file that a document names. Only what lies below the document's folder is opened: the name comes from outside. nvbench writes
/// names relative to where it ran, so the last two parts are tried as well.
fn beside(folder: &Path, sidecar: &Sidecar, most: u64) -> io::Result<Vec<u8>> {
    let path = find_beside(folder, sidecar).ok_or(io::ErrorKind::NotFound)?;
    bounded::read(&path, Accept::Files, most)
}

fn find_beside(folder: &Path, sidecar: &Sidecar) -> Option<PathBuf> {
    let name = Path::new(&sidecar.file);
    let parts: Vec<Component<'_>> = name.components().collect();
    let last = parts[parts.len().saturating_sub(2)..].iter().collect();
    let is_below = |name: &Path| name.components().all(|part| matches!(part, Component::Normal(_)));
    let below = [name.to_owned(), last].into_iter().filter(|name| is_below(name));
    below.map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Files that a document names and that lie beside it, relative to its folder.
pub(crate) fn files_beside(path: &Path, document: &[u8]) -> Vec<PathBuf> {
    let text = String::from_utf8_lossy(document);
    if begins_run_log(document) || points::reader(&text).is_err() {
        return Vec::new();
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let sidecars = points::read(&text).map(|read| read.sidecars).unwrap_or_default();
    let found = sidecars.iter().filter_map(|sidecar| find_beside(folder, sidecar));
    found.filter_map(|path| Some(path.strip_prefix(folder).ok()?.to_owned())).collect()
}

/// A run log is read as a stream: a record at a time, whatever the size of the file. Each run is a process; runs of an earlier state of the
/// repository are another program and are left out.
fn run_log(input: impl BufRead, groups: &mut Groups) -> io::Result<Contents> {
    let mut reader = Reader::new(input);
    let mut stream = PointStream::default();
    let (mut newest, mut now) = (Runs::default(), Runs::default());
    let mut left_out = 0;
    while let Some(record) = reader.record()? {
        if let Record::Run(_) = &record {
            stream.flush(&mut |point, regime| now.groups.add(point, regime));
            left_out += newest.take(std::mem::take(&mut now));
            now.is_cut_off = true;
        }
        if let Record::Run(run) | Record::Identity(run) = &record {
            now.command = run.command_name();
            now.state = (run.commit.clone(), run.dirty.clone());
        }
        if let Record::End(end) = &record {
            now.errors.extend(end.failure());
            now.is_cut_off = false;
        }
        stream.take(record, &mut |point, regime| now.groups.add(point, regime));
    }
    stream.flush(&mut |point, regime| now.groups.add(point, regime));
    if now.groups.points() == 0 {
        now.errors.push("the newest run holds no measurement".to_owned());
    }
    left_out += newest.take(now);
    groups.absorb(newest.groups);
    let skipped = reader.skipped();
    let skipped = (skipped.count > 0).then(|| skipped.to_string());
    let errors = newest.errors.into_iter().chain(skipped.clone()).collect();
    let older = (left_out > 0)
        .then(|| format!("{left_out} runs of an earlier commit or other changes left out"));
    Ok(Contents {
        remarks: skipped.into_iter().chain(older).collect(),
        devices: stream.devices,
        commands: [newest.command].into(),
        errors,
    })
}

/// Runs of one state of a repository.
#[derive(Default)]
struct Runs {
    groups: Groups,
    /// How many there are.
    count: usize,
    command: String,
    state: (Option<String>, Dirty),
    errors: Vec<String>,
    /// Whether its last line is missing.
    is_cut_off: bool,
}

impl Runs {
    /// Takes the run that ended; gives the number of those that were of another state.
    fn take(&mut self, mut run: Self) -> usize {
        if run.is_cut_off {
            run.errors.push("a run was cut off, or goes on".to_owned());
        }
        if run.groups.points() == 0 {
            self.errors.append(&mut run.errors);
            return 0;
        }
        // Changes that were not read may be any.
        let is_known = matches!(run.state.1, Dirty::No | Dirty::Hash(_));
        if self.count > 0 && self.state == run.state && is_known {
            self.errors.append(&mut run.errors);
            self.groups.absorb(run.groups);
            self.count += 1;
            return 0;
        }
        std::mem::replace(self, Self { count: 1, ..run }).count
    }
}
