//! Tables of NVIDIA's profilers: Nsight Compute and Nsight Systems.

use std::collections::BTreeSet;

use super::gather::{Gather, Row, csv_rows, named, number, pairs, unit_ns};
use super::{Points, PointsError};

/// The metric that is the time of a launch, and its name on the details page.
const DURATIONS: [&str; 2] = ["gpu__time_duration.sum", "Duration"];
/// Most other metrics that are named where there is no time.
const NAMED: usize = 5;

pub(super) fn is_ncu(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("\"ID\",") && line.contains("\"Kernel Name\""))
}

/// `ncu --csv`, either page: a launch is a sample of its kernel, with its grid and block.
pub(super) fn ncu(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let (mut seen, mut others) = (BTreeSet::new(), BTreeSet::new());
    let mut raw_unit = None;
    let is_header = |cells: &[String]| cells.iter().any(|cell| cell == "Kernel Name");
    csv_rows(text, is_header, |row| {
        let Some(id) = row.get("ID") else {
            raw_unit = row.get(DURATIONS[0]).and_then(unit_ns);
            return;
        };
        let time = match row.get("Metric Name") {
            Some(metric) if DURATIONS.contains(&metric) => {
                row.number("Metric Value").zip(row.get("Metric Unit").and_then(unit_ns))
            }
            Some(metric) => {
                others.insert(metric.to_owned());
                return;
            }
            None => row.number(DURATIONS[0]).zip(raw_unit),
        };
        if seen.insert(id.to_owned()) {
            let key = named(row.get("Kernel Name").unwrap_or_default());
            all.add(key, launch(row), time.map(|(time, unit)| time * unit));
        }
    });
    if seen.is_empty() {
        let others: Vec<String> = others.into_iter().take(NAMED).collect();
        return Err(PointsError(format!(
            "Nsight Compute's table holds no {}, only {}",
            DURATIONS[0],
            others.join(", ")
        )));
    }
    Ok(all.points())
}

fn launch(row: &Row<'_>) -> Option<String> {
    let compact = |name: &str| row.get(name).unwrap_or_default().replace(' ', "");
    pairs([("grid", compact("Grid Size")), ("block", compact("Block Size"))])
}

pub(super) fn is_nsys(head: &str) -> bool {
    head.lines().any(|line| {
        let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_owned()).collect();
        is_nsys_header(&cells)
    })
}

/// Columns with the name of what was timed, by report.
const NAMES: [&str; 3] = ["Name", "Range", "Operation"];
/// Columns with the time of one launch, or else the median of all, or their mean. Reports of 2020 name no unit; it is nanoseconds.
const TIMES: [&str; 8] = [
    "Duration (",
    "Projected Duration (",
    "Med (",
    "Proj Med (",
    "Avg (",
    "Proj Avg (",
    "Average (",
    "Average",
];

fn is_nsys_header(cells: &[String]) -> bool {
    let named = cells.iter().any(|cell| NAMES.contains(&cell.as_str()));
    // Any table may have an average.
    let is_old = || cells.iter().any(|cell| cell == "Instances" || cell == "Num Calls");
    named && time_column(cells).is_some_and(|(at, _)| cells[at].ends_with(')') || is_old())
}

/// The column with the time, with the nanoseconds of its unit.
fn time_column(names: &[String]) -> Option<(usize, f64)> {
    TIMES.into_iter().find_map(|begin| {
        let at = names.iter().position(|name| name.starts_with(begin))?;
        let unit = names[at][begin.len()..].trim_end_matches(')');
        Some((at, if unit.is_empty() { 1.0 } else { unit_ns(unit)? }))
    })
}

/// `nsys stats --format csv`: a row of a trace is a sample, a row of a summary a median.
pub(super) fn nsys(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    csv_rows(text, is_nsys_header, |row| {
        let Some((at, unit)) = time_column(row.names) else { return };
        let name = NAMES.iter().find_map(|name| row.get(name)).unwrap_or_default();
        let time = row.values.get(at).and_then(|value| number(value));
        all.add(named(name), sizes(row), time.map(|time| time * unit));
    });
    Ok(all.points())
}

/// Grid and block of a kernel, amount of a copy; the former in one column of a summary, in three of a trace.
fn sizes(row: &Row<'_>) -> Option<String> {
    let three = |one: &str, all: [&str; 3]| {
        let words = row.get(one).unwrap_or_default().split_whitespace();
        let columns = all.into_iter().filter_map(|name| row.get(name)).map(str::trim);
        let sizes: Vec<&str> = words.chain(columns).filter(|size| !size.is_empty()).collect();
        sizes.join(",")
    };
    let bytes = row.get("Bytes (MB)").map(str::trim).filter(|bytes| !bytes.is_empty());
    pairs([
        ("grid", three("GridXYZ", ["GrdX", "GrdY", "GrdZ"])),
        ("block", three("BlockXYZ", ["BlkX", "BlkY", "BlkZ"])),
        ("mb", bytes.unwrap_or_default().to_owned()),
    ])
}
