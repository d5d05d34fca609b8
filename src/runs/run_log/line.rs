//! Lines of a journal. A point is read into its type at once: most of a file is numbers, and a tree of values would hold each of them twice.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Identity, RUN_LOG_SCHEMA, Record, Taken, Window};
use crate::runs::samples::{Key, Point, Shape, parse_line};

/// Reads one line, and says whether it names its kind. One that does not is a point of another program.
pub(super) fn read_record(line: &str) -> Result<(Record, bool), String> {
    let Some(kind) = kind(line) else { return Ok((foreign(line)?, false)) };
    let record = match &*kind {
        RUN => Record::Run(identity(line)?),
        IDENTITY => Record::Identity(identity(line)?),
        POINT => match typed::<PointLine>(line) {
            Ok(point) => Record::Point(Box::new(point.checked()?)),
            Err(_) => foreign(line)?,
        },
        AROUND => Record::Around(Box::new(typed(line)?)),
        MARK => Record::Mark(typed(line)?),
        END => Record::End(typed(line)?),
        other => return Err(format!("a record of kind {other:?}")),
    };
    Ok((record, true))
}

const RUN: &str = "run";
const IDENTITY: &str = "identity";
const POINT: &str = "point";
const AROUND: &str = "around";
const MARK: &str = "mark";
const END: &str = "end";

/// Whether records of this kind are read.
pub(super) fn is_kind(kind: &str) -> bool {
    [RUN, IDENTITY, POINT, AROUND, MARK, END].contains(&kind)
}

fn identity(line: &str) -> Result<Box<Identity>, String> {
    let identity: Identity = typed(line)?;
    if identity.schema == RUN_LOG_SCHEMA {
        return Ok(Box::new(identity));
    }
    Err(format!("format {} of a run; this warpscope reads {RUN_LOG_SCHEMA}", identity.schema))
}

fn typed<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

fn foreign(line: &str) -> Result<Record, String> {
    let point = parse_line(line).map_err(|error| error.to_string())?;
    Ok(Record::Point(Box::new(Taken { point, ..Taken::default() })))
}

/// The kind a line names. Mostly its first key does, and then the line is parsed only once.
fn kind(line: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, default, rename = "type")]
        kind: Option<Cow<'a, str>>,
    }
    if !line.starts_with('{') {
        return None;
    }
    first_kind(line).map(Cow::Borrowed).or_else(|| serde_json::from_str::<Kind>(line).ok()?.kind)
}

/// The kind where it is the first key; the line may break off behind it.
pub(super) fn first_kind(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('{')?.trim_start().strip_prefix("\"type\"")?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(kind, _)| kind)
}

/// A point as this program writes it.
#[derive(Deserialize)]
struct PointLine {
    #[serde(default)]
    at_ms: Option<u64>,
    name: String,
    #[serde(default)]
    shape: Shape,
    #[serde(default)]
    dtype: Option<String>,
    #[serde(default)]
    device: Option<String>,
    #[serde(default)]
    config: Option<String>,
    t_ns: Vec<f64>,
    #[serde(default)]
    sm_mhz: Vec<f64>,
    #[serde(default)]
    flops: Option<f64>,
    #[serde(default)]
    bytes: Option<f64>,
    #[serde(default)]
    tainted: Vec<String>,
    #[serde(default)]
    window: Option<Window>,
}

impl PointLine {
    fn checked(self) -> Result<Taken, String> {
        if self.name.is_empty() || self.t_ns.is_empty() {
            return Err("a point without a name or without a time".to_owned());
        }
        if let Some(bad) = self.t_ns.iter().find(|time| **time <= 0.0) {
            return Err(format!("time {bad}: must be above zero"));
        }
        let key =
            Key { name: self.name, shape: self.shape, dtype: self.dtype, device: self.device };
        let point = Point {
            key,
            config: self.config,
            t_ns: self.t_ns,
            sm_mhz: self.sm_mhz,
            flops: self.flops,
            bytes: self.bytes,
            tainted: self.tainted,
        };
        Ok(Taken { at_ms: self.at_ms, point, window: self.window })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_point_is_refused_with_the_reason() {
        for (line, why) in [
            (r#"{"type":"point","name":"a","t_ns":[]}"#, "without a time"),
            (r#"{"type":"point","name":"","t_ns":[1]}"#, "without a name"),
            (r#"{"type":"point","name":"a","t_ns":[1,-1]}"#, "above zero"),
            (r#"{"type":"point","name":"a","t_ns":[1,null]}"#, "not a number"),
            (r#"{"type":"point","name":"a"}"#, "no time"),
        ] {
            let error = read_record(line).expect_err(line);
            assert!(error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn points_of_other_writers_are_read_too() {
        for line in [
            r#"{"type":"point","name":"a","m":16,"t_us":1}"#,
            r#"{"type":"point","name":"a","shape":{"m":16},"t_ns":[1000]}"#,
            "name=a m=16 t_us=1",
        ] {
            let Ok((Record::Point(taken), _)) = read_record(line) else { panic!("{line}") };
            assert_eq!(taken.point.key.to_string(), "a m=16");
            assert_eq!(taken.point.t_ns, [1000.0]);
        }
    }
}
