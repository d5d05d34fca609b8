//! Tables of comma-separated values.

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
    let mut names: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with("Problem,Provider,") {
            names = fields(line);
            continue;
        }
        match point(&Row { names: &names, values: fields(line) }) {
            Some(point) => all.points.push(point),
            None => all.left_out += 1,
        }
    }
    Ok(all)
}

/// Columns with the sizes of a problem.
const SIZES: [&str; 4] = ["m", "n", "k", "batch_count"];

struct Row<'a> {
    names: &'a [String],
    values: Vec<String>,
}

impl Row<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|one| one == name)?;
        self.values.get(at).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn number(&self, name: &str) -> Option<f64> {
        let value: f64 = self.get(name)?.parse().ok()?;
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

/// The measurement of a row; none where the kernel did not run or gave a wrong result.
fn point(row: &Row<'_>) -> Option<Point> {
    if matches!(row.get("Disposition"), Some("incorrect" | "failed")) {
        return None;
    }
    let shape =
        SIZES.into_iter().filter_map(|size| Some((size.to_owned(), row.get(size)?.to_owned())));
    let built = row.names.iter().zip(&row.values).filter(|(name, value)| {
        let is_result = CUTLASS_RESULTS.contains(&name.as_str()) || SIZES.contains(&name.as_str());
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

/// Fields of one line; quotes may hold commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for c in line.trim_end_matches('\r').chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("there is always one").push(c),
        }
    }
    fields
}
