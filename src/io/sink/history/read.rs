//! What the store holds, for histories and comparisons.

use rusqlite::{Connection, Row};

use super::samples::Part;
use super::{History, HistoryError};
use crate::runs::compare::Quartiles;
use crate::runs::journal::{Identity, Mark};
use crate::runs::points::{Key, Point};
use crate::store::kernels::{Past, Summary, Trend, device_of, trends};

impl History {
    /// Every kernel over its runs.
    pub fn trends(&self) -> Result<Vec<Trend>, HistoryError> {
        let read = || Ok(trends(self.runs()?, self.summaries()?));
        read().map_err(|error| self.refused(error))
    }

    fn runs(&self) -> rusqlite::Result<Vec<Past>> {
        let mut rows = self
            .database
            .prepare("SELECT id, hash, identity, ended, file FROM runs WHERE hash IS NOT NULL")?;
        let mut marks =
            self.database.prepare("SELECT at_ms, text FROM marks WHERE run = ?1 ORDER BY at_ms")?;
        let mut past = |row: &Row<'_>| {
            let id: i64 = row.get(0)?;
            let mark = |row: &Row<'_>| {
                Ok(Mark { at_ms: row.get::<_, i64>(0)?.cast_unsigned(), text: row.get(1)? })
            };
            Ok(Past {
                hash: row.get(1)?,
                identity: identity(row.get_ref(2)?.as_str()?),
                marks: marks.query_map([id], mark)?.collect::<rusqlite::Result<_>>()?,
                ended: row.get(3)?,
                file: row.get(4)?,
            })
        };
        rows.query_map([], |row| past(row))?.collect()
    }

    fn summaries(&self) -> rusqlite::Result<Vec<Summary>> {
        let mut rows = self.database.prepare(
            "SELECT hash, key, config, clean, tainted, lower, median, upper
             FROM summaries JOIN runs ON runs.id = run JOIN groups ON groups.id = grp
             WHERE hash IS NOT NULL",
        )?;
        rows.query_map([], summary)?.collect()
    }

    /// The samples of one run, by its hash; empty where there is no such run any more. Each point names its device.
    pub fn points(&self, run: i64) -> Result<Vec<Point>, HistoryError> {
        points(&self.database, run).map_err(|error| self.refused(error))
    }
}

/// An identity the store wrote; what a newer warpscope put into it is left out.
fn identity(text: &str) -> Identity {
    serde_json::from_str(text).unwrap_or_default()
}

fn key(text: &str) -> Key {
    serde_json::from_str(text).unwrap_or_else(|_| Key { name: text.to_owned(), ..Key::default() })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let (lower, median, upper) = (row.get(5)?, row.get(6)?, row.get(7)?);
    let quartiles = match (lower, median, upper) {
        (Some(lower), Some(median), Some(upper)) => Some(Quartiles { lower, median, upper }),
        _ => None,
    };
    Ok(Summary {
        run: row.get(0)?,
        key: key(row.get_ref(1)?.as_str()?),
        config: row.get(2)?,
        clean: row.get::<_, i64>(3)?.cast_unsigned(),
        tainted: row.get::<_, i64>(4)?.cast_unsigned(),
        quartiles,
    })
}

fn points(database: &Connection, run: i64) -> rusqlite::Result<Vec<Point>> {
    let mut rows = database.prepare(
        "SELECT key, config, t_ns, sm_mhz, tainted, identity
         FROM samples JOIN runs ON runs.id = run JOIN groups ON groups.id = grp
         WHERE hash = ?1 ORDER BY run, grp, part",
    )?;
    let mut rows = rows.query([run])?;
    let mut points = Vec::new();
    while let Some(row) = rows.next()? {
        let part = Part::unpack(
            row.get_ref(2)?.as_blob()?,
            row.get_ref(3)?.as_blob_or_null()?,
            row.get_ref(4)?.as_blob_or_null()?,
        );
        let mut key = key(row.get_ref(0)?.as_str()?);
        key.device = Some(device_of(&key, &identity(row.get_ref(5)?.as_str()?)));
        let config: String = row.get(1)?;
        let config = (!config.is_empty()).then_some(config);
        points.extend(apart(&part).map(|point| Point {
            key: key.clone(),
            config: config.clone(),
            ..point
        }));
    }
    Ok(points)
}

/// Clean and tainted samples as points of their own.
fn apart(part: &Part) -> impl Iterator<Item = Point> + '_ {
    [false, true].into_iter().filter_map(|tainted| {
        let of = |values: &[f64]| -> Vec<f64> {
            let chosen = values.iter().zip(&part.tainted).filter(|(_, mark)| **mark == tainted);
            chosen.map(|(value, _)| *value).collect()
        };
        let (t_ns, mut sm_mhz) = (of(&part.t_ns), of(&part.sm_mhz));
        if sm_mhz.iter().any(|mhz| !mhz.is_finite()) {
            sm_mhz.clear();
        }
        let tainted = if tainted { vec!["tainted".to_owned()] } else { Vec::new() };
        (!t_ns.is_empty()).then(|| Point { t_ns, sm_mhz, tainted, ..Point::default() })
    })
}
