//! What other tools measured: their files, and lines of their output.

use std::sync::LazyLock;

use warpscope::runs::run_log::{Record, Taken};
use warpscope::runs::samples::{Found, PARSERS, Point, Scan, read};

use crate::Trace;

/// A file in any format. Points that come out are sound and survive being kept in a journal.
pub(super) fn points(bytes: &[u8], trace: &mut Trace) {
    let result = read(&String::from_utf8_lossy(bytes));
    trace.result(&result);
    let Ok(points) = result else { return };
    trace.count(points.format, points.points.len());
    for point in points.points {
        check(point, bytes.len());
    }
}

/// Lines a program prints, looked into by every parser.
pub(super) fn output(bytes: &[u8], trace: &mut Trace) {
    static ALL: LazyLock<Scan> = LazyLock::new(|| {
        let parsers: Vec<String> = PARSERS.iter().map(|one| (*one).to_owned()).collect();
        Scan::new(&parsers, Some(r"(?<name>\w+)=(?<per_s>\S+)")).expect("a pattern")
    });
    let mut scan = ALL.clone();
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        for found in scan.take(line) {
            trace.value(&found);
            if let Found::Point(point) = found {
                check(*point, bytes.len());
            }
        }
    }
}

fn check(point: Point, length: usize) {
    assert!(!point.t_ns.is_empty() && !point.key.name.is_empty(), "{point:?}");
    assert!(point.t_ns.iter().all(|time| time.is_finite() && *time > 0.0), "{point:?}");
    let record = Record::Point(Box::new(Taken { point, ..Taken::default() }));
    let line = serde_json::to_string(&record).expect("a point can be written");
    assert!(line.len() <= 1000 + 32 * length, "{} bytes from {length}", line.len());
    assert_eq!(super::recordings::record(line.as_bytes()), Some(record), "{line}");
}
