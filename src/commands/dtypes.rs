//! `warpscope dtypes`: how each architecture computes in each number format.
//!
//! A matrix was rejected: a line per pair can be searched with grep, and has room for its detail.

use serde::Serialize;
use warpscope_kernels::DTYPES;
use warpscope_probes::catalogue::{Catalogue, How};

use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, Options, Result, STYLE};
use crate::commands::rows;
use crate::config::args;
use crate::io::sink::table::Column;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "dtypes",
    about: "List number formats and how each architecture computes in them",
    args: &[&[&args::FILTER, &args::JSON], STYLE, CONFIG_FILE],
    examples: &[
        ("dtypes fp8", "FP8 on every architecture"),
        ("dtypes sm_75 bf16", "one format on one architecture"),
    ],
    run,
    ..CommandSpec::BASE
};

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
    Column::left("DTYPE", 0, |pair, _| pair.dtype.to_owned()),
    Column::left("SM", 0, |pair, _| pair.sm.clone()),
    Column::left("ARCHITECTURE", 1, |pair, _| pair.architecture.to_owned()),
    Column::left("HOW", 0, |pair, style| {
        format!("{} {}", pair.how.symbol(style.ascii), pair.how.words())
    }),
    Column::left("DETAIL", 2, |pair, _| pair.detail.clone()),
];

/// Every number format on every compute capability, and on chips that can do less than theirs promises.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let words = rows::words(options);
    let mut rows: Vec<_> = pairs(Catalogue::load());
    rows.retain(|pair| words.iter().all(|word| pair.says(word)));
    rows::show(options, "dtypes", DTYPE_COLUMNS, &rows)
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
