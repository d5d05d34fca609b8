//! `kernels/BUDGETS.md`: what the loops of the kernels cost, and times predicted from it; a section for each family, so that one can be renewed alone.

use std::collections::BTreeMap;
use std::fmt::Write;

use warpscope_kernels::Sm;

use crate::budget::rates;
use crate::figures::{Doing, Figure, Launches};
use crate::gpus::{Asked, Gpu, Measured, Plan};
use crate::inner::KINDS;
use crate::predict::{bounds, longest, roof, waves};

const HEAD: &str = "# What the kernels' loops cost

Written by build-kernels from the machine code in `image/`; `build-kernels --check` holds every kernel to its budget in `kernels.toml`, and this file to the images.
`build-kernels --table [FAMILY…]` prints all figures of every kernel and variant.

A loop is the innermost one around the work of the kernel. The first table of a family has, by target, the most registers of a thread, the bytes spilled
of all kernels, and the kernel nearest to a limit of its loop. Machine code below sm_75 cannot be disassembled and is missing here.

The second has times that are **predicted, not measured**, of the variant for which they are shortest: the longest of what device memory, instruction
issue (4 a clock), integer instructions (half as many), special functions (16 lanes a clock), tensor cores and shared memory (128 bytes a clock) need
for that loop, at the clock NVIDIA quotes its rates at. Launches, waiting and clocks under load are not in them: a kernel cannot be faster as it is
written, and will be slower. ≥ marks a time of which one part is unknown, *estimate* a bandwidth that nobody measured. A **bold** time was measured, by
`tests/gpu/record`; `predict.toml` says when and where.
";

/// What `--table` prints above the figures of a family.
pub(crate) const LEGEND: &str = "\
The loop once through by one warp. shared: static + dynamic. held: blocks and warps a multiprocessor holds at once. /weight: instructions of all lanes
for a weight; lds/weight: loads from shared memory and shuffles; /MMA: instructions for a product of tiles; B/MMA: bytes of shared memory for it without
bank conflicts, of what four warps read together a fourth; behind each, what it may be. Targets whose figures are the same share a row.
waves: the launch's blocks by what the GPU holds at once; where they have equal shares, times are those of the multiprocessor with most of them. of the
roof: memory's time, or that of the tensor cores where tiles are multiplied, by the predicted one.
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

/// The section of a family: a row for each target, and one for each work with the best time of each GPU.
pub(crate) fn section(plan: &Plan, figures: &[&Figure], doings: &[&Doing]) -> String {
    let family = figures.first().map_or("", |figure| figure.family);
    let mut by_target: BTreeMap<Sm, Vec<&Figure>> = BTreeMap::new();
    for figure in figures {
        by_target.entry(figure.target).or_default().push(figure);
    }
    let rows: Vec<Vec<String>> =
        by_target.iter().map(|(target, figures)| summary(*target, figures)).collect();
    let text = aligned(&["on", "kernels", "regs", "spilled", "nearest to a limit"], &rows);
    let best = |asked: &Asked, gpu: &Gpu| {
        let same =
            |doing: &&&Doing| std::ptr::eq(doing.asked, asked) && std::ptr::eq(doing.gpu, gpu);
        let times = doings.iter().filter(same).filter_map(|doing| longest(&bounds(doing)?));
        times.min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let time = |(us, by, all): (f64, &str, bool)| {
        let at_least = if all { "" } else { "≥ " };
        format!("{at_least}{us:.1} {by}")
    };
    let asked = plan.works.iter().filter_map(|asked| {
        let cells = plan.gpus.iter().map(|gpu| {
            let predicted = best(asked, gpu).map_or_else(none, time);
            match asked.measured.get(&gpu.name).filter(|it| it.family == family) {
                Some(Measured { us, .. }) => format!("{predicted}; **{us:.1}**"),
                None => predicted,
            }
        });
        let cells: Vec<String> = [work(asked, "")].into_iter().chain(cells).collect();
        cells[1..].iter().any(|cell| *cell != none()).then_some(cells)
    });
    let rows: Vec<Vec<String>> = asked.collect();
    let gpus = plan.gpus.iter().map(|gpu| gpu.name.trim_start_matches("NVIDIA "));
    let head: Vec<&str> = ["µs, bound by"].into_iter().chain(gpus).collect();
    if rows.is_empty() { text } else { format!("{text}\n{}", aligned(&head, &rows)) }
}

fn summary(target: Sm, figures: &[&Figure]) -> Vec<String> {
    let rates = figures.iter().filter_map(|figure| {
        let rates = rates(figure.budget, target, figure.inner.as_ref()?);
        Some(rates.into_iter().map(|rate| (&figure.entry, rate)))
    });
    let limited = rates.flatten().filter_map(|(entry, rate)| {
        let (found, most) = (rate.found?, rate.most?);
        Some((found / most, format!("{entry}: {found:.2} ≤ {most:.2} {}", rate.what)))
    });
    let nearest = limited.max_by(|a, b| a.0.total_cmp(&b.0));
    vec![
        target.to_string(),
        figures.len().to_string(),
        figures.iter().map(|figure| figure.registers).max().unwrap_or(0).to_string(),
        figures.iter().map(|figure| figure.spills).sum::<u32>().to_string(),
        nearest.map_or_else(none, |(_, text)| text),
    ]
}

/// Every figure of a family.
pub(crate) fn details(
    plan: &Plan,
    of: &[&Figure],
    doings: &[&Doing],
    launches: &Launches,
) -> String {
    let mut head = vec!["kernel", "on", "regs", "spills", "shared", "held", "loop"];
    head.extend(KINDS.iter().map(|row| row.0));
    head.extend(["other", "/weight", "lds/weight", "/MMA", "B/MMA"]);
    let mut rows: Vec<[Vec<String>; 3]> = Vec::new();
    for &figure in of {
        let cells = cells(plan, figure, launches);
        match rows.last_mut() {
            Some([entry, on, known]) if entry[0] == figure.entry && *known == cells => {
                on.push(figure.target.to_string().replace("sm_", ""));
            }
            _ => rows.push([vec![figure.entry.clone()], vec![figure.target.to_string()], cells]),
        }
    }
    let rows =
        rows.into_iter().map(|[entry, on, cells]| [entry, vec![on.join(" ")], cells].concat());
    let mut text = aligned(&head, &rows.collect::<Vec<_>>());
    text.push_str(&predictions(plan, doings));
    text
}

fn cells(plan: &Plan, figure: &Figure, launches: &Launches) -> Vec<String> {
    // Of a target that no GPU here has, what is launched on the one below.
    let same = launches.iter().filter(|((family, entry, target), _)| {
        (*family, *entry) == (figure.family, &figure.entry[..]) && *target <= figure.target
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
    let weighs = inner.per_weight().is_some();
    for (index, one) in rates(figure.budget, figure.target, inner).into_iter().enumerate() {
        // Products of tiles are not what a loop over weights is counted by.
        let found = one.found.filter(|_| index < 2 || !weighs);
        cells.push(rate(found, one.most, if index == 3 { 0 } else { 2 }));
    }
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

fn predictions(plan: &Plan, doings: &[&Doing]) -> String {
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
    let rows: Vec<Vec<String>> =
        doings.iter().filter_map(|doing| prediction(plan, doing)).collect();
    if rows.is_empty() { String::new() } else { format!("\n{}", aligned(&head, &rows)) }
}

/// `gemm.f16 128x64 4096×4096×4096`
fn work(asked: &Asked, variant: &str) -> String {
    let sides = [asked.shape.m, asked.shape.n, asked.shape.k];
    let sides: Vec<String> = sides.iter().filter(|side| **side > 0).map(u32::to_string).collect();
    let space = if variant.is_empty() { "" } else { " " };
    format!("{}{space}{variant} {}", asked.kernel, sides.join("×"))
}

fn prediction(plan: &Plan, doing: &Doing) -> Option<Vec<String>> {
    let bounds = bounds(doing)?;
    let longest = longest(&bounds);
    let estimate = if doing.gpu.own.estimate { " (estimate)" } else { "" };
    let mut cells = vec![
        work(doing.asked, doing.work.variant),
        format!("{}{estimate}", doing.gpu.name.trim_start_matches("NVIDIA ")),
        doing.figure.entry.clone(),
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
