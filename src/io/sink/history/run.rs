//! One run on its way into the tables: its row, its samples in parts, and what they come to.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::hash::Fnv;
use super::samples::Part;
use crate::runs::compare::Quartiles;
use crate::runs::journal::Identity;
use crate::runs::points::{Key, Point};
use crate::store::kernels::regime_word;

/// Samples of one row of the store.
const PART: usize = 1 << 16;

/// A run of which a part is in the store.
pub(super) struct Open {
    pub(super) id: i64,
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

impl Open {
    pub(super) fn begin(
        work: &Transaction<'_>,
        begun: &Identity,
        file: &str,
    ) -> rusqlite::Result<Self> {
        let whole = serde_json::to_string(begun).map_err(unwritable)?;
        let mut hash = Fnv::default();
        hash.take(whole.as_bytes());
        work.execute(
            "INSERT INTO runs (at_ms, regime, identity, file) VALUES (?1, ?2, ?3, ?4)",
            params![begun.at_ms.cast_signed(), regime_word(begun.regime), whole, file],
        )?;
        // Without its first line a run is known by its samples only.
        hash.whole = *begun == Identity::default();
        Ok(Self { id: work.last_insert_rowid(), hash, groups: HashMap::new() })
    }

    /// Takes points whose surroundings are known; returns how many samples.
    pub(super) fn add(
        &mut self,
        work: &Transaction<'_>,
        points: Vec<Point>,
    ) -> rusqlite::Result<u64> {
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
    pub(super) fn end(
        &mut self,
        work: &Transaction<'_>,
        identity: &Identity,
        ended: bool,
    ) -> rusqlite::Result<bool> {
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
            "UPDATE runs SET hash = ?1, ended = ?2, at_ms = ?3, name = ?4, commit_id = ?5, dirty = ?6,
             driver = ?7, regime = ?8, identity = ?9 WHERE id = ?10",
            params![
                hash,
                ended,
                identity.at_ms.cast_signed(),
                identity.name,
                identity.commit,
                identity.dirty.text(),
                identity.driver,
                regime_word(identity.regime),
                serde_json::to_string(identity).map_err(unwritable)?,
                self.id
            ],
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
