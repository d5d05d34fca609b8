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
        let row = fields(line);
        let get = |name: &str| {
            let at = names.iter().position(|one| one == name)?;
            row.get(at).map(String::as_str).filter(|value| !value.is_empty())
        };
        let runtime = get("Runtime").and_then(|text| text.parse::<f64>().ok());
        let wrong = matches!(get("Disposition"), Some("incorrect" | "failed"));
        let runtime = runtime.filter(|ms| *ms > 0.0 && ms.is_finite() && !wrong);
        let (Some(ms), Some(name)) = (runtime, get("Operation")) else {
            all.left_out += 1;
            continue;
        };
        let shape = ["m", "n", "k", "batch_count"]
            .into_iter()
            .filter_map(|size| Some((size.to_owned(), get(size)?.to_owned())));
        let built = names.iter().zip(&row).filter(|(name, value)| {
            !value.is_empty()
                && !CUTLASS_RESULTS.contains(&name.as_str())
                && !["m", "n", "k", "batch_count"].contains(&name.as_str())
        });
        let number = |name: &str| {
            get(name)
                .and_then(|text| text.parse::<f64>().ok())
                .filter(|value| value.is_finite() && *value > 0.0)
        };
        all.points.push(Point {
            key: Key {
                name: name.to_owned(),
                shape: Shape(shape.collect()),
                dtype: get("A").map(str::to_owned),
                device: None,
            },
            config: Some(
                built.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "),
            ),
            t_ns: vec![ms * 1e6],
            flops: number("Flops"),
            bytes: number("Bytes"),
            ..Point::default()
        });
    }
    Ok(all)
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
