//! The two files of a run, read back.

use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpscope_probes::bounded::{self, Accept, Input};

use super::{History, HistoryError};
use crate::runs::compare::Groups;
use crate::runs::run_log::{PointStream, Reader};
use crate::runs::samples::Point;
use crate::store::trends::{RecordedRun, Summary, Trend, device_of, trends};

/// Number of the summary's format.
pub(super) const SCHEMA: u32 = 1;

/// Largest summary that is read.
const LONGEST: u64 = 256 << 20;

/// Extension of a summary.
pub(super) const SUMMARY: &str = "json";
/// Extension of the samples.
pub(super) const SAMPLES: &str = "jsonl";

/// What a history needs of a run without its samples.
#[derive(Serialize, Deserialize)]
pub(super) struct RunSummary {
    pub(super) schema: u32,
    pub(super) run: RecordedRun,
    pub(super) kernels: Vec<Summary>,
}

/// A file of a run in a folder.
pub(super) fn path(folder: &Path, run: i64, extension: &str) -> PathBuf {
    folder.join(format!("{:016x}.{extension}", run.cast_unsigned()))
}

impl History {
    /// Every kernel over its runs.
    pub fn trends(&self) -> Result<Vec<Trend>, HistoryError> {
        let (mut runs, mut summaries) = (Vec::new(), Vec::new());
        for path in self.summaries()? {
            let one = summary(&path)?;
            runs.push(one.run);
            summaries.extend(one.kernels);
        }
        Ok(trends(runs, summaries))
    }

    /// Removes the runs that are meant, and says how many they were.
    pub fn forget(&self, is_meant: impl Fn(&RecordedRun) -> bool) -> Result<u64, HistoryError> {
        let failed = |error| HistoryError::Io(self.folder.clone(), error);
        let mut forgotten = 0;
        for path in self.summaries()? {
            let run = summary(&path)?.run;
            if is_meant(&run) {
                // The summary first: whoever finds one finds its samples.
                fs::remove_file(&path).map_err(failed)?;
                fs::remove_file(path.with_extension(SAMPLES)).map_err(failed)?;
                forgotten += 1;
            }
        }
        Ok(forgotten)
    }

    fn summaries(&self) -> Result<Vec<PathBuf>, HistoryError> {
        let failed = |error| HistoryError::Io(self.folder.clone(), error);
        let paths = fs::read_dir(&self.folder).map_err(failed)?.map(|entry| Ok(entry?.path()));
        let paths = paths.collect::<io::Result<Vec<PathBuf>>>().map_err(failed)?;
        let is_summary = |path: &PathBuf| path.extension().is_some_and(|end| end == SUMMARY);
        Ok(paths.into_iter().filter(is_summary).collect())
    }

    /// The command of a run; none where the run is gone.
    pub fn command(&self, run: i64) -> Option<String> {
        let summary = summary(&path(&self.folder, run, SUMMARY)).ok()?;
        Some(summary.run.identity.command_name())
    }

    /// The samples of one run by kernel, each with its device; empty where the run is gone.
    pub fn samples(&self, run: i64) -> Result<Groups, HistoryError> {
        let mut groups = Groups::default();
        if !path(&self.folder, run, SUMMARY).exists() {
            return Ok(groups);
        }
        let identity = summary(&path(&self.folder, run, SUMMARY))?.run.identity;
        let samples = path(&self.folder, run, SAMPLES);
        let mut add = |mut point: Point, _| {
            point.key.device = Some(device_of(&point.key, &identity));
            groups.add(point, identity.regime);
        };
        let mut read = || -> io::Result<()> {
            let mut reader = Reader::new(BufReader::new(Input::open(&samples, Accept::Files)?));
            let mut stream = PointStream::default();
            while let Some(record) = reader.record()? {
                stream.take(record, &mut add);
            }
            stream.flush(&mut add);
            Ok(())
        };
        read().map_err(|error| HistoryError::Io(samples.clone(), error))?;
        Ok(groups)
    }
}

fn summary(path: &Path) -> Result<RunSummary, HistoryError> {
    #[derive(Deserialize)]
    struct Format {
        schema: u32,
    }
    let text = bounded::text(path, Accept::Files, LONGEST)
        .map_err(|error| HistoryError::Io(path.to_owned(), error))?;
    let why = match serde_json::from_str::<RunSummary>(&text) {
        Ok(summary) if summary.schema == SCHEMA => return Ok(summary),
        Ok(_) => "unknown format".to_owned(),
        Err(error) => error.to_string(),
    };
    match serde_json::from_str(&text) {
        Ok(Format { schema }) if schema > SCHEMA => {
            Err(HistoryError::Newer(path.to_owned(), schema, SCHEMA))
        }
        _ => Err(HistoryError::Damaged(path.to_owned(), why)),
    }
}
