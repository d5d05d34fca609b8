//! Journals into the store, a record at a time: memory does not grow with the file.

use std::io::{BufRead, BufReader};
use std::path::Path;

use rusqlite::{Transaction, TransactionBehavior, params};
use warpscope_probes::bounded::{Accept, Input, Skipped};

use super::run::Open;
use super::{History, HistoryError};
use crate::runs::journal::{Identity, Journal, Reader, Record, Run};
use crate::runs::points::Point;

/// Points, and samples, that wait for a line about the machine around them. It comes once a second, and looks back no further.
const WAITING: (usize, usize) = (1 << 16, 1 << 20);

/// What became of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Runs that are in the store now.
    pub runs: u64,
    /// Runs among them that were there before and were built anew.
    pub again: u64,
    /// Samples of them.
    pub samples: u64,
    /// Lines that could not be read.
    pub skipped: Skipped,
}

impl History {
    /// Takes every run of a journal into the store. A run that is there already is built anew; either all is taken or nothing.
    pub fn import(&mut self, journal: &Path) -> Result<Imported, HistoryError> {
        let input = Input::open(journal, Accept::Pipes)
            .map_err(|error| HistoryError::Io(journal.to_owned(), error))?;
        let name = std::path::absolute(journal).unwrap_or_else(|_| journal.to_owned());
        let input = BufReader::with_capacity(1 << 18, input);
        self.take(input, &name.display().to_string(), journal)
    }

    /// The same from any input; `name` is what the runs are said to come from.
    fn take(
        &mut self,
        input: impl BufRead,
        name: &str,
        journal: &Path,
    ) -> Result<Imported, HistoryError> {
        let failed = |error| HistoryError::Io(journal.to_owned(), error);
        let path = self.path.clone();
        let refused = |error| super::refused(&path, error);
        let mut reader = Reader::new(input);
        // Read before the store is locked: a pipe may keep us waiting.
        let mut next = reader.record().map_err(failed)?;
        let work = self.database.transaction_with_behavior(TransactionBehavior::Immediate);
        let work = work.map_err(refused)?;
        let mut intake = Intake::new(&work, name);
        while let Some(record) = next {
            intake.take(record).map_err(refused)?;
            next = reader.record().map_err(failed)?;
        }
        if !reader.is_journal() {
            return Err(HistoryError::NotAJournal(journal.to_owned()));
        }
        let imported = intake.end().map_err(refused)?;
        work.commit().map_err(refused)?;
        Ok(Imported { skipped: reader.skipped().clone(), ..imported })
    }
}

/// A journal on its way into the store.
struct Intake<'a> {
    work: &'a Transaction<'a>,
    file: &'a str,
    journal: Journal,
    /// First line of the run that is being read. Only this goes into its hash: the rest may come when a part of the run is in the store
    /// already.
    begun: Identity,
    /// The run whose lines are being read.
    run: Option<Open>,
    waiting: usize,
    imported: Imported,
}

impl<'a> Intake<'a> {
    fn new(work: &'a Transaction<'a>, file: &'a str) -> Self {
        Self {
            work,
            file,
            journal: Journal::default(),
            begun: Identity::default(),
            run: None,
            waiting: 0,
            imported: Imported::default(),
        }
    }

    fn take(&mut self, record: Record) -> rusqlite::Result<()> {
        let runs = self.journal.runs.len();
        let before = self.journal.runs.last().map_or(0, |run| run.points.len());
        self.journal.take(record);
        let begun = match self.journal.runs.last() {
            Some(run) if self.journal.runs.len() > runs => run.identity.clone(),
            _ => self.begun.clone(),
        };
        if self.journal.runs.len() > 1 {
            let run = self.journal.runs.remove(0);
            self.close(run)?;
            self.waiting = 0;
        }
        self.begun = begun;
        let Some(run) = self.journal.runs.last() else { return Ok(()) };
        let new = run.points.get(before..).unwrap_or(&run.points);
        self.waiting += new.iter().map(|point| point.t_ns.len()).sum::<usize>();
        if run.points.len() > WAITING.0 || self.waiting > WAITING.1 {
            self.settle()?;
        }
        Ok(())
    }

    /// Writes the older half of the points that wait.
    fn settle(&mut self) -> rusqlite::Result<()> {
        let Some(run) = self.journal.runs.last_mut() else { return Ok(()) };
        let half = run.points.len().div_ceil(2);
        let settled: Vec<Point> = run.points.drain(..half).collect();
        self.waiting = run.points.iter().map(|point| point.t_ns.len()).sum();
        let open = match &mut self.run {
            Some(open) => open,
            None => self.run.insert(Open::begin(self.work, &self.begun, self.file)?),
        };
        self.imported.samples += open.add(self.work, settled)?;
        Ok(())
    }

    /// Writes what is left of a run, and what it comes to.
    fn close(&mut self, run: Run) -> rusqlite::Result<()> {
        let mut open = match self.run.take() {
            Some(open) => open,
            None if run.points.is_empty() && run.identity == Identity::default() => return Ok(()),
            None => Open::begin(self.work, &self.begun, self.file)?,
        };
        self.imported.samples += open.add(self.work, run.points)?;
        let again = open.end(self.work, &run.identity, run.end.is_some())?;
        let mut mark = self.work.prepare("INSERT INTO marks VALUES (?1, ?2, ?3)")?;
        for one in &run.marks {
            mark.execute(params![open.id, one.at_ms.cast_signed(), one.text])?;
        }
        self.imported.runs += 1;
        self.imported.again += u64::from(again);
        Ok(())
    }

    fn end(mut self) -> rusqlite::Result<Imported> {
        for run in std::mem::take(&mut self.journal.runs) {
            self.close(run)?;
        }
        Ok(self.imported)
    }
}
