//! `warpscope gpus`, `frameworks` and `dtypes`: the tables answers are made from, one line per item.
//!
//! A matrix of number formats and architectures was rejected: a line per pair can be searched with grep, and says its detail.

use serde::Serialize;
use warpscope_kernels::DTYPES;
use warpscope_probes::catalogue::{Catalogue, How, Part};
use warpscope_probes::rules::{Framework, MODELS, RuleBase};

use super::output;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::io::sink::table::{Column, Side, grid};

/// Number of the JSON formats.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Gpu<'a> {
    name: &'a str,
    /// As NVML prints it; variants may share it.
    nvml_name: &'a str,
    aliases: Vec<&'a str>,
    sm: String,
    chip: &'a str,
    memory_gb: u32,
    memory_type: &'a str,
    bandwidth_gbs: f64,
    tdp_w: f64,
    pci: Vec<String>,
    source: &'a str,
    retrieved: &'a str,
}

impl<'a> Gpu<'a> {
    fn new(part: &'a Part) -> Self {
        let names = part.aliases.iter().chain(&part.default_for);
        Self {
            name: &part.market_name,
            nvml_name: &part.name,
            aliases: names.map(String::as_str).collect(),
            sm: part.sm.to_string(),
            chip: &part.chip,
            memory_gb: part.memory_gb,
            memory_type: &part.memory_type,
            bandwidth_gbs: part.bandwidth_gbs,
            tdp_w: part.tdp_w,
            pci: part.pci_ids.iter().map(|id| format!("10de:{id}")).collect(),
            source: &part.source,
            retrieved: &part.retrieved,
        }
    }
}

const GPU_COLUMNS: &[Column<Gpu<'_>>] = &[
    Column { head: "GPU", side: Side::Left, rank: 0, cell: |gpu, _| gpu.name.to_owned() },
    Column { head: "SM", side: Side::Left, rank: 0, cell: |gpu, _| gpu.sm.clone() },
    Column { head: "CHIP", side: Side::Left, rank: 2, cell: |gpu, _| gpu.chip.to_owned() },
    Column {
        head: "MEMORY",
        side: Side::Right,
        rank: 0,
        cell: |gpu, _| format!("{} GB {}", gpu.memory_gb, gpu.memory_type),
    },
    Column {
        head: "BANDWIDTH",
        side: Side::Right,
        rank: 0,
        cell: |gpu, _| format!("{} GB/s", gpu.bandwidth_gbs),
    },
    Column { head: "POWER", side: Side::Right, rank: 3, cell: |gpu, _| format!("{} W", gpu.tdp_w) },
    Column { head: "PCI ID", side: Side::Left, rank: 1, cell: |gpu, _| gpu.pci.join(" ") },
    Column { head: "ALSO", side: Side::Left, rank: 4, cell: |gpu, _| gpu.aliases.join(", ") },
];

/// Every product of the catalogue.
pub(crate) fn gpus(options: &Options) -> Result<Exit, CliError> {
    let parts = Catalogue::load().search(&options.ask.filter.join(" "));
    let rows: Vec<_> = parts.into_iter().map(Gpu::new).collect();
    show(options, "gpus", GPU_COLUMNS, &rows)
}

#[derive(Serialize)]
struct Known {
    id: String,
    name: String,
    /// Newest version the rules speak of.
    version: Option<String>,
    configurations: usize,
    rules: usize,
    /// Of the rules, those of the user.
    your_rules: usize,
    aliases: Vec<String>,
}

impl Known {
    fn new(base: &RuleBase, framework: &Framework) -> Self {
        let Framework { id, name, version, aliases, .. } = framework.clone();
        Self {
            configurations: base.configs().iter().filter(|row| row.framework == id).count(),
            rules: base.rules_of(&id).count(),
            your_rules: base.rules_of(&id).filter(|rule| rule.user).count(),
            id,
            name,
            version,
            aliases,
        }
    }

    fn says(&self, word: &str) -> bool {
        let names = self.aliases.iter().chain([&self.id, &self.name]);
        names.map(|name| name.to_lowercase()).any(|name| name.contains(word))
    }
}

const FRAMEWORK_COLUMNS: &[Column<Known>] = &[
    Column { head: "FRAMEWORK", side: Side::Left, rank: 0, cell: |one, _| one.id.clone() },
    Column { head: "NAME", side: Side::Left, rank: 1, cell: |one, _| one.name.clone() },
    Column {
        head: "NEWEST KNOWN",
        side: Side::Left,
        rank: 0,
        cell: |one, style| {
            one.version.clone().unwrap_or_else(|| if style.ascii { "-" } else { "–" }.to_owned())
        },
    },
    Column {
        head: "ROWS",
        side: Side::Right,
        rank: 0,
        cell: |one, _| one.configurations.to_string(),
    },
    Column { head: "RULES", side: Side::Right, rank: 0, cell: |one, _| one.rules.to_string() },
    Column {
        head: "YOURS",
        side: Side::Right,
        rank: 3,
        cell: |one, _| match one.your_rules {
            0 => String::new(),
            count => count.to_string(),
        },
    },
    Column { head: "ALSO", side: Side::Left, rank: 2, cell: |one, _| one.aliases.join(", ") },
];

/// Every framework the rules speak of.
pub(crate) fn frameworks(options: &Options) -> Result<Exit, CliError> {
    let base = rule_base(options)?;
    let words = lower(options);
    let known = base.frameworks().iter().filter(|one| one.id != MODELS);
    let rows: Vec<_> = known
        .map(|one| Known::new(&base, one))
        .filter(|one| words.iter().all(|word| one.says(word)))
        .collect();
    show(options, "frameworks", FRAMEWORK_COLUMNS, &rows)
}

#[derive(Serialize)]
struct Pair<'a> {
    dtype: &'static str,
    sm: String,
    architecture: &'a str,
    how: How,
    detail: String,
    source: String,
    retrieved: String,
}

impl Pair<'_> {
    fn says(&self, word: &str) -> bool {
        let plain = self.sm.trim_start_matches("sm_");
        let cc = plain.split_at_checked(plain.len().saturating_sub(1));
        let cc = cc.map(|(major, minor)| format!("{major}.{minor}")).unwrap_or_default();
        let how = self.how.words();
        [self.dtype, &self.sm, self.architecture, how, &self.detail, &cc]
            .iter()
            .any(|text| text.to_lowercase().contains(word))
    }
}

const DTYPE_COLUMNS: &[Column<Pair<'_>>] = &[
    Column { head: "DTYPE", side: Side::Left, rank: 0, cell: |pair, _| pair.dtype.to_owned() },
    Column { head: "SM", side: Side::Left, rank: 0, cell: |pair, _| pair.sm.clone() },
    Column {
        head: "ARCHITECTURE",
        side: Side::Left,
        rank: 1,
        cell: |pair, _| pair.architecture.to_owned(),
    },
    Column {
        head: "HOW",
        side: Side::Left,
        rank: 0,
        cell: |pair, style| format!("{} {}", pair.how.symbol(style.ascii), pair.how.words()),
    },
    Column { head: "DETAIL", side: Side::Left, rank: 2, cell: |pair, _| pair.detail.clone() },
];

/// Every number format on every compute capability, and on chips that can do less than theirs promises.
pub(crate) fn dtypes(options: &Options) -> Result<Exit, CliError> {
    let words = lower(options);
    let mut rows: Vec<_> = pairs(Catalogue::load());
    rows.retain(|pair| words.iter().all(|word| pair.says(word)));
    show(options, "dtypes", DTYPE_COLUMNS, &rows)
}

fn pairs(catalogue: &Catalogue) -> Vec<Pair<'_>> {
    let archs = catalogue.archs().iter().map(|arch| (arch.sm, arch.name.as_str(), &arch.dtypes));
    let variants = catalogue.variants().iter();
    let variants = variants.map(|chip| (chip.of, chip.name.as_str(), &chip.dtypes));
    let columns: Vec<_> = archs.chain(variants).collect();
    let mut pairs = Vec::new();
    for (dtype, id, _) in DTYPES {
        let source = catalogue.dtype_source(*dtype);
        for (sm, architecture, facts) in &columns {
            let fact = facts.get(dtype);
            let source = source.filter(|_| fact.is_some());
            pairs.push(Pair {
                dtype: id,
                sm: sm.to_string(),
                architecture,
                how: fact.map_or(How::Unknown, |fact| fact.how),
                detail: fact.map(|fact| fact.detail.clone()).unwrap_or_default(),
                source: source.map(|from| from.source.clone()).unwrap_or_default(),
                retrieved: source.map(|from| from.retrieved.clone()).unwrap_or_default(),
            });
        }
    }
    pairs
}

fn lower(options: &Options) -> Vec<String> {
    options.ask.filter.iter().map(|word| word.to_lowercase()).collect()
}

/// Prints the rows, or says that nothing fits, as grep ends with 1.
fn show<T: Serialize>(
    options: &Options,
    name: &str,
    columns: &[Column<T>],
    rows: &[T],
) -> Result<Exit, CliError> {
    if rows.is_empty() {
        let words = options.ask.filter.join(" ");
        return Err(CliError::Failed(format!(
            "nothing fits {words:?}; `warpscope {name}` lists all"
        )));
    }
    if options.output.json {
        let document = serde_json::json!({ "schema": SCHEMA, name: rows });
        output::json(&document)?;
    } else {
        output::print(&grid(columns, rows, output::style(options)))?;
    }
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_stands_with_every_architecture() {
        let catalogue = Catalogue::load();
        let columns = catalogue.archs().len() + catalogue.variants().len();
        assert_eq!(pairs(catalogue).len(), DTYPES.len() * columns);
    }

    /// FP8 tensor cores came with Ada (8.9) and Hopper; Ampere converts (PTX ISA, `mma` with `.e4m3`).
    #[test]
    fn a_line_is_found_by_any_of_its_words() {
        let all = pairs(Catalogue::load());
        let find = |words: &[&str]| {
            let fits = |pair: &&Pair<'_>| words.iter().all(|word| pair.says(word));
            all.iter().filter(fits).map(|pair| (pair.sm.as_str(), pair.how)).collect::<Vec<_>>()
        };
        assert_eq!(find(&["fp8_e4m3", "8.9"]), [("sm_89", How::TensorCore)]);
        assert_eq!(find(&["fp8_e4m3", "sm_89"]), find(&["fp8_e4m3", "ada"]));
        assert!(!find(&["fp8_e4m3", "8.0"]).iter().any(|row| row.1 == How::TensorCore));
    }
}
