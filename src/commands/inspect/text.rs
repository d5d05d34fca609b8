//! What was found, for people: environment, package, library, and each GPU beside them.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

use warpscope_probes::inspect::binary::{Coverage, Scan};
use warpscope_probes::inspect::env::CudaLibrary;

use super::report::{Answer, Group, Item, Judge, Rank, Report, has_code};
use super::searched::searched;
use crate::commands::answer::text::{Style, wrapped};
use crate::engine::Outcome;
use crate::engine::installed::short_name;
use crate::text::bytes;

/// Targets shown of one library.
const TARGETS: usize = 12;
/// Packages of one outcome named in the line of a GPU.
const SUMMED: usize = 6;
/// Kernels named of those a GPU has nothing for.
const NAMES: usize = 3;

const UNTIL_COMPILED: &str = "unknown until compiled: it has no device code; its kernels are compiled at run time or are in packages it uses";
const UNTIL_READ: &str = "unknown: not all of it could be read";
const UNTIL_LOADED: &str = "unknown until compiled or loaded: its device code is data, which the CUDA runtime does not load on its own";

pub(crate) fn text(report: &Report, style: Style) -> String {
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
        let _ = writeln!(text, "{}", style.clean(&line));
    }
    if !report.unreadable.is_empty() {
        let _ = writeln!(text, "{}:", unread(report.unreadable.len()));
        for one in report.unreadable.iter().take(10) {
            let line = format!("  {}: {}", one.path.display(), one.reason);
            let _ = writeln!(text, "{}", style.clean(&line));
        }
    }
    for one in &report.searched {
        wrapped(&mut text, &style.clean(&searched(one)), 0, 2, style);
    }
    text
}

fn unread(count: usize) -> String {
    let places = if count == 1 { "place" } else { "places" };
    format!("{count} {places} could not be read")
}

/// The GPUs, numbered, since the columns below have no room for names.
fn heads(judges: &[Judge], style: Style) -> String {
    if judges.is_empty() {
        return "no GPU on this machine and none named (--gpu NAME): listing without verdicts\n\n"
            .to_owned();
    }
    let line = |(at, judge): (usize, &Judge)| {
        let driver = judge
            .driver
            .map_or_else(String::new, |isa| format!(", driver compiles PTX up to {isa}"));
        format!("{:>3}  {} ({}{driver})\n", at + 1, style.clean(&judge.label), judge.sm)
    };
    judges.iter().enumerate().map(line).collect::<String>() + "\n"
}

fn one_group(group: &Group, judges: &[Judge], style: Style) -> String {
    let root = group.root.display().to_string();
    let head =
        if root.is_empty() { group.title.clone() } else { format!("{root} ({})", group.title) };
    let mut text = format!("{}\n", style.clean(&head));
    if group.items.iter().filter(|item| item.rank != Rank::Nvidia).count() > 1 {
        for line in summary(group, judges, style) {
            wrapped(&mut text, &line, 2, 6, style);
        }
    }
    let is_folded = |item: &&Item| item.rank == Rank::Nvidia && item.damage.is_none();
    let (folded, told): (Vec<&Item>, Vec<&Item>) = group.items.iter().partition(is_folded);
    for item in told {
        text += &one_item(item, judges, style);
    }
    if !folded.is_empty() {
        let names: Vec<_> = folded.iter().map(|item| style.clean(&item.name)).collect();
        let line = format!(
            "NVIDIA's libraries, which pick kernels by GPU when they run and are not judged (--json lists them): {}",
            names.join(", ")
        );
        wrapped(&mut text, &line, 2, 4, style);
    }
    if group.items.is_empty() {
        text += "  no package with device code\n";
    }
    for library in group.loaded() {
        wrapped(&mut text, &format!("loads {}", style.clean(&cuda_line(library))), 2, 4, style);
    }
    for problem in &group.problems {
        wrapped(&mut text, &format!("! {}", style.clean(problem)), 2, 4, style);
    }
    text + "\n"
}

fn cuda_line(library: &CudaLibrary) -> String {
    let version = library.version.as_deref().unwrap_or("of unknown version");
    format!("{} {version} by {}: {}", library.name, library.via, library.path.display())
}

/// One line per GPU: what fails, runs in part and works there.
fn summary(group: &Group, judges: &[Judge], style: Style) -> Vec<String> {
    let line = |(at, judge): (usize, &Judge)| {
        let of = |wanted: Outcome| {
            let answers = |item: &&Item| {
                let answer = item.answers.get(at).and_then(Option::as_ref);
                answer.is_some_and(|answer| answer.reach.outcome == wanted)
            };
            let names: Vec<String> = group
                .items
                .iter()
                .filter(answers)
                .map(|item| style.clean(format!("{} {}", item.name, item.version).trim_end()))
                .collect();
            let rest = names.len().saturating_sub(SUMMED);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let first = names.into_iter().take(SUMMED).collect::<Vec<_>>().join(", ");
            (!first.is_empty()).then(|| format!("{} {first}{more}", style.symbol(wanted)))
        };
        let parts: Vec<String> =
            [Outcome::Fails, Outcome::Partial, Outcome::Works].into_iter().filter_map(of).collect();
        (!parts.is_empty())
            .then(|| format!("{} {}: {}", at + 1, style.clean(&judge.label), parts.join("; ")))
    };
    judges.iter().enumerate().filter_map(line).collect()
}

/// What it comes to, then the libraries it comes from.
fn one_item(item: &Item, judges: &[Judge], style: Style) -> String {
    let name = format!("  {} {}", item.name, item.version);
    let mut text = format!("{}\n", style.clean(name.trim_end()));
    // An answer about a GPU says what is damaged.
    let open: Vec<String> = item
        .answers
        .iter()
        .enumerate()
        .filter(|(_, answer)| answer.is_none())
        .map(|(at, _)| (at + 1).to_string())
        .collect();
    let is_for_all = open.len() == item.answers.len();
    if (is_for_all || !open.is_empty())
        && let Some((outcome, why)) = unjudged(item)
    {
        let numbers = if is_for_all { String::new() } else { format!("{} ", open.join(",")) };
        let line = format!("{numbers}{} {}", style.symbol(outcome), style.clean(why));
        wrapped(&mut text, &line, 4, 6, style);
    }
    for (numbers, answer) in merged(&item.answers) {
        let reach = &answer.reach;
        let (symbol, detail) = (style.symbol(reach.outcome), style.clean(&reach.detail));
        wrapped(&mut text, &format!("{numbers} {symbol} {detail}"), 4, 8, style);
        if let Some(line) = missing(answer) {
            wrapped(&mut text, &style.clean(&line), 8, 10, style);
        }
    }
    let (shown, folded) = item.folded();
    for scan in &shown {
        text += &library(scan, &item.scans, judges, style);
    }
    if !folded.is_empty() {
        wrapped(&mut text, &rest(item, &folded), 4, 6, style);
    }
    text
}

/// Why nothing is said of GPUs, where no GPU that was named is the reason.
fn unjudged(item: &Item) -> Option<(Outcome, &str)> {
    let why = match &item.damage {
        Some(damage) => return Some((Outcome::Fails, damage)),
        None if item.scans.iter().any(has_code) => return None,
        None if item.unread => UNTIL_READ,
        None if item.scans.is_empty() => UNTIL_COMPILED,
        None => UNTIL_LOADED,
    };
    Some((Outcome::Unknown, why))
}

/// Answers with the numbers of the GPUs they are for; GPUs with the same one stand together.
fn merged(answers: &[Option<Answer>]) -> Vec<(String, &Answer)> {
    let mut lines: Vec<(String, &Answer)> = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Some(answer) = answer else { continue };
        let number = (at + 1).to_string();
        match lines.iter_mut().find(|line| line.1.reach.detail == answer.reach.detail) {
            Some((numbers, _)) => *numbers = format!("{numbers},{number}"),
            None => lines.push((number, answer)),
        }
    }
    lines
}

/// The first kernels that a GPU has nothing for.
fn missing(answer: &Answer) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for name in answer.missing.as_ref()?.names.iter().map(|name| short(name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = if names.len() > NAMES { " and more (--json)" } else { "" };
    names.truncate(NAMES);
    (!names.is_empty()).then(|| format!("missing: {}{more}", names.join(", ")))
}

/// A kernel's name without its template arguments and parameters: `_ZN6marlin6MarlinI…` is `marlin::Marlin`.
fn short(name: &str) -> String {
    let Some(rest) = name.strip_prefix("_Z") else { return name.to_owned() };
    let mut rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut parts = Vec::new();
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit()) {
        let length: usize = rest[..end].parse().unwrap_or(0);
        let Some(part) = rest.get(end..end.saturating_add(length)).filter(|part| !part.is_empty())
        else {
            break;
        };
        parts.push(part);
        rest = &rest[end + length..];
    }
    if parts.is_empty() { name.to_owned() } else { parts.join("::") }
}

/// What was left out, and why.
fn rest(item: &Item, folded: &[&Scan]) -> String {
    let loaded: HashSet<&Path> = item.loaded().iter().map(|scan| scan.path.as_path()).collect();
    let loads = |scan: &&&Scan| loaded.contains(scan.path.as_path());
    let (more, others): (Vec<&&Scan>, Vec<&&Scan>) = folded.iter().partition(loads);
    let (builds, data): (Vec<&Scan>, Vec<&Scan>) =
        others.into_iter().partition(|scan| has_code(scan));
    let parts = [
        (more.len(), "of the same kind"),
        (builds.len(), "for other versions of CUDA"),
        (data.len(), "with nothing the CUDA runtime loads"),
    ];
    let parts = parts.iter().filter(|part| part.0 > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    format!("and {} (--json lists them)", parts.join(", "))
}

fn library(scan: &Scan, all: &[Scan], judges: &[Judge], style: Style) -> String {
    let name = short_name(&scan.path, all.iter().map(|one| one.path.as_path()));
    let mut text = String::new();
    let line = format!("{}  {}  {}", style.clean(&name), bytes(scan.bytes), targets(scan));
    unbroken(&mut text, &[line], "", 4, style);
    let cells: Vec<String> = judges
        .iter()
        .enumerate()
        .map(|(at, judge)| match (judge.sm, judge.driver) {
            (sm, driver) if scan.loads_its_own_code(sm, driver) => format!("{} -", at + 1),
            (sm, driver) => cell(at + 1, scan.kernel_coverage(sm, driver), style),
        })
        .collect();
    unbroken(&mut text, &cells, "   ", 6, style);
    for warning in &scan.warnings {
        wrapped(&mut text, &format!("! {}", style.clean(warning)), 6, 8, style);
    }
    text
}

/// Wraps between pieces and, within a piece, between what stands behind a comma.
fn unbroken(text: &mut String, pieces: &[String], gap: &str, indent: usize, style: Style) {
    const HELD: &str = "\u{a0}";
    let held: Vec<String> = pieces.iter().map(|piece| piece.replace(' ', HELD)).collect();
    let gap = gap.strip_suffix(' ').map_or_else(String::new, |rest| rest.replace(' ', HELD) + " ");
    let line = held.join(&gap);
    let line = line.replace(&format!(",{HELD}"), ", ").replace(&format!(";{HELD}"), "; ");
    let mut lines = String::new();
    if !line.is_empty() {
        wrapped(&mut lines, &line, indent, 6, style);
    }
    *text += &lines.replace(HELD, " ");
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
    format!("{number} {} {loads}/{}{jit}", style.symbol(outcome), coverage.total())
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
    let parts = parts.iter().filter(|part| !part.1.is_empty());
    let parts: Vec<String> = parts.map(|(what, text)| format!("{what}{text}")).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_named_without_their_arguments() {
        assert_eq!(short("_ZN6marlin6MarlinI13__nv_bfloat16Ll5EEvPK4int4"), "marlin::Marlin");
        assert_eq!(short("_Z3addPf"), "add");
        assert_eq!(short("plain_c"), "plain_c");
        assert_eq!(short("_Z"), "_Z");
        assert_eq!(short("_Z99short"), "_Z99short");
        assert_eq!(short("_Z18446744073709551615x"), "_Z18446744073709551615x");
    }

    #[test]
    fn lines_break_between_cells_only() {
        let style = Style { width: Some(40), ..Style::default() };
        let cells = ["1 + 393/393", "2 + 393/393 (3 JIT)", "3 x 0/1"].map(str::to_owned);
        let mut text = String::new();
        unbroken(&mut text, &cells, "   ", 6, style);
        assert_eq!(text, "      1 + 393/393   2 + 393/393 (3 JIT)\n      3 x 0/1\n");
    }
}
