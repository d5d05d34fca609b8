//! A table of the catalogue or of the rules, filtered by words: for people or as JSON.

use serde::Serialize;

use super::cli::{CliError, Exit, Options, Result};
use super::output;
use crate::config::args;
use crate::io::sink::table::{Column, grid};

/// Number of the JSON formats.
const SCHEMA: u32 = 1;

/// Words to look for, in lower case.
pub(crate) fn words(options: &Options) -> Vec<String> {
    options.get(&args::FILTER).iter().map(|word| word.to_lowercase()).collect()
}

/// Prints the rows; like grep, fails when there are none.
pub(crate) fn show<T: Serialize>(
    options: &Options,
    name: &str,
    columns: &[Column<T>],
    rows: &[T],
) -> Result<Exit> {
    if rows.is_empty() {
        let words = options.get(&args::FILTER).join(" ");
        let all = format!("`warpscope {name}` lists all");
        return Err(CliError::Failed(format!("nothing matches {words:?}; {all}")));
    }
    if options.get(&args::JSON) {
        output::json(&serde_json::json!({ "schema": SCHEMA, name: rows }))?;
    } else {
        output::print(&grid(columns, rows, output::style(options)))?;
    }
    Ok(Exit::Fine)
}
