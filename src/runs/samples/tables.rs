//! Tables for people: `torch.utils.benchmark.Compare` and Triton's `perf_report`.

use super::gather::{Gather, named, number, pairs, unit_ns};
use super::{Key, Points, PointsError, Shape};
use crate::text::without_escapes;

const TIMES: &str = "Times are in ";

pub(super) fn is_torch(head: &str) -> bool {
    head.starts_with("[-") && head.contains(" threads: ")
}

/// One cell a point: the label names it, the row and the number of threads are its configuration, the column what was tried. The unit stands
/// below each table.
pub(super) fn torch(text: &str) -> Result<Points, PointsError> {
    let text = without_escapes(text);
    let mut all = Gather::default();
    let mut rest = &*text;
    while let Some((table, after)) = rest.split_once(TIMES) {
        let (unit, below) = after.split_once('\n').unwrap_or((after, ""));
        let unit = unit.rsplit_once('(').and_then(|(_, unit)| unit_ns(unit.trim_end_matches(").")));
        let unit = unit.ok_or_else(|| PointsError("a table without its unit".to_owned()))?;
        torch_table(table, unit, &mut all);
        rest = below;
    }
    Ok(all.points())
}

fn torch_table(table: &str, unit: f64, all: &mut Gather) {
    let (mut label, mut threads) = (String::new(), "1");
    let mut columns: Option<Vec<&str>> = None;
    for line in table.lines() {
        if line.starts_with("[-") {
            label = line.trim_matches(['[', ']']).trim_matches('-').trim().to_owned();
            columns = None;
        } else if let Some((count, dashes)) = line.split_once(" threads: ")
            && dashes.starts_with('-')
        {
            threads = count.trim();
        } else if let Some((name, cells)) = line.split_once("  |  ") {
            let cells: Vec<&str> = cells.split("  |  ").map(str::trim).collect();
            let Some(columns) = &columns else {
                columns = Some(cells);
                continue;
            };
            for (column, cell) in columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty()) {
                let time = cell.split_once(" (!").map_or(cell, |(time, _)| time);
                let asked =
                    pairs([("row", name.trim()), ("column", *column), ("threads", threads)]);
                let key = if label.is_empty() { name.trim() } else { label.as_str() };
                all.add(named(key), asked, number(time).map(|time| time * unit));
            }
        }
    }
}

/// A column of Triton's table: what was tried, and the unit of its numbers. It is headed `{line name} ({y label})`, and a label may have its unit in
/// brackets of its own: `Triton (Runtime (ms))`.
fn triton_column(name: &str) -> Option<(&str, &str)> {
    let (name, label) = name.trim().strip_suffix(')')?.split_once(" (")?;
    let unit = label.trim_end_matches(')').rsplit('(').next().unwrap_or(label);
    let known = unit_ns(unit).is_some() || unit.ends_with("/s") || unit.ends_with("FLOPS");
    known.then_some((name, unit))
}

/// Cells of a header or row: by commas in a file, by two or more spaces on a screen.
fn triton_cells(line: &str) -> Vec<&str> {
    let separator = if line.contains(',') { "," } else { "  " };
    line.split(separator).map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

fn is_triton_header(line: &str) -> bool {
    let cells = triton_cells(line);
    cells.len() > 1 && cells[1..].iter().any(|cell| triton_column(cell).is_some())
}

pub(super) fn is_triton(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|first| {
        is_triton_header(first)
            || (first.ends_with(':') && lines.next().is_some_and(is_triton_header))
    })
}

/// Triton's `perf_report`, printed or saved as CSV, where the columns name their unit. A rate becomes the time of one.
pub(super) fn triton(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let (mut plot, mut names) = ("triton", Vec::new());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if is_triton_header(line) {
            names = triton_cells(line);
        } else if let Some(name) = line.strip_suffix(':') {
            plot = name.trim();
        } else {
            let mut values = triton_cells(line);
            if values.len() == names.len() + 1 {
                values.remove(0); // pandas numbers the rows it prints
            }
            if values.len() == names.len() {
                triton_row(plot, &names, &values, &mut all);
            }
        }
    }
    Ok(all.points())
}

fn triton_row(plot: &str, names: &[&str], values: &[&str], all: &mut Gather) {
    let cells = || names.iter().zip(values);
    let sizes = cells().filter(|(name, _)| triton_column(name).is_none());
    let shape =
        Shape(sizes.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect());
    for (name, value) in cells() {
        let Some((tried, unit)) = triton_column(name) else { continue };
        let time = number(value).map(|value| unit_ns(unit).map_or(1e9 / value, |ns| value * ns));
        let key = Key { name: plot.to_owned(), shape: shape.clone(), ..Key::default() };
        all.add(key, Some(tried.to_owned()), time);
    }
}
