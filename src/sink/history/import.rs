//! Journals into the store, a line at a time: memory does not grow with the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::samples::Part;
use super::{History, HistoryError};
use crate::bench::compare::Quartiles;
use crate::bench::journal::{Identity, Journal, Run};
use crate::bench::points::{Key, Point};
use crate::sink::Holds;

/// Longest line of a journal.
const MAX_LINE: u64 = 64 << 20;
/// Samples of one row of the store.
const PART: usize = 1 << 16;
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
    pub damaged: u64,
    /// The first of them, and why.
    pub first_damage: Option<String>,
}

impl History {
    /// Takes every run of a journal into the store. A run that is there already is built anew; either all is taken or nothing.
    pub fn import(&mut self, journal: &Path) -> Result<Imported, HistoryError> {
        let failed = |error| HistoryError::Io(journal.to_owned(), error);
        let file = File::open(journal).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(HistoryError::NotAJournal(journal.to_owned()));
        }
        let mut input = BufReader::with_capacity(1 << 18, file);
        if !input.fill_buf().map_err(failed)?.starts_with(Holds::Journal.start()) {
            return Err(HistoryError::NotAJournal(journal.to_owned()));
        }
        let name = std::path::absolute(journal).unwrap_or_else(|_| journal.to_owned());
        self.take(input, &name.display().to_string(), journal)
    }

    /// The same from anything that is read by lines; `name` is what the runs are said to come from.
    fn take(
        &mut self,
        mut input: impl BufRead,
        name: &str,
        journal: &Path,
    ) -> Result<Imported, HistoryError> {
        let path = self.path.clone();
        let refused = |error| super::refused(&path, error);
        let work = self.database.transaction_with_behavior(TransactionBehavior::Immediate);
        let work = work.map_err(refused)?;
        let mut intake = Intake::new(&work, name);
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            if read.map_err(|error| HistoryError::Io(journal.to_owned(), error))? == 0 {
                break;
            }
            number += 1;
            intake.line(number, &String::from_utf8_lossy(&line)).map_err(refused)?;
        }
        let imported = intake.end().map_err(refused)?;
        work.commit().map_err(refused)?;
        Ok(imported)
    }
}

/// A journal on its way into the store.
struct Intake<'a> {
    work: &'a Transaction<'a>,
    file: &'a str,
    journal: Journal,
    /// The run whose lines are being read.
    run: Option<Open>,
    waiting: usize,
    imported: Imported,
}

/// A run of which a part is in the store.
struct Open {
    id: i64,
    hash: Fnv,
    groups: HashMap<(Key, String), Group>,
}

/// Samples of one kernel on their way.
#[derive(Default)]
struct Group {
    id: i64,
    part: Part,
    written: i64,
}

impl<'a> Intake<'a> {
    fn new(work: &'a Transaction<'a>, file: &'a str) -> Self {
        Self {
            work,
            file,
            journal: Journal::default(),
            run: None,
            waiting: 0,
            imported: Imported::default(),
        }
    }

    fn line(&mut self, number: u64, line: &str) -> rusqlite::Result<()> {
        let before = self.journal.runs.last().map_or(0, |run| run.points.len());
        self.journal.take(number, line);
        if self.journal.runs.len() > 1 {
            let run = self.journal.runs.remove(0);
            self.close(run)?;
            self.waiting = 0;
        }
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
            None => self.run.insert(Open::begin(self.work, &run.identity, self.file)?),
        };
        self.imported.samples += open.add(self.work, settled)?;
        Ok(())
    }

    /// Writes what is left of a run, and what it comes to.
    fn close(&mut self, run: Run) -> rusqlite::Result<()> {
        let mut open = match self.run.take() {
            Some(open) => open,
            None if run.points.is_empty() && run.identity == Identity::default() => return Ok(()),
            None => Open::begin(self.work, &run.identity, self.file)?,
        };
        self.imported.samples += open.add(self.work, run.points)?;
        let again = open.end(self.work, run.end.is_some())?;
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
        let journal = self.journal;
        let (damaged, first_damage) = (journal.damaged, journal.first_damage);
        Ok(Imported { damaged, first_damage, ..self.imported })
    }
}

impl Open {
    fn begin(work: &Transaction<'_>, identity: &Identity, file: &str) -> rusqlite::Result<Self> {
        let whole = serde_json::to_string(identity).map_err(unwritable)?;
        let mut hash = Fnv::default();
        hash.take(whole.as_bytes());
        work.execute(
            "INSERT INTO runs (at_ms, name, commit_id, dirty, driver, regime, identity, file)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                identity.at_ms.cast_signed(),
                identity.name,
                identity.commit,
                identity.dirty,
                identity.driver,
                crate::store::kernels::regime_word(identity.regime),
                whole,
                file
            ],
        )?;
        // Without its first line a run is known by its samples only.
        hash.whole = *identity == Identity::default();
        Ok(Self { id: work.last_insert_rowid(), hash, groups: HashMap::new() })
    }

    /// Takes points whose surroundings are known; returns how many samples.
    fn add(&mut self, work: &Transaction<'_>, points: Vec<Point>) -> rusqlite::Result<u64> {
        let mut samples = 0;
        for point in points {
            samples += point.t_ns.len() as u64;
            if self.hash.whole {
                self.hash.take(point.key.to_string().as_bytes());
                point.t_ns.iter().for_each(|time| self.hash.take(&time.to_bits().to_le_bytes()));
            }
            let tainted = !point.tainted.is_empty();
            let place = (point.key, point.config.unwrap_or_default());
            let group = match self.groups.get_mut(&place) {
                Some(group) => group,
                None => {
                    let id = group_id(work, &place)?;
                    self.groups.entry(place).or_insert(Group { id, ..Group::default() })
                }
            };
            group.part.add(&point.t_ns, &point.sm_mhz, tainted);
            if group.part.len() >= PART {
                group.write(work, self.id)?;
            }
        }
        Ok(samples)
    }

    /// Writes what waits and the summaries, and takes the place of the same run; returns whether there was one.
    fn end(&mut self, work: &Transaction<'_>, ended: bool) -> rusqlite::Result<bool> {
        for group in self.groups.values_mut() {
            let sums = if group.written == 0 {
                let mut clean = Vec::new();
                group.part.clean_into(&mut clean);
                let tainted = group.part.tainted() as u64;
                group.write(work, self.id)?;
                (clean, tainted)
            } else {
                group.write(work, self.id)?;
                read_back(work, self.id, group.id)?
            };
            summarise(work, (self.id, group.id), sums)?;
        }
        let hash = self.hash.value.cast_signed();
        let replaced = work.execute("DELETE FROM runs WHERE hash = ?1", [hash])?;
        work.execute(
            "UPDATE runs SET hash = ?1, ended = ?2 WHERE id = ?3",
            params![hash, ended, self.id],
        )?;
        Ok(replaced > 0)
    }
}

impl Group {
    fn write(&mut self, work: &Transaction<'_>, run: i64) -> rusqlite::Result<()> {
        if self.part.len() == 0 {
            return Ok(());
        }
        let packed = self.part.pack();
        work.execute(
            "INSERT INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![run, self.id, self.written, packed.t_ns, packed.sm_mhz, packed.tainted],
        )?;
        self.written += 1;
        self.part.clear();
        Ok(())
    }
}

fn group_id(work: &Transaction<'_>, (key, config): &(Key, String)) -> rusqlite::Result<i64> {
    let whole = serde_json::to_string(key).map_err(unwritable)?;
    let known = work
        .query_row(
            "SELECT id FROM groups WHERE key = ?1 AND config = ?2",
            [&whole, config],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = known {
        return Ok(id);
    }
    work.execute(
        "INSERT INTO groups (name, device, key, config) VALUES (?1, ?2, ?3, ?4)",
        params![key.name, key.device, whole, config],
    )?;
    Ok(work.last_insert_rowid())
}

fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// The samples of a kernel in a run that count, and how many do not.
fn read_back(work: &Connection, run: i64, group: i64) -> rusqlite::Result<(Vec<f64>, u64)> {
    let size = work.query_row(
        "SELECT total(length(t_ns)) FROM samples WHERE run = ?1 AND grp = ?2",
        [run, group],
        |row| row.get::<_, f64>(0),
    )?;
    let (mut clean, mut tainted) = (Vec::with_capacity(size as usize / 8), 0);
    let mut parts =
        work.prepare("SELECT t_ns, tainted FROM samples WHERE run = ?1 AND grp = ?2")?;
    let mut rows = parts.query([run, group])?;
    while let Some(row) = rows.next()? {
        let marks = row.get_ref(1)?.as_blob_or_null()?;
        let part = Part::unpack(row.get_ref(0)?.as_blob()?, None, marks);
        part.clean_into(&mut clean);
        tainted += part.tainted() as u64;
    }
    Ok((clean, tainted))
}

fn summarise(
    work: &Connection,
    (run, group): (i64, i64),
    (mut clean, tainted): (Vec<f64>, u64),
) -> rusqlite::Result<()> {
    let quartiles = Quartiles::of_unsorted(&mut clean);
    work.execute(
        "INSERT INTO summaries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            run,
            group,
            clean.len() as i64,
            tainted.cast_signed(),
            quartiles.map(|all| all.lower),
            quartiles.map(|all| all.median),
            quartiles.map(|all| all.upper),
        ],
    )?;
    Ok(())
}

/// Works out every summary from the samples.
pub(super) fn summarise_all(work: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut groups = work.prepare("SELECT DISTINCT run, grp FROM samples")?;
    let groups = groups.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (run, group) in groups.collect::<rusqlite::Result<Vec<(i64, i64)>>>()? {
        summarise(work, (run, group), read_back(work, run, group)?)?;
    }
    Ok(())
}

/// FNV-1a (Fowler, Noll, Vo): the same on every machine and with every compiler, which the standard library's hash does not promise.
struct Fnv {
    value: u64,
    /// Whether samples are taken too.
    whole: bool,
}

impl Default for Fnv {
    fn default() -> Self {
        Self { value: 0xcbf2_9ce4_8422_2325, whole: false }
    }
}

impl Fnv {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.value = (self.value ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As published with the algorithm: of nothing, of "a", of "foobar".
    #[test]
    fn the_hash_is_the_published_one() {
        let hash = |text: &str| {
            let mut hash = Fnv::default();
            hash.take(text.as_bytes());
            hash.value
        };
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }
}
