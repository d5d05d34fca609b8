//! What was found, for people: environment, package, library, and each GPU beside them.

use std::fmt::Write as _;

use warpscope_probes::inspect::binary::{Coverage, Scan};

use super::{Group, Item, Judge, Report};
use crate::cli::verdict_text::Style as Words;
use crate::engine::Outcome;
use crate::sink::table::Style;
use crate::sink::text::{bytes, clean};

/// Targets shown of one library.
const TARGETS: usize = 10;

pub(super) fn text(report: &Report, style: Style) -> String {
    let mut text = heads(&report.judges, style);
    let (full, bare): (Vec<&Group>, Vec<&Group>) =
        report.groups.iter().partition(|group| group.tells());
    for group in full {
        text += &one_group(group, &report.judges, style);
    }
    if !bare.is_empty() {
        let _ = writeln!(text, "nothing with device code in {} more:", bare.len());
    }
    for group in bare {
        let line = format!("  {} ({})", group.root.display(), group.title);
        let _ = writeln!(text, "{}", clean(&line, style.ascii));
    }
    if !report.unreadable.is_empty() {
        let _ = writeln!(text, "{} places could not be read:", report.unreadable.len());
        for one in report.unreadable.iter().take(10) {
            let line = format!("  {}: {}", one.path.display(), one.reason);
            let _ = writeln!(text, "{}", clean(&line, style.ascii));
        }
    }
    text
}

/// The GPUs, numbered, since the columns below have no room for names.
fn heads(judges: &[Judge], style: Style) -> String {
    if judges.is_empty() {
        return "no GPU here and none named (--gpu NAME): what is found is told without a judgement\n\n".to_owned();
    }
    let line = |(at, judge): (usize, &Judge)| {
        let driver = judge
            .driver
            .map_or_else(String::new, |isa| format!(", driver compiles PTX up to {isa}"));
        format!("{:>3}  {} ({}{driver})\n", at + 1, clean(&judge.label, style.ascii), judge.sm)
    };
    judges.iter().enumerate().map(line).collect::<String>() + "\n"
}

fn one_group(group: &Group, judges: &[Judge], style: Style) -> String {
    let root = group.root.display().to_string();
    let head = format!("{root} ({})", group.title);
    let mut text = format!("{}\n", clean(head.trim(), style.ascii));
    for item in &group.items {
        text += &one_item(item, judges, style);
    }
    if group.items.is_empty() {
        text += "  no package with device code\n";
    }
    for line in &group.cuda {
        let _ = writeln!(text, "  loads {}", clean(line, style.ascii));
    }
    for problem in &group.problems {
        let _ = writeln!(text, "  ! {}", clean(problem, style.ascii));
    }
    text + "\n"
}

fn one_item(item: &Item, judges: &[Judge], style: Style) -> String {
    let mut text =
        format!("  {} {}\n", clean(&item.name, style.ascii), clean(&item.version, style.ascii));
    if item.scans.is_empty() {
        text += "    no device code in it\n";
    }
    for scan in &item.scans {
        text += &library(scan, judges, style);
    }
    for (at, reach) in item.reach.iter().enumerate() {
        if let Some(reach) = reach {
            let words = words(style);
            let line = format!(
                "    {}  {} {}",
                at + 1,
                words.symbol(reach.outcome),
                clean(&reach.detail, style.ascii)
            );
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

fn words(style: Style) -> Words {
    Words { ascii: style.ascii, color: style.color, ..Words::default() }
}

fn library(scan: &Scan, judges: &[Judge], style: Style) -> String {
    let shown = scan.path.to_string_lossy();
    let name = shown.rsplit(['/', '!']).next().unwrap_or(&shown);
    let mut text =
        format!("    {}  {}  {}\n", clean(name, style.ascii), bytes(scan.bytes), targets(scan));
    let cells: Vec<String> = judges
        .iter()
        .enumerate()
        .map(|(at, judge)| cell(at + 1, scan.kernel_coverage(judge.sm, judge.driver), style))
        .collect();
    if !cells.is_empty() {
        let _ = writeln!(text, "      {}", cells.join("   "));
    }
    for warning in &scan.warnings {
        let _ = writeln!(text, "      ! {}", clean(warning, style.ascii));
    }
    text
}

/// `2 ✔ 393/393`, with what only the driver can compile told apart.
fn cell(number: usize, coverage: Coverage, style: Style) -> String {
    let loads = coverage.cubin + coverage.jit;
    let outcome = match (loads, coverage.none) {
        (0, 0) => return format!("{number} -"),
        (0, _) => Outcome::Fails,
        (_, 0) => Outcome::Works,
        _ => Outcome::Partial,
    };
    let jit = if coverage.jit > 0 { format!(" ({} JIT)", coverage.jit) } else { String::new() };
    format!("{number} {} {loads}/{}{jit}", words(style).symbol(outcome), coverage.total())
}

/// Targets with their counts: `sm_80 x76, compute_80 x76; relocatable compute_90 x6`.
fn targets(scan: &Scan) -> String {
    let summary = scan.summary();
    let list = |counts: &std::collections::BTreeMap<_, u32>| {
        let all: Vec<String> =
            counts.iter().map(|(target, count)| format!("{target} x{count}")).collect();
        let more = all.len().saturating_sub(TARGETS);
        let mut text = all.into_iter().take(TARGETS).collect::<Vec<_>>().join(", ");
        if more > 0 {
            let _ = write!(text, ", {more} more");
        }
        text
    };
    let parts = [
        ("", list(&summary.cubin)),
        ("", list(&summary.ptx)),
        ("", list(&summary.other)),
        ("never loaded: ", list(&summary.relocatable)),
        ("as data: ", list(&summary.data)),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|part| !part.1.is_empty())
        .map(|(what, text)| format!("{what}{text}"))
        .collect();
    parts.join("; ")
}
