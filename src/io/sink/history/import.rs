//! Journals into the history, a record at a time: memory does not grow with the file.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{Accept, Input, Skipped};
use warpscope_probes::private;

use super::hash::Fnv;
use super::run_file::{RunSummary, SAMPLES, SCHEMA, SUMMARY, path};
use super::{History, HistoryError};
use crate::runs::compare::Groups;
use crate::runs::run_log::{Identity, PointStream, Reader, Record, SampleMode};
use crate::runs::samples::Point;
use crate::store::trends::{RecordedRun, Summary};

/// What became of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Runs that are in the history now.
    pub runs: u64,
    /// Runs among them that were there before and were replaced.
    pub again: u64,
    /// Samples of them.
    pub samples: u64,
    /// Lines that could not be read.
    pub skipped: Skipped,
}

impl History {
    /// Adds every run of a journal. A known run is replaced. Nothing is added unless the whole journal could be read.
    pub fn import(&self, journal: &Path) -> Result<Imported, HistoryError> {
        let unreadable = |error| HistoryError::Io(journal.to_owned(), error);
        let unwritable = |error| HistoryError::Io(self.folder.clone(), error);
        let input = Input::open(journal, Accept::Pipes).map_err(unreadable)?;
        let mut reader = Reader::new(BufReader::with_capacity(1 << 18, input));
        let source = std::path::absolute(journal).unwrap_or_else(|_| journal.to_owned());
        let owner_only = Permissions::from_mode(0o700);
        let staging = tempfile::Builder::new().permissions(owner_only).tempdir_in(&self.folder);
        let staging = staging.map_err(unwritable)?;
        let mut import = Import::new(staging.path(), source.display().to_string());
        while let Some(record) = reader.record().map_err(unreadable)? {
            import.take(record).map_err(unwritable)?;
        }
        if !reader.is_journal() {
            return Err(HistoryError::NotAJournal(journal.to_owned()));
        }
        let imported = import.publish(&self.folder).map_err(unwritable)?;
        Ok(Imported { skipped: reader.skipped().clone(), ..imported })
    }
}

/// A journal on its way into the history: its runs wait in a folder of their own until all of it was read.
struct Import<'a> {
    staging: &'a Path,
    source: String,
    open: Option<OpenRun>,
    /// Hashes of the runs that are complete.
    staged: BTreeSet<i64>,
    imported: Imported,
}

impl<'a> Import<'a> {
    fn new(staging: &'a Path, source: String) -> Self {
        Self { staging, source, open: None, staged: BTreeSet::new(), imported: Imported::default() }
    }

    fn take(&mut self, record: Record) -> io::Result<()> {
        if matches!(record, Record::Run(_)) {
            self.close()?;
        }
        let run = match &mut self.open {
            Some(run) => run,
            None => self.open.insert(OpenRun::begin(self.staging, &self.source, &record)?),
        };
        run.take(record)
    }

    fn close(&mut self) -> io::Result<()> {
        let Some(run) = self.open.take() else { return Ok(()) };
        if let Some((hash, samples)) = run.end(self.staging)? {
            self.imported.runs += 1;
            self.imported.samples += samples;
            // The same run twice in one journal: the later one has replaced the files of the earlier.
            self.imported.again += u64::from(!self.staged.insert(hash));
        }
        Ok(())
    }

    fn publish(mut self, folder: &Path) -> io::Result<Imported> {
        self.close()?;
        for run in self.staged {
            self.imported.again += u64::from(path(folder, run, SUMMARY).exists());
            // Samples first: whoever finds a summary finds its samples.
            for extension in [SAMPLES, SUMMARY] {
                fs::rename(path(self.staging, run, extension), path(folder, run, extension))?;
            }
        }
        Ok(self.imported)
    }
}

/// The run whose lines are being read.
struct OpenRun {
    out: BufWriter<File>,
    past: RecordedRun,
    stream: PointStream,
    samples: Samples,
}

impl OpenRun {
    fn begin(staging: &Path, source: &str, first: &Record) -> io::Result<Self> {
        let identity = match first {
            Record::Run(identity) => (**identity).clone(),
            _ => Identity::default(),
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(private::MODE);
        Ok(Self {
            out: BufWriter::new(options.open(draft(staging))?),
            samples: Samples::of(&identity)?,
            past: RecordedRun { identity, file: source.to_owned(), ..RecordedRun::default() },
            stream: PointStream::default(),
        })
    }

    fn take(&mut self, record: Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &record)?;
        self.out.write_all(b"\n")?;
        match &record {
            Record::Run(identity) | Record::Identity(identity) => {
                self.past.identity = (**identity).clone();
            }
            Record::Mark(mark) => self.past.marks.push(mark.clone()),
            Record::End(_) => self.past.ended = true,
            Record::Point(_) | Record::Around(_) => {}
        }
        self.stream.take(record, &mut |point, _| self.samples.add(point));
        Ok(())
    }

    /// Writes both files of the run into the folder; returns its hash and number of samples, or none where there was nothing in it.
    fn end(mut self, staging: &Path) -> io::Result<Option<(i64, u64)>> {
        self.stream.finish(&mut |point, _| self.samples.add(point));
        self.out.flush()?;
        let Samples { hash, groups, count, .. } = self.samples;
        if count == 0 && self.past.identity == Identity::default() {
            return Ok(None);
        }
        let hash = hash.value.cast_signed();
        fs::rename(draft(staging), path(staging, hash, SAMPLES))?;
        let kernels = groups.sides().map(|(key, config, side)| Summary {
            run: hash,
            key,
            config,
            clean: side.all as u64,
            tainted: side.tainted as u64,
            quartiles: side.quartiles,
        });
        let kernels = kernels.collect();
        let run = RecordedRun { hash, ..self.past };
        let summary = serde_json::to_vec(&RunSummary { schema: SCHEMA, run, kernels })?;
        private::cache(&path(staging, hash, SUMMARY), &summary)?;
        Ok(Some((hash, count)))
    }
}

/// Samples of a run by kernel, and what tells the run from every other.
struct Samples {
    hash: Fnv,
    /// Without its first line a run is known by its samples only.
    is_anonymous: bool,
    groups: Groups,
    count: u64,
}

impl Samples {
    /// Of an identity only the first line makes the hash: the rest may be found out later.
    fn of(identity: &Identity) -> io::Result<Self> {
        let mut hash = Fnv::default();
        hash.update(&serde_json::to_vec(identity)?);
        let is_anonymous = *identity == Identity::default();
        Ok(Self { hash, is_anonymous, groups: Groups::default(), count: 0 })
    }

    fn add(&mut self, point: Point) {
        self.count += point.t_ns.len() as u64;
        if self.is_anonymous {
            self.hash.update(point.key.to_string().as_bytes());
            point.t_ns.iter().for_each(|time| self.hash.update(&time.to_bits().to_le_bytes()));
        }
        self.groups.add(point, SampleMode::default());
    }
}

fn draft(staging: &Path) -> PathBuf {
    staging.join("draft")
}
