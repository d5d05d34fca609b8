//! Tables of cutlass_profiler.

use super::gather::{Row, csv_rows};
use super::{Key, Point, Points, PointsError, Shape};

/// Columns of cutlass_profiler that say how a kernel is built, not what it is asked to do; with those that are results.
const CUTLASS_RESULTS: &[&str] = &[
    "Problem",
    "Provider",
    "OperationKind",
    "Operation",
    "Disposition",
    "Status",
    "Bytes",
    "Flops",
    "Flops/Byte",
    "Runtime",
    "GB/s",
    "GFLOPs",
];

pub(super) fn is_cutlass(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("Problem,Provider,OperationKind,Operation,"))
}

/// Reads what `cutlass_profiler --output=` writes: `Runtime` is in milliseconds, one row a kernel and problem.
pub(super) fn cutlass(text: &str) -> Result<Points, PointsError> {
    let mut all = Points::default();
    let is_header = |cells: &[String]| cells.starts_with(&["Problem".into(), "Provider".into()]);
    csv_rows(text, is_header, |row| match point(row) {
        Some(point) => all.points.push(point),
        None => {
            all.left_out += 1;
            all.damaged.get_or_insert_with(|| "a kernel failed or gave a wrong result".to_owned());
        }
    });
    Ok(all)
}

/// Columns with the sizes of a problem.
const SIZES: [&str; 4] = ["m", "n", "k", "batch_count"];

/// The measurement of a row; none where the kernel did not run or gave a wrong result.
fn point(row: &Row<'_>) -> Option<Point> {
    if matches!(row.get("Disposition"), Some("incorrect" | "failed")) {
        return None;
    }
    let shape =
        SIZES.into_iter().filter_map(|size| Some((size.to_owned(), row.get(size)?.to_owned())));
    let built = row.cells().filter(|(name, value)| {
        let is_result = CUTLASS_RESULTS.contains(name) || SIZES.contains(name);
        !value.is_empty() && !is_result
    });
    let built: Vec<String> = built.map(|(name, value)| format!("{name}={value}")).collect();
    Some(Point {
        t_ns: vec![row.number("Runtime")? * 1e6],
        key: Key {
            name: row.get("Operation")?.to_owned(),
            shape: Shape(shape.collect()),
            dtype: row.get("A").map(str::to_owned),
            device: None,
        },
        config: Some(built.join(" ")),
        flops: row.number("Flops"),
        bytes: row.number("Bytes"),
        ..Point::default()
    })
}
