//! `kernels/BUDGETS.md`: what the loops of the kernels cost, and times predicted from it; a section for each family, so that one can be renewed alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::figures::{Doing, Figure, Launches};
use crate::gpus::Plan;
use crate::inner::KINDS;
use crate::predict::{bounds, longest, roof, waves};

const HEAD: &str = "# What the kernels' loops cost

Written by forge from the machine code in `image/`; `forge --check` holds it against `forge.toml` and the images.

A loop is the innermost one around the work of the kernel, once through by one warp. **shared** is static + dynamic, **held** are blocks and warps that
a multiprocessor holds at once. **/weight** are instructions of all lanes for a weight, **lds/weight** loads from shared memory and shuffles, **/MMA** instructions for a
product of tiles, **B/MMA** bytes of shared memory for it without bank conflicts, of what four warps read together a fourth; behind each, what it may be.
Targets whose figures are the same share a row. Machine code below sm_75 cannot be disassembled and is missing here.

Times are **predicted, not measured**: the longest of what device memory, instruction issue (4 a clock), integer instructions (half as many), special functions (16
lanes a clock), tensor cores and shared memory (128 bytes a clock) need for that loop, at the clock NVIDIA quotes its rates at. Starts and ends of launches, waiting
and clocks under load are not in them: a kernel cannot be faster as it is written, and will be slower. **waves** are the launch's blocks by what the GPU holds at
once; where they have equal shares, times are those of the multiprocessor with most of them. **of the roof** is memory's time, where tiles are multiplied or that of the tensor cores, by the predicted one. *estimate* marks a bandwidth that nobody
measured, ≥ a time of which one part is unknown.
";

/// The whole file: sections by name, kept where they are not renewed.
pub(crate) fn document(plan: &Plan, sections: &BTreeMap<String, String>) -> String {
    let mut text = HEAD.to_owned();
    text.push_str("\n| GPU | read GB/s | from |\n|---|---:|---|\n");
    for gpu in &plan.gpus {
        let sync = gpu.own.mma_sync.as_ref().map(|said| format!("; mma.sync: {said}"));
        let sync = sync.unwrap_or_default();
        let _ = writeln!(text, "| {} | {} | {}{sync} |", gpu.name, gpu.own.read_gb_s, gpu.own.read);
    }
    for (name, section) in sections {
        let _ = write!(text, "\n## {name}\n\n{section}");
    }
    text
}

/// The sections of a file by name.
pub(crate) fn sections(document: &str) -> BTreeMap<String, String> {
    let parts = document.split("\n## ").skip(1);
    let named = parts.filter_map(|part| part.split_once("\n\n"));
    named.map(|(name, rest)| (name.to_owned(), format!("{}\n", rest.trim_end()))).collect()
}

/// The section of a family; none where it has no figures.
pub(crate) fn section(
    plan: &Plan,
    family: &str,
    figures: &[Figure],
    doings: &[Doing],
    launches: &Launches,
) -> Option<String> {
    let of: Vec<&Figure> = figures.iter().filter(|figure| figure.family == family).collect();
    if of.is_empty() {
        return None;
    }
    let mut head = vec!["kernel", "on", "regs", "spills", "shared", "held", "loop"];
    head.extend(KINDS.iter().map(|row| row.0));
    head.extend(["other", "/weight", "lds/weight", "/MMA", "B/MMA"]);
    let mut rows: Vec<[Vec<String>; 3]> = Vec::new();
    for figure in of {
        let cells = cells(plan, figure, launches);
        match rows.last_mut() {
            Some([entry, on, known]) if entry[0] == figure.entry && *known == cells => {
                on.push(figure.target.to_string().replace("sm_", ""));
            }
            _ => rows.push([vec![figure.entry.to_owned()], vec![figure.target.to_string()], cells]),
        }
    }
    let rows =
        rows.into_iter().map(|[entry, on, cells]| [entry, vec![on.join(" ")], cells].concat());
    let mut text = aligned(&head, &rows.collect::<Vec<_>>());
    text.push_str(&predictions(plan, family, doings));
    Some(text)
}

fn cells(plan: &Plan, figure: &Figure, launches: &Launches) -> Vec<String> {
    // Of a target that no GPU here has, what is launched on the one below.
    let same = launches.iter().filter(|((family, entry, target), _)| {
        (*family, *entry) == (figure.family, figure.entry) && *target <= figure.target
    });
    let launch = same.max_by_key(|((.., target), _)| *target).map(|(_, launched)| *launched);
    let dynamic = launch.map_or(0, |launch| launch.dynamic);
    let warps = figure.block(launch).threads.div_ceil(32);
    let held = figure.held(plan, launch).map(|held| format!("{held}·{}", held * warps));
    let mut cells = vec![
        figure.registers.to_string(),
        figure.spills.to_string(),
        if dynamic > 0 {
            format!("{}+{dynamic}", figure.shared)
        } else {
            figure.shared.to_string()
        },
        held.unwrap_or_else(none),
    ];
    let Some(inner) = &figure.inner else {
        cells.resize_with(cells.len() + 1 + KINDS.len() + 5, none);
        return cells;
    };
    cells.push(inner.all.to_string());
    cells.extend(KINDS.iter().map(|(kind, _)| count(inner.kind(kind))));
    cells.push(count(inner.all.saturating_sub(inner.kinds.values().sum())));
    let (budget, on) = (figure.budget, figure.target);
    let weighs = inner.per_weight().is_some();
    let of_tiles = |found: Option<f64>| found.filter(|_| !weighs);
    cells.extend([
        rate(inner.per_weight(), budget.lane_instructions_per_weight_max.on(on), 2),
        rate(inner.shared_per_weight(), budget.shared_per_weight_max.on(on), 2),
        rate(of_tiles(inner.per_product()), budget.instructions_per_mma_max.on(on), 2),
        rate(of_tiles(inner.shared_bytes_per_product()), budget.shared_bytes_per_mma_max.on(on), 0),
    ]);
    cells
}

fn none() -> String {
    "–".to_owned()
}

fn count(count: u32) -> String {
    if count == 0 { none() } else { count.to_string() }
}

/// `1.16 ≤ 1.25`
fn rate(found: Option<f64>, most: Option<f64>, digits: usize) -> String {
    let Some(found) = found else { return none() };
    let most = most.map(|most| format!(" ≤ {most:.digits$}")).unwrap_or_default();
    format!("{found:.digits$}{most}")
}

fn predictions(plan: &Plan, family: &str, doings: &[Doing]) -> String {
    let head = [
        "predicted, not measured",
        "GPU",
        "kernel",
        "waves",
        "memory",
        "issue",
        "integer",
        "special",
        "mma",
        "shared",
        "µs",
        "bound by",
        "of the roof",
    ];
    let of = doings.iter().filter(|doing| doing.figure.family == family);
    let rows: Vec<Vec<String>> = of.filter_map(|doing| prediction(plan, doing)).collect();
    if rows.is_empty() { String::new() } else { format!("\n{}", aligned(&head, &rows)) }
}

fn prediction(plan: &Plan, doing: &Doing) -> Option<Vec<String>> {
    let bounds = bounds(doing)?;
    let longest = longest(&bounds);
    let shape = doing.asked.shape;
    let sides = [shape.m, shape.n, shape.k];
    let sides: Vec<String> = sides.iter().filter(|side| **side > 0).map(u32::to_string).collect();
    let variant = match doing.work.variant {
        "" => String::new(),
        variant => format!(" {variant}"),
    };
    let estimate = if doing.gpu.own.estimate { " (estimate)" } else { "" };
    let mut cells = vec![
        format!("{}{variant} {}", doing.asked.kernel, sides.join("×")),
        format!("{}{estimate}", doing.gpu.name.trim_start_matches("NVIDIA ")),
        doing.figure.entry.to_owned(),
        waves(plan, doing).map_or_else(none, |waves| format!("{waves:.2}")),
    ];
    let time = |us: Option<f64>| us.map_or_else(|| "unknown".to_owned(), |us| format!("{us:.1}"));
    cells.extend(
        bounds.iter().map(|bound| if bound.us == Some(0.0) { none() } else { time(bound.us) }),
    );
    let at_least = |all: bool| if all { "" } else { "≥ " };
    cells.push(longest.map_or_else(none, |(us, _, all)| format!("{}{us:.1}", at_least(all))));
    cells.push(longest.map_or_else(none, |(_, by, _)| by.to_owned()));
    let share =
        longest.filter(|longest| longest.2).and_then(|(us, ..)| Some(roof(doing, &bounds)? / us));
    cells.push(share.map_or_else(none, |share| format!("{share:.2}")));
    Some(cells)
}

/// A Markdown table whose source can be read as well: text to the left, numbers to the right.
fn aligned(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count(), 3]).max().unwrap_or(3)
    };
    let is_number = |column: usize| {
        rows.iter()
            .all(|row| row[column].starts_with(|c: char| c.is_ascii_digit() || "–u≥".contains(c)))
    };
    let columns: Vec<(usize, bool)> =
        (0..head.len()).map(|at| (width(at), is_number(at))).collect();
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&columns).map(|(cell, (width, right))| match right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut text = line(head);
    let rule = columns.iter().map(|(width, right)| {
        format!("{}{}", "-".repeat(width + 1), if *right { ":" } else { "-" })
    });
    let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
    for row in rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_back_as_they_were_written() {
        let plan = Plan { gpus: Vec::new(), works: Vec::new(), limits: BTreeMap::new() };
        let two =
            [("a".to_owned(), "one\n\n| x |\n".to_owned()), ("b".to_owned(), "two\n".to_owned())];
        let two: BTreeMap<String, String> = two.into();
        assert_eq!(sections(&document(&plan, &two)), two);
        assert!(sections(HEAD).is_empty());
    }

    #[test]
    fn tables_align() {
        let rows = [vec!["w4".to_owned(), "1.16 ≤ 1.25".to_owned()], vec!["x".to_owned(), none()]];
        let want = "| kernel |     /weight |\n|--------|------------:|\n| w4     | 1.16 ≤ 1.25 |\n| x      |           – |\n";
        assert_eq!(aligned(&["kernel", "/weight"], &rows), want);
    }
}
